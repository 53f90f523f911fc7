"""A real sidecar process whose machine's clock is set while it works: no line lost, none twice."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.metering.sidecar.stub import (
    ROOT,
    StubCollector,
    make_line,
    names,
    running_sidecar,
    wait_until,
    write_config,
)

SCRIPT = Path(__file__).with_name("jumping_sidecar.py")
DAY = timedelta(days=1).total_seconds()


@pytest.fixture
def collector() -> Iterator[StubCollector]:
    stub = StubCollector()
    yield stub
    stub.close()


@contextmanager
def jumping_sidecar(config: Path) -> Iterator[None]:
    """The process; killed at the end, as by a power cut."""
    jump = str(config.with_name("jump"))
    command = [sys.executable, str(SCRIPT), jump, "sidecar", "run", "--config", str(config)]
    with config.with_suffix(".log").open("a") as log:
        process = subprocess.Popen(command, cwd=ROOT, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def set_clock(config: Path, seconds: float) -> None:
    """Put the process's clock on, or back, and wait until that has happened."""
    making, jump = config.with_name("jump.part"), config.with_name("jump")
    making.write_text(str(seconds))
    making.rename(jump)
    wait_until(lambda: not jump.exists())


def write(config: Path, number: int) -> None:
    """One line, in a file of its own, as in another hour."""
    folder = config.with_name("engine")
    (folder / f"sglang-request-metrics-{number}.log").write_bytes(make_line(number) + b"\n")


def test_a_clock_that_is_set_on_and_back(collector: StubCollector, tmp_path: Path) -> None:
    """A day on, two days back: each line arrives once, no watermark lies ahead of the truth."""
    config = write_config(tmp_path, collector.url)
    with jumping_sidecar(config):
        for number, seconds in enumerate((0, DAY, -2 * DAY), start=1):
            set_clock(config, seconds)
            write(config, number)
            wait_until(lambda number=number: len(collector.legs) == number)
        wait_until(lambda: "clock_skewed" in names(config))
        seen = len(collector.watermarks())
        wait_until(lambda: len(collector.watermarks()) > seen)
    latest = max(datetime.fromisoformat(mark) for mark in collector.watermarks())
    assert latest < datetime.now(UTC) + timedelta(seconds=10)
    assert set(collector.leg_counts().values()) == {1}


def test_a_cursor_from_the_future_is_taken_up(collector: StubCollector, tmp_path: Path) -> None:
    """Killed while the clock stood a day ahead, started when it is right: it goes on from there."""
    config = write_config(tmp_path, collector.url)
    with jumping_sidecar(config):
        set_clock(config, DAY)
        write(config, 1)
        wait_until(lambda: len(collector.legs) == 1)
    with running_sidecar(config):
        write(config, 2)
        wait_until(lambda: len(collector.leg_counts()) == 2)
        seen = len(collector.watermarks())
        wait_until(lambda: len(collector.watermarks()) > seen)
    latest = max(datetime.fromisoformat(mark) for mark in collector.watermarks())
    assert latest < datetime.now(UTC) + timedelta(seconds=10)
