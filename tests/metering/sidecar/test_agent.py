"""The sidecar as a whole, in this process, against a real collector."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog

from metering.errors import ConfigInvalid
from metering.sidecar.agent import Agent, read_key
from metering.sidecar.clock import Clock
from metering.sidecar.config import read_config
from metering.sidecar.health import serve_metrics
from metering.sidecar.lock import StateLocked
from metering.sidecar.service import Service
from metering.sidecar.wake import Wake
from tests.metering.sidecar.stub import StubCollector, make_line, wait_until, write_config

Run = Callable[[Path], Agent]


@pytest.fixture
def run() -> Iterator[Run]:
    """A function that runs an agent in a thread; all are stopped at the end."""
    running: list[tuple[Agent, threading.Thread]] = []

    def start(config: Path, clock: Clock | None = None) -> Agent:
        agent = Agent(read_config(config, {}), clock or Clock(), Wake())
        thread = threading.Thread(target=agent.run, args=(lambda: False,))
        thread.start()
        running.append((agent, thread))
        return agent

    yield start
    for agent, thread in running:
        agent.wake.stop()
        thread.join()
        agent.close()


def write_lines(folder: Path, *numbers: int) -> None:
    with (folder / "engine/sglang-request-metrics-20261130_10.log").open("ab") as file:
        file.writelines(make_line(number) + b"\n" for number in numbers)


def test_lines_arrive_as_legs(collector: StubCollector, tmp_path: Path, run: Run) -> None:
    """By hand: request 7 has 1,007 prompt tokens; node, pool and stage come from the file."""
    config = write_config(tmp_path, collector.url)
    write_lines(tmp_path, 7)
    run(config)
    wait_until(lambda: collector.legs)
    (leg,) = collector.legs
    assert (leg["input_tokens"], leg["tenant_id"], leg["project_id"]) == (1007, "t-1", "search")
    assert (leg["node_id"], leg["pool"], leg["stage"]) == ("p1", "pool-a", "prefill")
    assert leg["join_key"] == f"10.0.0.1:8998:{2**62 + 7}"


def test_prompts_never_leave_the_node(collector: StubCollector, tmp_path: Path, run: Run) -> None:
    """A prompt in a good line, in an unreadable one and in a torn one."""
    config = write_config(tmp_path, collector.url)
    secret = json.dumps({"rid": "r", "text": "Miller is ill"})
    bad = make_line(1, request_parameters=secret, prompt_tokens=-1)
    good = make_line(2, request_parameters=secret)
    (tmp_path / "engine/sglang-request-metrics-1.log").write_bytes(
        good + b"\n" + bad + b"\n" + bad[:-9] + b"\n"
    )
    run(config)
    wait_until(lambda: len(collector.rejects) == 2 and collector.legs)
    assert "Miller" not in json.dumps([collector.rejects, collector.legs], default=str)


def test_the_watermark_moves_while_nothing_happens(
    collector: StubCollector, tmp_path: Path, run: Run
) -> None:
    """Empty batches; each watermark is later than the one before and not in the future."""
    run(write_config(tmp_path, collector.url))
    wait_until(lambda: len(collector.watermarks()) >= 3)
    marks = [datetime.fromisoformat(mark) for mark in collector.watermarks()]
    assert marks == sorted(set(marks))
    assert marks[-1] <= datetime.now(UTC)
    assert collector.legs == []


def test_a_watermark_covers_what_was_sent_before_it(
    collector: StubCollector, tmp_path: Path, run: Run
) -> None:
    """Every line written before a watermark had arrived when the watermark did."""
    config = write_config(tmp_path, collector.url, limits="batch_rows = 7")
    arrived: list[tuple[datetime, int]] = []
    collector.seen = lambda mark, legs: arrived.append((datetime.fromisoformat(mark), legs))
    run(config)
    written: list[tuple[datetime, int]] = []
    for first in range(0, 200, 10):
        write_lines(tmp_path, *range(first, first + 10))
        written.append((datetime.now(UTC), first + 10))
        time.sleep(0.01)
    wait_until(lambda: len(collector.legs) == 200)
    for mark, legs in arrived:
        assert legs >= max((count for at, count in written if at < mark), default=0)


def test_no_watermark_while_a_file_cannot_be_read(
    collector: StubCollector, tmp_path: Path, run: Run
) -> None:
    """Its lines have not been sent, so nothing may be declared complete."""
    config = write_config(tmp_path, collector.url)
    (tmp_path / "engine").rmdir()
    agent = run(config)
    wait_until(lambda: agent.files[0].trouble and collector.requests)
    assert "Cannot list" in agent.files[0].trouble
    assert collector.watermarks() == []
    (tmp_path / "engine").mkdir()
    wait_until(collector.watermarks)


def test_a_clock_that_jumps_ahead_does_not_carry_the_watermark_along(
    collector: StubCollector, tmp_path: Path, run: Run
) -> None:
    """A day ahead: the watermarks stay with the collector's clock, and the skew is told."""
    day = timedelta(days=1).total_seconds()
    with structlog.testing.capture_logs() as logs:
        run(write_config(tmp_path, collector.url), Clock(lambda: time.time() + day))
        wait_until(lambda: len(collector.watermarks()) >= 3)
    latest = datetime.fromisoformat(collector.watermarks()[-1])
    assert latest < datetime.now(UTC) + timedelta(seconds=10)
    assert "clock_skewed" in [log["event"] for log in logs]


