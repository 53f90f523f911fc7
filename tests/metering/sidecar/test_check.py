"""What `check` and `status` say, each with its remedy."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from metering.sidecar.check import Finding, check
from metering.sidecar.clock import Clock
from metering.sidecar.config import read_config
from metering.sidecar.status import status
from tests.metering.sidecar.stub import (
    StubCollector,
    make_line,
    running_sidecar,
    wait_until,
    write_config,
)
from tokentill import command_line

NAME = "sglang-request-metrics-20261130_10.log"


def findings(config: Path) -> dict[tuple[str, str], Finding]:
    """By level and subject; the last of each."""
    return {(f.level, f.subject): f for f in check(read_config(config, {}), Clock())}


def test_all_is_well(collector: StubCollector, tmp_path: Path) -> None:
    """Files, lines, key and collector: nothing but ok."""
    config = write_config(tmp_path, collector.url)
    (tmp_path / "engine" / NAME).write_bytes(make_line(1) + b"\n")
    told = findings(config)
    assert {level for level, _ in told} == {"ok"}
    assert "1 files" in told["ok", "sglang_export"].text
    assert "takes the key" in told["ok", collector.url].text
    assert collector.legs == []


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        (make_line(1, request_received_ts=None), "--enable-metrics"),
        (make_line(1, request_parameters='{"rid":"r","text":"x"}'), "--log-requests-level 1"),
        (make_line(1, request_parameters='{"rid":"r"}'), "allowed-custom-labels"),
        (make_line(1, request_parameters='{"rid":"r"}'), 'set stage = "unified"'),
    ],
)
def test_a_missing_flag_is_told_from_the_lines(
    collector: StubCollector, tmp_path: Path, line: bytes, remedy: str
) -> None:
    """Each with what it costs and the flag to add (docs/engines/sglang.md)."""
    config = write_config(tmp_path, collector.url)
    (tmp_path / "engine" / NAME).write_bytes(line + b"\n")
    told = check(read_config(config, {}), Clock())
    assert [f for f in told if remedy in f.remedy and f.cost]


def test_no_file_yet_says_how_to_get_one(collector: StubCollector, tmp_path: Path) -> None:
    """The engine's own flags."""
    told = findings(write_config(tmp_path, collector.url))
    assert "--export-metrics-to-file-dir" in told["warning", "sglang_export"].remedy


def test_what_cannot_work_is_an_error(tmp_path: Path, free_port: Callable[[], int]) -> None:
    """No folder, no key, no collector."""
    url = f"http://127.0.0.1:{free_port()}"
    config = write_config(tmp_path, url)
    (tmp_path / "engine").rmdir()
    (tmp_path / "key").unlink()
    told = findings(config)
    assert {subject for level, subject in told if level == "error"} == {
        "key_file",
        "sglang_export",
        url,
    }


def test_a_key_that_others_can_read_is_told(collector: StubCollector, tmp_path: Path) -> None:
    """With the command that mends it."""
    config = write_config(tmp_path, collector.url)
    (tmp_path / "key").chmod(0o644)
    assert findings(config)["warning", "key_file"].remedy == f"chmod 600 {tmp_path / 'key'}"


def test_a_refused_key_is_told(collector: StubCollector, tmp_path: Path) -> None:
    """401, and how to make a key."""
    collector.key = "another"
    told = findings(write_config(tmp_path, collector.url))
    assert told["error", collector.url].text.startswith("401")
    assert "tokentill keys create" in told["error", collector.url].remedy


def test_an_engine_of_another_role_is_told(
    collector: StubCollector, tmp_path: Path, shared: Path
) -> None:
    """/v1/loads names role and version: here those of the sample file."""
    loads = json.loads((shared / "data/engines/sglang_v1_loads.json").read_bytes())
    role = loads["loads"][0]["disaggregation"]["mode"]
    page = tmp_path / "loads.json"
    page.write_text(json.dumps(loads))
    collector.page = page.read_bytes()
    sources = f'[[source]]\nkind = "loads"\nurl = "{collector.url}/v1/loads"'
    config = write_config(tmp_path, collector.url, top='engine_version = "0"', sources=sources)
    text = config.read_text().replace('"prefill"', '"decode"' if role == "prefill" else '"prefill"')
    config.write_text(text)
    told = findings(config)
    assert told["error", "loads"].remedy == f'set stage = "{role}"'
    assert loads["version"] in told["warning", "loads"].remedy


def test_status_before_and_after(collector: StubCollector, tmp_path: Path) -> None:
    """By hand: 2 lines of which none is delivered; then running, nothing behind, 2 lines."""
    path = write_config(tmp_path, collector.url)
    lines = make_line(1) + b"\n" + make_line(2) + b"\n"
    (tmp_path / "engine" / NAME).write_bytes(lines)
    config = read_config(path, {})
    before = status(config, datetime.now(UTC))
    assert (before["running"], before["sources"][0]["lag_bytes"]) == (False, len(lines))
    with running_sidecar(path):
        wait_until(lambda: len(collector.watermarks()) > 2)
        wait_until(lambda: status(config, datetime.now(UTC))["watermark_at"])
        after = status(config, datetime.now(UTC))
    assert after["running"]
    source = after["sources"][0]
    assert (source["lag_bytes"], source["lag_seconds"], source["totals"]["lines"]) == (0, 0.0, 2)


def invoke(*words: str) -> Any:
    return CliRunner().invoke(command_line("sidecar"), ["sidecar", *words])


def test_the_commands_print_words_or_json(collector: StubCollector, tmp_path: Path) -> None:
    """Exit 1 where something cannot work, 0 otherwise; --json is one JSON text."""
    config = str(write_config(tmp_path, collector.url))
    assert "cost: nothing is metered" in invoke("check", "--config", config).stdout
    assert json.loads(invoke("check", "--config", config, "--json").stdout)[0]["level"]
    assert json.loads(invoke("status", "--config", config, "--json").stdout)["node"] == "p1"
    assert "sglang_export (sglang_export)" in invoke("status", "--config", config).stdout
    (tmp_path / "engine").rmdir()
    assert invoke("check", "--config", config).exit_code == 1


def test_a_bad_configuration_is_one_message(tmp_path: Path) -> None:
    """Exit code 1, the file and the remedy on stderr."""
    told = invoke("status", "--config", str(tmp_path / "absent.toml"))
    assert (told.exit_code, told.stdout) == (1, "")
    assert "Write it as docs/sidecar.md shows" in told.stderr
