"""A collector that stores what it receives and misbehaves as told; what to send to it."""

import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[3]
SHORT_WAITS = """
poll_seconds = 0.02
watermark_seconds = 0.1
retry_seconds = 0.02
retry_seconds_max = 0.2
key_retry_seconds = 0.2
"""
Told = tuple[int, dict[str, str]]


class StubCollector:
    """An HTTP server on loopback. orders: the next answers other than 200, in turn.

    A status of 0 hangs up without an answer. refuse, if set, may give the answer to one body.
    """

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.legs: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.rejects: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], int]] = []
        self.orders: list[Told] = []
        self.connections: list[socket.socket] = []
        self.refuse: Callable[[str, list[dict[str, Any]]], Told | None] | None = None
        self.seen: Callable[[str, int], None] = lambda _mark, _legs: None
        self.key, self.content, self.date = "secret", b'{"accepted": 0}', ""
        self.page = b""
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.server.handle_error = lambda *_: None  # clients are killed, or do not trust us
        self.server.daemon_threads = False  # close() ends only when every connection has
        if tls:
            self.server.socket = tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.scheme = "https" if tls else "http"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        host = "localhost" if self.scheme == "https" else "127.0.0.1"
        return f"{self.scheme}://{host}:{self.server.server_port}"

    def close(self) -> None:
        """Go away, in the middle of whatever is said; the port can be taken again."""
        self.server.shutdown()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.server.server_close()
        self.thread.join()

    def leg_counts(self) -> Counter[str]:
        """Arrivals by event id: once, or more often where a body was sent again."""
        with self.lock:
            return Counter(leg["event_id"] for leg in self.legs)

    def watermarks(self) -> list[str]:
        """Watermarks in order of arrival."""
        with self.lock:
            headers = [headers for _, headers, _ in self.requests]
        return [h["tokentill-watermark"] for h in headers if "tokentill-watermark" in h]

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> Told:
        """Store, or do as told."""
        with self.lock:
            if headers.get("authorization") != f"Bearer {self.key}":
                return 401, {}
            if self.orders:
                return self.orders.pop(0)
            rows = _rows(headers["content-type"], body)
            if self.refuse and (told := self.refuse(path, rows)):
                return told
            self.requests.append((path, headers, len(body)))
            kept = {"/v1/usage/legs": self.legs, "/v1/usage/samples": self.samples}
            kept.get(path, self.rejects).extend(rows)
            if mark := headers.get("tokentill-watermark"):
                self.seen(mark, len(self.legs))
            return 200, {}


def _rows(content_type: str, body: bytes) -> list[dict[str, Any]]:
    if content_type == "application/x-ndjson":
        return [json.loads(line) for line in body.splitlines()]
    rows: list[dict[str, Any]] = pa.ipc.open_stream(body).read_all().to_pylist()
    return rows


def _handler(stub: StubCollector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5.0
        wbufsize = 65536  # headers and body in one packet

        def setup(self) -> None:
            super().setup()
            stub.connections.append(self.connection)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, extra = stub.answer(self.path, headers, body)
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {"Content-Length": str(len(stub.content)), **extra}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(stub.content)

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(stub.page)))
            self.end_headers()
            self.wfile.write(stub.page)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return stub.date or super().date_time_string(timestamp)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler


def wait_until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    """Until `condition`; a test that waits in vain fails here."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def make_line(number: int, **change: Any) -> bytes:
    """A line of a prefill node as SGLang 0.5.23 writes it, with its own rid and room."""
    parameters = {
        "rid": f"{number:032x}",
        "stream": True,
        "sampling_params": {"n": 1, "max_new_tokens": 64},
        "custom_labels": {"tenant": f"t-{number % 3}", "project": "search"},
        "bootstrap_host": "10.0.0.1",
        "bootstrap_port": 8998,
        "bootstrap_room": 2**62 + number,
    }
    line = {
        "request_parameters": json.dumps(parameters),
        "id": parameters["rid"],
        "finish_reason": {"type": "length", "length": 0},
        "prompt_tokens": 1000 + number,
        "completion_tokens": 1,
        "cached_tokens": 64,
        "e2e_latency": 0.25,
        "request_received_ts": 1796000000.25 + number,
        "request_finished_ts": 1796000000.5 + number,
        "response_sent_to_client_ts": 1796000000.5 + number,
    }
    return json.dumps(line | change).encode()


def write_config(
    folder: Path, *collectors: str, limits: str = "", top: str = "", sources: str = ""
) -> Path:
    """A configuration with short waits; its engine writes into folder/engine."""
    (folder / "engine").mkdir(exist_ok=True)
    (folder / "key").write_text("secret\n")
    (folder / "key").chmod(0o600)
    path = folder / "sidecar.toml"
    path.write_text(f"""
node = "p1"
stage = "prefill"
pool = "pool-a"
model = "glm-5.2"
state_dir = "{folder / "state"}"
collectors = {json.dumps(collectors)}
key_file = "{folder / "key"}"
{top}
[limits]
{SHORT_WAITS}
{limits}
[[source]]
kind = "sglang_export"
dir = "{folder / "engine"}"
{sources}
""")
    return path


@contextmanager
def running_sidecar(
    config: Path, *, log_pipe: bool = False, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """A real sidecar process; its log goes to a file beside the configuration, or to a pipe."""
    with config.with_suffix(".log").open("a") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tokentill", "sidecar", "run", "--config", str(config)],
            cwd=ROOT,
            stderr=subprocess.PIPE if log_pipe else log,
            text=True,
            **options,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stderr:
            process.stderr.close()


def events(config: Path) -> list[dict[str, Any]]:
    """What the sidecar has logged so far."""
    lines = config.with_suffix(".log").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]


def names(config: Path) -> list[str]:
    """The names of the events logged so far."""
    return [event["event"] for event in events(config)]