def test_a_clock_that_jumps_back_loses_nothing(
    collector: StubCollector, tmp_path: Path, run: Run
) -> None:
    """Reading goes by inode and offset, waiting by the monotonic clock."""
    shift = [0.0]
    agent = run(write_config(tmp_path, collector.url), Clock(lambda: time.time() + shift[0]))
    write_lines(tmp_path, 1)
    wait_until(lambda: len(collector.legs) == 1)
    shift[0] = -7200.0
    write_lines(tmp_path, 2)
    wait_until(lambda: len(collector.legs) == 2)
    shift[0] = 7200.0
    write_lines(tmp_path, 3)
    wait_until(lambda: len(collector.legs) == 3)
    assert set(collector.leg_counts().values()) == {1}
    wait_until(lambda: agent.files[0].totals["lines"] == 3)


def test_stopping_sends_what_is_there(collector: StubCollector, tmp_path: Path) -> None:
    """SIGTERM between a write and the next look: the line still goes out."""
    config = write_config(tmp_path, collector.url, limits="stop_seconds = 5")
    write_lines(tmp_path, 1)
    wake = Wake()
    wake.stop()
    agent = Agent(read_config(config, {}), Clock(), wake)
    agent.run(lambda: False)
    agent.close()
    assert len(collector.legs) == 1


def test_health_is_told_in_three_ways(
    collector: StubCollector, tmp_path: Path, run: Run, free_port: Callable[[], int]
) -> None:
    """A file for the status command, Prometheus on loopback, and a log line."""
    write_lines_config = write_config(tmp_path, collector.url, limits="health_seconds = 0.05")
    write_lines(tmp_path, 1, 2, 3)
    port = free_port()
    with structlog.testing.capture_logs() as logs:
        agent = run(write_lines_config)
        wait_until(lambda: agent.health and agent.health.sources[0].totals.get("lines") == 3)
        wait_until(lambda: any(log.get("lines") == 3 for log in logs))
    close = serve_metrics(port, lambda: agent.health)
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    close()
    assert 'tokentill_sidecar_records_total{outcome="lines",source="sglang_export"} 3.0' in text
    assert json.loads((tmp_path / "state/health.json").read_bytes())["node"] == "p1"


def test_two_services_do_not_share_a_state_folder(collector: StubCollector, tmp_path: Path) -> None:
    """The second says who is first."""
    config = write_config(tmp_path, collector.url)
    first = Service(config, {}, clock=Clock(), wake=Wake())
    with pytest.raises(StateLocked, match="already works on"):
        Service(config, {}, clock=Clock(), wake=Wake())
    first.close()


@pytest.mark.parametrize("text", ["", "two words", "one\ntwo"])
def test_a_key_file_holds_one_word(tmp_path: Path, text: str) -> None:
    """Anything else is refused before it is put into a header."""
    config = write_config(tmp_path, "http://127.0.0.1:1")
    (tmp_path / "key").write_text(text)
    with pytest.raises(ConfigInvalid, match="expected one line"):
        read_key(read_config(config, {}))


def test_a_source_that_breaks_does_not_stop_the_others(
    collector: StubCollector, tmp_path: Path, run: Run
) -> None:
    """A damaged spool directory: samples cannot be read, lines arrive, and it is told."""
    config = write_config(tmp_path, collector.url)
    (tmp_path / "state/spool/000000000001.spool").mkdir(parents=True)
    write_lines(tmp_path, 1)
    with structlog.testing.capture_logs() as logs:
        agent = run(config)
        wait_until(lambda: collector.legs and agent.lanes[1].failures)
    assert {log["source"] for log in logs if log["event"] == "source_failed"} == {"samples"}
