"""`tokentill import`: finished files through the same way."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from metering.sidecar.import_source import split_lines
from tests.metering.sidecar.stub import StubCollector, make_line
from tokentill import command_line

NODE = ("--node", "p1", "--stage", "prefill", "--model", "glm-5.2")


@pytest.fixture
def importing(
    collector: StubCollector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """A function that runs the command against the collector, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    options = ("--url", collector.url, "--key", "secret", "--json")

    def run(*words: str, stdin: bytes = b"") -> Any:
        runner = CliRunner()
        return runner.invoke(command_line("import"), ["import", *words, *options], input=stdin)

    return run


def write_lines(path: Path, *lines: bytes) -> str:
    path.write_bytes(b"\n".join(lines))
    return str(path)


def test_a_file_arrives_and_again_under_the_same_ids(
    collector: StubCollector, tmp_path: Path, importing: Callable[..., Any]
) -> None:
    """The last line needs no end; a second import repeats the ids, which the collector drops."""
    name = write_lines(tmp_path / "a.log", make_line(1), make_line(2))
    told = json.loads(importing("sglang_export", name, *NODE).stdout)
    assert (told["lines"], told["unreadable"]) == (2, 0)
    importing("sglang_export", name, *NODE)
    assert sorted(collector.leg_counts().values()) == [2, 2]
    assert collector.requests[0][1]["tokentill-import"] == "true"


def test_compressed_files_and_standard_input_are_read(
    collector: StubCollector, tmp_path: Path, importing: Callable[..., Any]
) -> None:
    """gzip is told by its first bytes, '-' is standard input."""
    (tmp_path / "a.log").write_bytes(gzip.compress(make_line(1) + b"\n"))
    importing("sglang_export", str(tmp_path / "a.log"), *NODE)
    importing("sglang_export", "-", *NODE, stdin=make_line(2) + b"\n")
    assert sorted(leg["input_tokens"] for leg in collector.legs) == [1001, 1002]


def test_identical_lines_without_an_id_are_two_requests(
    collector: StubCollector, tmp_path: Path, importing: Callable[..., Any]
) -> None:
    """Told apart by their order, so that a repeated import repeats both ids."""
    line = json.dumps(
        {
            "stage": "unified", "model_id": "m", "status": "ok", "input_tokens": 5,
            "started_at": "2026-11-30T00:00:00Z", "finished_at": "2026-11-30T00:00:01Z",
        }
    ).encode()  # fmt: skip
    name = write_lines(tmp_path / "u.ndjson", line, line)
    importing("usage_ndjson", name)
    importing("usage_ndjson", name)
    assert sorted(collector.leg_counts().values()) == [2, 2]


def test_what_a_collector_refused_can_be_sent_again(
    collector: StubCollector, tmp_path: Path, importing: Callable[..., Any]
) -> None:
    """The body kept in the folder goes to the route that its name tells."""
    name = write_lines(tmp_path / "a.log", make_line(1))
    collector.orders = [(422, {})]
    assert importing("sglang_export", name, *NODE).exit_code == 1
    (kept,) = (tmp_path / "tokentill-rejected").glob("*.arrow")
    assert importing("rejected_batch", str(kept)).exit_code == 0
    assert len(collector.legs) == 1


def test_an_unreadable_line_goes_to_the_quarantine(
    collector: StubCollector, tmp_path: Path, importing: Callable[..., Any]
) -> None:
    """Counted as unreadable, with the number of its line."""
    name = write_lines(tmp_path / "a.log", make_line(1), b"{", make_line(2))
    assert json.loads(importing("sglang_export", name, *NODE).stdout)["unreadable"] == 1
    assert collector.rejects[0]["position"] == "a.log:2"
    assert len(collector.legs) == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("sglang_exprt", "a.log"), 2, "expected one of"),
        (("sglang_export", "a.log"), 2, "add --node and --model"),
        (("sglang_export", "absent.log", *NODE), 1, "Cannot read absent.log"),
    ],
)
def test_wrong_use_is_explained(
    importing: Callable[..., Any], words: tuple[str, ...], code: int, message: str
) -> None:
    """Exit 2 for wrong usage, 1 for what cannot be read."""
    told = importing(*words)
    assert told.exit_code == code
    assert message in " ".join(told.stderr.replace("│", " ").split())


def test_a_collector_that_does_not_answer_ends_the_import(
    collector: StubCollector, tmp_path: Path, importing: Callable[..., Any]
) -> None:
    """After the patience given: exit 1, and that a repeat counts nothing twice."""
    name = write_lines(tmp_path / "a.log", make_line(1))
    collector.refuse = lambda _path, _rows: (503, {})
    told = importing("sglang_export", name, *NODE, "--patience-seconds", "0.1")
    assert told.exit_code == 1
    assert "is not counted twice" in told.stderr


@given(st.lists(st.binary(max_size=20)), st.integers(1, 7))
def test_lines_do_not_depend_on_how_a_stream_is_cut(lines: list[bytes], size: int) -> None:
    """Property: the pieces of any cut hold the lines of the whole."""
    whole = b"\n".join(line.replace(b"\n", b"") for line in lines)
    chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
    found = [line for line, _ in split_lines(chunks, 1_000) if line]
    assert found == [line for line in whole.split(b"\n") if line]


def test_a_line_that_is_too_long_is_held_in_part() -> None:
    """By hand: 3 chunks of 100,000 bytes and a limit of 150,000: 64 KiB of 300,000 are kept."""
    ((line, length), after) = split_lines([b"x" * 100_000] * 3 + [b"\nb\n"], 150_000)
    assert (len(line), length, after) == (65_536, 300_000, (b"b", 1))
