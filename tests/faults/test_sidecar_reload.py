"""Real sidecar processes whose configuration changes under them."""

import signal
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


def add_line(folder: Path, number: int) -> None:
    with (folder / "engine/sglang-request-metrics-1.log").open("ab") as file:
        file.write(make_line(number) + b"\n")


def test_a_changed_file_is_taken_at_once(collector: StubCollector, tmp_path: Path) -> None:
    """Lines before the change have the old pool, lines after it the new one; none comes twice."""
    config = write_config(tmp_path, collector.url)
    add_line(tmp_path, 1)
    with running_sidecar(config):
        wait_until(lambda: len(collector.legs) == 1)
        config.write_text(config.read_text().replace("pool-a", "pool-b"))
        wait_until(lambda: "config_reloaded" in names(config))
        add_line(tmp_path, 2)
        wait_until(lambda: len(collector.legs) == 2)
    assert [leg["pool"] for leg in collector.legs] == ["pool-a", "pool-b"]


def test_a_signal_reloads_too(collector: StubCollector, tmp_path: Path) -> None:
    """SIGHUP, even where the file has not changed."""
    config = write_config(tmp_path, collector.url)
    with running_sidecar(config) as process:
        wait_until(collector.watermarks)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "config_reloaded" in names(config))
        add_line(tmp_path, 1)
        wait_until(lambda: len(collector.legs) == 1)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('node = "p1"', 'nod = "p1"', "Did you mean 'node'?"),
        ("/state", "/elsewhere", "state_dir cannot change while the sidecar runs"),
        ("/key", "/no-key", "no-key"),
        ("[limits]", 'ca_file = "/absent.pem"\n[limits]', "ca_file /absent.pem"),
    ],
)
def test_an_unsound_change_is_refused_and_the_old_kept(
    collector: StubCollector, tmp_path: Path, old: str, new: str, told: str
) -> None:
    """The message says what is wrong; metering goes on."""
    config = write_config(tmp_path, collector.url)
    with running_sidecar(config):
        wait_until(collector.watermarks)
        config.write_text(config.read_text().replace(old, new))
        wait_until(lambda: any(told in event.get("detail", "") for event in events(config)))
        add_line(tmp_path, 1)
        wait_until(lambda: len(collector.legs) == 1)


def test_a_batch_that_waits_survives_a_reload(collector: StubCollector, tmp_path: Path) -> None:
    """It is read again from the file and goes to the collector of the new configuration."""
    config = write_config(tmp_path, "http://127.0.0.1:1")
    add_line(tmp_path, 1)
    with running_sidecar(config):
        wait_until(lambda: "batch_postponed" in names(config))
        config.write_text(config.read_text().replace("http://127.0.0.1:1", collector.url))
        wait_until(lambda: len(collector.legs) == 1)


def test_a_sidecar_that_cannot_start_says_why(tmp_path: Path) -> None:
    """One line on stderr, exit code 1."""
    config = write_config(tmp_path, "http://127.0.0.1:1")
    config.write_text(config.read_text().replace("prefill", "both"))
    with running_sidecar(config) as process:
        assert process.wait() == 1
    text = config.with_suffix(".log").read_text()
    assert text.startswith(f"tokentill: {config}: Invalid enum value 'both' - at `stage`")
    assert text.count("\n") == 1
