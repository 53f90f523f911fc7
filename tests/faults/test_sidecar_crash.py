"""Real sidecar processes, killed, refused, cut off: every line arrives, each id counts once."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metering.sources import parse_line
from metering.sources.record import NodeIdentity
from tests.metering.sidecar.stub import (
    ROOT,
    StubCollector,
    events,
    make_line,
    names,
    running_sidecar,
    wait_until,
    write_config,
)

NODE = NodeIdentity(node_id="p1", stage="prefill", model_id="glm-5.2")
SMALL = "batch_rows = 37"


@pytest.fixture
def collector() -> Iterator[StubCollector]:
    stub = StubCollector()
    yield stub
    stub.close()


def expected_ids(numbers: range) -> set[str]:
    """Ids worked out from the lines alone, without a sidecar."""
    rows = (parse_line("sglang_export", make_line(n), NODE, "x:0") for n in numbers)
    return {row["event_id"] for row in rows if row}


def hour(folder: Path, number: int) -> Path:
    return folder / "engine" / f"sglang-request-metrics-20261130_{number:02}.log"


def write_lines(path: Path, numbers: range) -> None:
    with path.open("ab") as file:
        file.writelines(make_line(number) + b"\n" for number in numbers)


class Engine(threading.Thread):
    """Writes numbered lines in uneven pieces, so that a reader meets half-written ones."""

    def __init__(self, folder: Path, lines: int) -> None:
        super().__init__()
        self.folder, self.lines = folder, lines
        self.pace = random.Random(1)  # noqa: S311 - the same cuts every time

    def run(self) -> None:
        per_hour = self.lines // 4
        for number in range(self.lines):
            line = make_line(number) + b"\n"
            cut = self.pace.randrange(len(line))
            with hour(self.folder, number // per_hour).open("ab", buffering=0) as file:
                file.write(line[:cut])
                file.write(line[cut:])
            time.sleep(0.001)


KILLS = int(os.environ.get("SIDECAR_KILLS", "20"))  # make soak: 200


def test_kills_at_random_lose_and_double_nothing(collector: StubCollector, tmp_path: Path) -> None:
    """SIGKILL, 20 times by default, while an engine writes 8,000 lines over four hourly files."""
    config = write_config(tmp_path, collector.url, limits=SMALL)
    lines = 400 * KILLS
    engine = Engine(tmp_path, lines)
    moments = random.Random(20)  # noqa: S311 - the same moments every time
    engine.start()
    for _ in range(KILLS):
        with running_sidecar(config) as process:
            time.sleep(moments.uniform(0.4, 1.2))
            process.send_signal(signal.SIGKILL)
    engine.join()
    ids = expected_ids(range(lines))
    with running_sidecar(config):
        wait_until(lambda: set(collector.leg_counts()) >= ids)
    assert set(collector.leg_counts()) == ids
    assert collector.rejects == []


def test_a_clean_stop_and_start_sends_nothing_twice(
    collector: StubCollector, tmp_path: Path
) -> None:
    """SIGTERM flushes, stores the cursor and exits with 0; the next process goes on from there."""
    config = write_config(tmp_path, collector.url, limits=SMALL)
    for hundred in range(3):
        write_lines(hour(tmp_path, 10), range(hundred * 100, hundred * 100 + 100))
        with running_sidecar(config) as process:
            wait_until(lambda hundred=hundred: len(collector.legs) > hundred * 100)
            process.terminate()
            assert process.wait() == 0
    assert set(collector.leg_counts().values()) == {1}
    assert set(collector.leg_counts()) == expected_ids(range(300))


def test_a_collector_that_is_away_is_waited_for(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    """Nothing listens for an hour of a request a second over two hourly files; then all arrive."""
    port = free_port()
    config = write_config(tmp_path, f"http://127.0.0.1:{port}", limits=SMALL)
    write_lines(hour(tmp_path, 10), range(1_800))
    with running_sidecar(config):
        wait_until(lambda: "batch_postponed" in names(config))
        write_lines(hour(tmp_path, 11), range(1_800, 3_600))
        late = StubCollector(port)
        wait_until(lambda: len(late.legs) == 3_600)
        wait_until(lambda: "source_back" in names(config))
    assert set(late.leg_counts()) == expected_ids(range(3_600))
    late.close()


def test_answers_of_every_kind_of_trouble(collector: StubCollector, tmp_path: Path) -> None:
    """429, 500, hang-ups and 503 in turn: nothing is lost; a hang-up may only repeat."""
    collector.orders = [(429, {"Retry-After": "0"}), (500, {}), (0, {}), (503, {}), (408, {})] * 4
    config = write_config(tmp_path, collector.url, limits=SMALL)
    write_lines(hour(tmp_path, 10), range(500))
    with running_sidecar(config):
        wait_until(lambda: len(collector.leg_counts()) == 500)
    assert set(collector.leg_counts()) == expected_ids(range(500))


def test_a_changed_key_is_taken_without_a_restart(collector: StubCollector, tmp_path: Path) -> None:
    """401 keeps the batch and shouts; the new key in the file delivers it."""
    collector.key = "new-key"
    config = write_config(tmp_path, collector.url)
    write_lines(hour(tmp_path, 10), range(10))
    with running_sidecar(config):
        wait_until(lambda: "batch_postponed" in names(config))
        (tmp_path / "key").write_text("new-key\n")
        wait_until(lambda: len(collector.legs) == 10)
    shout = next(event for event in events(config) if event["event"] == "batch_postponed")
    assert (shout["level"], shout["status"]) == ("error", 401)
    assert "secret" not in config.with_suffix(".log").read_text()


def test_one_poison_batch_does_not_block_the_rest(collector: StubCollector, tmp_path: Path) -> None:
    """422 for the batch that holds one line: it is kept in rejected/, the rest arrives."""
    collector.refuse = lambda _path, rows: (
        (422, {}) if any(row.get("input_tokens") == 1005 for row in rows) else None
    )
    config = write_config(tmp_path, collector.url, limits="batch_rows = 10")
    write_lines(hour(tmp_path, 10), range(100))
    with running_sidecar(config):
        wait_until(lambda: len(collector.legs) == 90)
        wait_until(lambda: "batch_rejected" in names(config))
    assert len(list((tmp_path / "state/rejected").glob("*.arrow"))) == 1


def test_failover_between_collectors(tmp_path: Path) -> None:
    """The first goes away in the middle; the second takes over."""
    first, second = StubCollector(), StubCollector()
    config = write_config(tmp_path, first.url, second.url, limits=SMALL)
    write_lines(hour(tmp_path, 10), range(100))
    with running_sidecar(config):
        wait_until(lambda: len(first.legs) == 100)
        first.close()
        write_lines(hour(tmp_path, 10), range(100, 200))
        wait_until(lambda: len(second.leg_counts()) == 100)
    second.close()
    assert set(first.leg_counts()) | set(second.leg_counts()) == expected_ids(range(200))


def test_the_second_sidecar_on_a_folder_refuses_to_start(
    collector: StubCollector, tmp_path: Path
) -> None:
    """Exit code 1 and the first one's process number; the first works on."""
    config = write_config(tmp_path, collector.url)
    with running_sidecar(config) as first:
        wait_until(lambda: "sidecar_started" in names(config))
        second = subprocess.run(
            [sys.executable, "-m", "tokentill", "sidecar", "run", "--config", str(config)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert second.returncode == 1
        assert f"Another sidecar (process {first.pid}) already works on" in second.stderr
        write_lines(hour(tmp_path, 10), range(5))
        wait_until(lambda: len(collector.legs) == 5)


def test_two_sidecars_on_one_engine_folder_are_harmless(
    collector: StubCollector, tmp_path: Path
) -> None:
    """Each with its own state: everything arrives twice, under the same ids."""
    config = write_config(tmp_path, collector.url)
    other = tmp_path / "other.toml"
    other.write_text(config.read_text().replace("/state", "/other-state"))
    write_lines(hour(tmp_path, 10), range(50))
    with running_sidecar(config), running_sidecar(other):
        wait_until(lambda: len(collector.legs) == 100)
    assert set(collector.leg_counts().values()) == {2}
    assert set(collector.leg_counts()) == expected_ids(range(50))


def test_a_taken_metrics_port_does_not_stop_metering(
    collector: StubCollector, tmp_path: Path
) -> None:
    """The message names the field and what to do; the lines arrive."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = write_config(tmp_path, collector.url, top=f"metrics_port = {port}")
        write_lines(hour(tmp_path, 10), range(5))
        with running_sidecar(config):
            wait_until(lambda: len(collector.legs) == 5)
    (told,) = [event for event in events(config) if event["event"] == "metrics_not_served"]
    assert told["detail"].startswith(f"metrics_port {port}: Address already in use")
