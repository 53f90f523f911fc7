"""Scrapes of a real endpoint and of a real command."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import structlog

from metering.sidecar.clock import Clock
from metering.sidecar.config import SourceConfig
from metering.sidecar.scrape import ScrapeFailed, Scraper, fetch, format_of
from metering.sidecar.spool import Place, Spool
from metering.sources.record import NodeIdentity

NODE = NodeIdentity(node_id="p1", stage="prefill", model_id="glm-5.2")


class Engine(HTTPServer):
    """Answers GET with its text, or with 503 while it has none."""

    text = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/metrics"


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Engine)
        self.send_response(200 if self.server.text else 503)
        self.end_headers()
        self.wfile.write(self.server.text.encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def engine() -> Iterator[Engine]:
    server = Engine(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", 1_000_000, Place(0, 0))


def kept(spool: Spool) -> list[dict[str, object]]:
    return [json.loads(record) for record in spool.read(Place(0, 0), 1_000)[0]]


def test_an_engines_counters_become_a_sample(engine: Engine, spool: Spool, shared: Path) -> None:
    """SGLang 0.5.23's own output: 25,331 prompt tokens on the prefill node (its README)."""
    engine.text = (shared / "data/engines/sglang_metrics_prefill.prom").read_text()
    source = SourceConfig(kind="metrics", name="metrics", url=engine.url)
    Scraper([source], NODE, spool, Clock()).scrape(source)
    (row,) = kept(spool)
    assert (row["source"], row["node_id"]) == ("sglang_metrics", "p1")
    assert row["counter_input_tokens"] == 25331


def test_a_failed_scrape_is_missing_and_told_once(engine: Engine, spool: Spool) -> None:
    """Down, down, up: no row for the first two, one line for each change."""
    source = SourceConfig(kind="dcgm", name="gpu", url=engine.url)
    scraper = Scraper([source], NODE, spool, Clock())
    with structlog.testing.capture_logs() as logs:
        scraper.scrape(source)
        scraper.scrape(source)
        assert "503" in scraper.troubles["gpu"]
        engine.text = 'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",hostname="h"} 50\n'
        scraper.scrape(source)
    assert [log["event"] for log in logs] == ["scrape_failed", "scrape_back"]
    assert [row["gpu_utilization_ratio"] for row in kept(spool)] == [0.5]


def test_a_command_is_run_without_a_shell(shared: Path) -> None:
    """mthreads-gmi prints JSON; here Python prints the sample file."""
    sample = shared / "data/engines/mthreads_gmi.json"
    code = "import sys; print(open(sys.argv[1]).read())"
    source = SourceConfig(
        kind="mthreads_gmi", name="gmi", command=(sys.executable, "-c", code, str(sample))
    )
    assert json.loads(fetch(source)) == json.loads(sample.read_text())


@pytest.mark.parametrize(
    "command", [("/absent/mthreads-gmi",), (sys.executable, "-c", "raise SystemExit(3)")]
)
def test_a_command_that_fails_is_a_failed_scrape(command: tuple[str, ...]) -> None:
    """Absent, or exit code 3: the message begins with the command."""
    with pytest.raises(ScrapeFailed, match=command[0]):
        fetch(SourceConfig(kind="mthreads_gmi", command=command))


def test_a_command_that_hangs_is_ended() -> None:
    """timeout_seconds bounds it."""
    command = (sys.executable, "-c", "import time; time.sleep(60)")
    with pytest.raises(ScrapeFailed, match="timed out"):
        fetch(SourceConfig(kind="mthreads_gmi", command=command, timeout_seconds=0.2))


def test_the_engine_is_told_by_its_metrics() -> None:
    """vLLM's names begin with vllm:, SGLang's with sglang:; other kinds name their format."""
    assert format_of("metrics", "# HELP\nvllm:num_requests_running 1\n") == "vllm_metrics"
    assert format_of("metrics", "# HELP\nsglang:num_running_reqs 1\n") == "sglang_metrics"
    assert (format_of("loads", ""), format_of("dcgm", "")) == ("sglang_loads", "dcgm")


def test_the_thread_scrapes_until_it_is_closed(engine: Engine, spool: Spool) -> None:
    """At once, and again on its interval."""
    engine.text = 'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-1",hostname="h"} 50\n'
    source = SourceConfig(kind="dcgm", name="gpu", url=engine.url, interval_seconds=0.01)
    scraper = Scraper([source], NODE, spool, Clock())
    scraper.start()
    while len(kept(spool)) < 3:
        pass
    scraper.close()
    assert not scraper._thread.is_alive()
