"""A collector that stores what it receives and misbehaves as told, and lines to send to it."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

ORDER = Callable[["StubCollector", str, bytes], tuple[int, dict[str, str]] | None]


class StubCollector:
    """An HTTP server on loopback. orders: the next answers other than 200, in turn.

    A status of 0 hangs up without an answer. `refuse`, if set, may give an answer for one body.
    """

    def __init__(self, port: int = 0) -> None:
        self.legs: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.rejects: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, str], int]] = []
        self.orders: list[tuple[int, dict[str, str]]] = []
        self.refuse: ORDER | None = None
        self.key = "secret"
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def leg_counts(self) -> Counter[str]:
        """Arrivals by event id: once, or more often where a body was sent again."""
        with self.lock:
            return Counter(leg["event_id"] for leg in self.legs)

    def watermarks(self) -> list[str]:
        """Watermarks in order of arrival."""
        with self.lock:
            return [
                h["tokentill-watermark"] for _, h, _ in self.requests if "tokentill-watermark" in h
            ]

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Until `condition`; a test that waits in vain fails here."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, (condition, len(self.legs), self.requests[-3:])
            time.sleep(0.01)

    def answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        with self.lock:
            if headers.get("authorization") != f"Bearer {self.key}":
                return 401, {}
            if self.orders:
                return self.orders.pop(0)
            if self.refuse and (told := self.refuse(self, path, body)):
                return told
            self.requests.append((path, headers, len(body)))
            self.store(path, headers, body)
            return 200, {}

    def store(self, path: str, headers: dict[str, str], body: bytes) -> None:
        kept = {"/v1/usage/legs": self.legs, "/v1/usage/samples": self.samples}.get(path)
        if headers["content-type"] == "application/x-ndjson":
            rows = [json.loads(line) for line in body.splitlines()]
        else:
            rows = pa.ipc.open_stream(body).read_all().to_pylist()
        (self.rejects if kept is None else kept).extend(rows)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, extra = stub.answer(self.path, headers, body)
                if not status:
                    self.close_connection = True
                    return
                content = json.dumps(
                    {"accepted": 0} if status == 200 else {"title": "told"}
                ).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **extra}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        return Handler


@pytest.fixture
def collector() -> Iterator[StubCollector]:
    stub = StubCollector()
    yield stub
    stub.close()


def sglang_line(number: int, **change: Any) -> bytes:
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
    return json.dumps(line | change).encode() + b"\n"


@pytest.fixture
def engine_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "engine"
    folder.mkdir()
    return folder


@pytest.fixture
def write_config(tmp_path: Path, engine_dir: Path) -> Callable[..., Path]:
    """A function that writes a configuration with short waits for the given collectors."""

    def write(*collectors: str, limits: str = "", extra: str = "", sources: str = "") -> Path:
        (tmp_path / "key").write_text("secret\n")
        path = tmp_path / "sidecar.toml"
        path.write_text(f"""
node = "p1"
stage = "prefill"
pool = "pool-a"
model = "glm-5.2"
engine = "sglang"
state_dir = "{tmp_path / "state"}"
collectors = {json.dumps(collectors)}
key_file = "{tmp_path / "key"}"
{extra}

[limits]
poll_seconds = 0.02
watermark_seconds = 0.1
retry_seconds = 0.02
retry_seconds_max = 0.2
key_retry_seconds = 0.2
{limits}

[[source]]
kind = "sglang_export"
dir = "{engine_dir}"
{sources}
""")
        return path

    return write
