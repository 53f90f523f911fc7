"""What a sidecar costs beside an engine: CPU per million lines, bytes per second, peak memory.

A real `tokentill sidecar run` process drains a folder of SGLang export lines, written before it
starts, into a receiver that answers 200 and forgets. Its start-up is measured by a run over an
empty folder and taken off. Prints one JSON object.

    python bench/sidecar.py [--lines 200000] [--line-bytes 1500] [--prompt-tokens 0]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LINES_PER_FILE = 20_000
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def line(number: int, line_bytes: int, prompt_tokens: int) -> bytes:
    """One line of a prefill node, SGLang 0.5.23 with --enable-metrics, of about `line_bytes`."""
    parameters = {
        "rid": f"{number:032x}",
        "received_time": 123456.5 + number / 1000,
        "stream": True,
        "sampling_params": {"max_new_tokens": 512, "temperature": 0.6, "top_p": 0.95, "n": 1},
        "custom_labels": {"tenant": f"t-{number % 40}", "project": f"p-{number % 7}"},
        "bootstrap_host": "10.0.0.1",
        "bootstrap_port": 8998,
        "bootstrap_room": (number * 0x9E3779B97F4A7C15) % 2**63,
    }
    if prompt_tokens:
        parameters["input_ids"] = [(number * 31 + i * 7919) % 150_000 for i in range(prompt_tokens)]
    finished = 1_796_000_000.25 + number / 2000
    meta = {
        "id": parameters["rid"],
        "finish_reason": {"type": "length", "length": 0},
        "prompt_tokens": 4000 + number % 999,
        "weight_version": "default",
        "num_retractions": 0,
        "reasoning_tokens": 0,
        "queue_time": 0.0123,
        "prefill_finished_time": finished - 0.01,
        "forward_entry_time": finished - 0.2,
        "completion_tokens": 1,
        "cached_tokens": 3072,
        "cached_tokens_details": {"device": 2048, "host": 1024},
        "request_received_ts": finished - 0.3127,
        "api_server_dispatch_finish_ts": finished - 0.3,
        "request_finished_ts": finished,
        "response_sent_to_client_ts": finished + 0.001,
        "first_token_latency": 0.31,
        "e2e_latency": 0.3127,
    }
    text = json.dumps({"request_parameters": json.dumps(parameters), **meta})
    if len(text) < line_bytes:
        parameters["routing_key"] = "r" * (line_bytes - len(text) - 22)
        text = json.dumps({"request_parameters": json.dumps(parameters), **meta})
    return text.encode() + b"\n"


def write_lines(folder: Path, lines: int, line_bytes: int, prompt_tokens: int) -> int:
    """Fill `folder` with hourly files; the bytes written."""
    size = 0
    for first in range(0, lines, LINES_PER_FILE):
        name = f"sglang-request-metrics-20261130_{first // LINES_PER_FILE:04d}.log"
        with (folder / name).open("wb") as file:
            for number in range(first, min(first + LINES_PER_FILE, lines)):
                size += file.write(line(number, line_bytes, prompt_tokens))
    return size


class Receiver(BaseHTTPRequestHandler):
    """Takes bodies and forgets them."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # headers and body in one packet

    def do_POST(self) -> None:
        """Answer as a collector that has committed."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "14")
        self.end_headers()
        self.wfile.write(b'{"accepted":0}')

    def log_message(self, *_: object) -> None:
        """Quiet."""


def serve() -> None:
    """The receiver's process: prints its port, then serves."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    print(server.server_port, flush=True)
    server.serve_forever()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def rss_peak_mb(pid: int) -> float:
    """Most memory that the process has held, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def drain(folder: Path, work: Path, port: int) -> dict[str, float]:
    """Run a sidecar over `folder` until it has delivered everything."""
    config = work / "sidecar.toml"
    config.write_text(f"""
node = "p1"
stage = "prefill"
model = "glm-5.2"
state_dir = "{work / "state"}"
collectors = ["http://127.0.0.1:{port}"]
key = "bench"
[limits]
watermark_seconds = 0.1
[[source]]
kind = "sglang_export"
dir = "{folder}"
""")
    started = time.perf_counter()
    sidecar = subprocess.Popen(
        [sys.executable, "-m", "tokentill", "sidecar", "run", "--config", str(config)],
        stderr=subprocess.DEVNULL,
    )
    health = work / "state" / "health.json"
    while True:
        time.sleep(0.05)
        try:
            told = json.loads(health.read_bytes())
        except (OSError, ValueError):
            continue
        if told["watermark_at"] and told["sources"][0]["lag_bytes"] == 0:
            break
    figures = {
        "cpu_seconds": cpu_seconds(sidecar.pid),
        "seconds": time.perf_counter() - started,
        "rss_mb_peak": rss_peak_mb(sidecar.pid),
    }
    sidecar.terminate()
    sidecar.wait()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--line-bytes", type=int, default=1_500)
    parser.add_argument("--prompt-tokens", type=int, default=0)
    parser.add_argument("--receiver", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.receiver:
        serve()
        return
    receiver = subprocess.Popen(
        [sys.executable, __file__, "--receiver"], stdout=subprocess.PIPE, text=True
    )
    assert receiver.stdout  # noqa: S101 - asked for above
    port = int(receiver.stdout.readline())
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for folder in ("idle", "full", "a", "b"):
            (work / folder).mkdir()
        size = write_lines(work / "full", options.lines, options.line_bytes, options.prompt_tokens)
        idle = drain(work / "idle", work / "a", port)
        full = drain(work / "full", work / "b", port)
    receiver.terminate()
    receiver.wait()
    spent = full["cpu_seconds"] - idle["cpu_seconds"]
    figures = {
        "cpu_seconds_per_million_lines": round(spent / options.lines * 1_000_000, 2),
        "mb_per_second": round(size / 1e6 / (full["seconds"] - idle["seconds"]), 1),
        "rss_mb_peak": round(full["rss_mb_peak"], 1),
        "rss_mb_idle": round(idle["rss_mb_peak"], 1),
        "start_cpu_seconds": idle["cpu_seconds"],
        "lines": options.lines,
        "line_bytes": round(size / options.lines),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
