"""Real sidecar processes and what happens to the engine's files under them."""

import resource
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.metering.sidecar.stub import (
    StubCollector,
    events,
    make_line,
    names,
    running_sidecar,
    wait_until,
    write_config,
)


@pytest.fixture
def collector() -> Iterator[StubCollector]:
    stub = StubCollector()
    yield stub
    stub.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The engine's file."""
    (tmp_path / "engine").mkdir()
    return tmp_path / "engine/sglang-request-metrics-20261130_10.log"


def lines(*numbers: int) -> bytes:
    return b"".join(make_line(number) + b"\n" for number in numbers)


def counted(collector: StubCollector) -> list[int]:
    """Prompt tokens of all distinct legs; make_line(n) has 1,000 + n."""
    return sorted({leg["input_tokens"] - 1000 for leg in collector.legs})


def test_a_half_line_is_completed_later(
    collector: StubCollector, tmp_path: Path, log: Path
) -> None:
    """Neither lost nor rejected, and not read before its end is there."""
    config = write_config(tmp_path, collector.url)
    whole = lines(1, 2)
    log.write_bytes(whole[:-40])
    with running_sidecar(config):
        wait_until(lambda: len(collector.watermarks()) > 3)
        assert counted(collector) == [1]
        with log.open("ab") as file:
            file.write(whole[-40:])
        wait_until(lambda: counted(collector) == [1, 2])
    assert collector.rejects == []


def test_a_torn_line_costs_only_itself(collector: StubCollector, tmp_path: Path, log: Path) -> None:
    """The engine died in the middle of line 1; restarted, it goes on behind it with line 2."""
    config = write_config(tmp_path, collector.url)
    log.write_bytes(lines(0) + make_line(1)[:77] + lines(2, 3))
    with running_sidecar(config):
        wait_until(lambda: counted(collector) == [0, 2, 3])
        wait_until(lambda: len(collector.rejects) == 1)
    position = f"{log.name}:{len(lines(0))}"
    assert collector.rejects[0]["position"] == position


def test_rotation_deletion_and_truncation_under_the_reader(
    collector: StubCollector, tmp_path: Path, log: Path
) -> None:
    """Renamed, deleted while its writer goes on, cut to nothing: 7 lines written, 7 counted."""
    config = write_config(tmp_path, collector.url)
    with running_sidecar(config), log.open("ab", buffering=0) as writer:
        writer.write(lines(1))
        wait_until(lambda: counted(collector) == [1])
        log.rename(log.with_suffix(".log.1"))
        writer.write(lines(2))
        log.write_bytes(lines(3))
        wait_until(lambda: counted(collector) == [1, 2, 3])
        log.unlink()
        writer.write(lines(4))
        log.write_bytes(lines(5, 6))
        wait_until(lambda: counted(collector) == [1, 2, 3, 4, 5, 6])
        log.write_bytes(lines(7))
        wait_until(lambda: counted(collector) == [1, 2, 3, 4, 5, 6, 7])
    assert set(collector.leg_counts().values()) == {1}
    assert {"file_unlinked", "file_rewritten"} <= set(names(config))


def test_what_is_deleted_before_it_was_read_is_counted(
    collector: StubCollector, tmp_path: Path, log: Path
) -> None:
    """No collector, no sidecar, no file: the loss is physical, so it is named in bytes."""
    config = write_config(tmp_path, collector.url, limits="batch_rows = 1")
    log.write_bytes(lines(1, 2, 3))
    collector.refuse = lambda _path, _rows: (503, {}) if len(collector.legs) == 1 else None
    with running_sidecar(config):
        wait_until(lambda: len(collector.legs) == 1 and "batch_postponed" in names(config))
    log.unlink()
    collector.refuse = None
    with running_sidecar(config):
        wait_until(lambda: "lines_lost" in names(config))
    (told,) = [event for event in events(config) if event["event"] == "lines_lost"]
    assert told["lost_bytes"] == len(lines(2, 3))


def test_a_copied_file_adds_nothing(collector: StubCollector, tmp_path: Path, log: Path) -> None:
    """Other name, other inode, same lines: the same ids."""
    config = write_config(tmp_path, collector.url)
    log.write_bytes(lines(*range(20)))
    shutil.copy(log, log.with_name("sglang-request-metrics-copy.log"))
    with running_sidecar(config):
        wait_until(lambda: len(collector.legs) == 40)
    assert set(collector.leg_counts().values()) == {2}
    assert len(collector.leg_counts()) == 20


def test_a_line_of_megabytes_and_one_beyond_the_limit(
    collector: StubCollector, tmp_path: Path, log: Path
) -> None:
    """3 MB are read; 40 MB are cut, said and passed over in bounded memory."""
    config = write_config(tmp_path, collector.url, limits="line_bytes = 4000000")
    large = make_line(1, hidden_states="x" * 3_000_000)
    too_large = make_line(2, hidden_states="x" * 40_000_000)
    log.write_bytes(large + b"\n" + too_large + b"\n" + lines(3))
    with running_sidecar(config) as process:
        wait_until(lambda: counted(collector) == [1, 3])
        status = Path(f"/proc/{process.pid}/status").read_text()
    (reject,) = collector.rejects
    assert "limits.line_bytes is 4000000" in reject["reason"]
    assert int(status.partition("VmHWM:")[2].split()[0]) < 180_000


def test_a_full_disk_stops_samples_and_the_cursor_but_no_line(
    collector: StubCollector, tmp_path: Path, log: Path
) -> None:
    """No file of the sidecar may exceed 100 bytes: all lines arrive, and it is told."""
    sources = '[[source]]\nkind = "dcgm"\nurl = "http://127.0.0.1:1"\ninterval_seconds = 0.1'
    config = write_config(tmp_path, collector.url, sources=sources)
    log.write_bytes(lines(*range(30)))
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))}
    (tmp_path / "state").mkdir()
    with running_sidecar(config, log_pipe=True, **full) as process:
        wait_until(lambda: counted(collector) == list(range(30)))
        process.terminate()
        assert process.stderr
        told = process.stderr.read()
    assert process.returncode == 0
    assert "cursor_not_stored" in told
    assert "File too large" in told


def test_a_folder_that_appears_later_is_read(collector: StubCollector, tmp_path: Path) -> None:
    """The engine starts after its sidecar."""
    config = write_config(tmp_path, collector.url)
    folder = tmp_path / "engine"
    folder.rmdir()
    with running_sidecar(config):
        wait_until(lambda: "source_unreadable" in names(config))
        folder.mkdir()
        (folder / "sglang-request-metrics-1.log").write_bytes(lines(1))
        wait_until(lambda: counted(collector) == [1])
    assert names(config).count("source_unreadable") == 1
