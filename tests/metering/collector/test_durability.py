"""Case C06, whole, against a real process: real HTTP, real file, real failures of the disk."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from metering.store.connect import open_store
from tests.metering.store.leg_rows import rows

SCRIPT = Path(__file__).with_name("serve_collector.py")
DUPLICATE, ACCEPTED = (0, 1), (1, 0)
AT = datetime.now(UTC).isoformat()


class Collector:
    """One collector process after another on the same file."""

    def __init__(self, file: Path, port: int, checkpoint: str) -> None:
        self.file = file
        self.command = [sys.executable, str(SCRIPT), str(port), str(file), checkpoint]
        self.client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": "Bearer key-1", "Content-Type": "application/x-ndjson"},
            timeout=30,
        )
        self.start()

    def start(self) -> None:
        """A new process; returns once it answers."""
        root = SCRIPT.parents[3]
        self.process = subprocess.Popen(self.command, env=os.environ | {"PYTHONPATH": str(root)})
        while self.process.poll() is None:
            try:
                self.client.get("/openapi.json")
            except httpx.TransportError:
                continue
            return
        raise AssertionError(f"the collector ended with {self.process.returncode}")

    def stop(self, how: int) -> None:
        """End the process by a signal."""
        self.process.send_signal(how)
        self.process.wait(30)

    def fail_writes(self, *, failing: bool) -> None:
        """Every write to a file fails, below all of our code; or works again."""
        self.process.send_signal(signal.SIGUSR1 if failing else signal.SIGUSR2)

    def post(self, name: str, input_tokens: int) -> httpx.Response:
        """One event of case C06."""
        event = {
            "event_id": name,
            "stage": "unified",
            "status": "ok",
            "tenant_id": "t-alder",
            "model_id": "m-river",
            "started_at": AT,
            "finished_at": AT,
            "input_tokens": input_tokens,
            "cached_input_tokens": 0,
            "output_tokens": 0,
        }
        return self.client.post("/v1/usage/legs", content=json.dumps(event))


@pytest.fixture(params=["256MB", "1KB"], ids=["log", "checkpoint"])
def collector(
    request: pytest.FixtureRequest, tmp_path: Path, free_port: Callable[[], int]
) -> Iterator[Collector]:
    """256MB: the failing write is the log's. 1KB: each commit is a checkpoint, and that fails."""
    running = Collector(tmp_path / "usage.duckdb", free_port(), request.param)
    yield running
    running.process.kill()
    running.process.wait()
    running.client.close()


def counted(response: httpx.Response) -> tuple[int, int]:
    """(accepted, duplicate) of a success."""
    assert response.status_code == 200, response.text
    answer = response.json()
    return answer["accepted"], answer["duplicate"]


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_failed_write_takes_no_id_and_an_answer_survives_a_kill(
    collector: Collector, end: int
) -> None:
    """Case C06: error, stored, duplicate; 38 rows and 537,000 tokens after the restart."""
    collector.fail_writes(failing=True)
    assert [collector.post("X", 500_000).status_code for _ in range(2)] == [503, 503]
    collector.fail_writes(failing=False)
    assert counted(collector.post("X", 500_000)) == ACCEPTED
    assert counted(collector.post("X", 500_000)) == DUPLICATE
    for number in range(37):
        assert counted(collector.post(f"event {number}", 1000)) == ACCEPTED
    collector.stop(end)
    collector.start()
    assert counted(collector.post("X", 500_000)) == DUPLICATE
    collector.stop(signal.SIGKILL)
    store = open_store(collector.file)
    totals = rows(store, "SELECT count(*), sum(input_tokens)::BIGINT FROM leg")
    assert totals == [(38, 537_000)]
    store.close()


@pytest.mark.slow
def test_a_failure_tells_what_to_do(collector: Collector) -> None:
    """Nothing is stored, the sender keeps the batch; the message names disk and remedy."""
    collector.fail_writes(failing=True)
    detail = collector.post("X", 1).json()["detail"]
    assert "nothing of this batch was stored" in detail
    assert "free or repair the disk" in detail


@pytest.mark.slow
def test_the_collector_finds_out_by_itself_that_the_disk_works_again(collector: Collector) -> None:
    """A load balancer sends nothing to who is not ready, so no write would ever show it."""
    collector.fail_writes(failing=True)
    collector.post("X", 1)
    assert collector.client.get("/failure").json() is not None
    collector.fail_writes(failing=False)
    while collector.client.get("/failure").json() is not None:
        assert collector.process.poll() is None
    assert counted(collector.post("X", 1)) == ACCEPTED
