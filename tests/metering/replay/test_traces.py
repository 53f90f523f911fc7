"""Readers: public traces by content, our own small files by hand, faults that teach."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metering.errors import SourceUnreadable
from metering.replay.traces import read_trace

MOONCAKE_LINE = {
    "timestamp": 1500,
    "input_length": 1100,
    "output_length": 7,
    "hash_ids": [4, 5, 9],
}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "totals"),
    [
        ("mooncake_conversation", (12_031, 144_793_823, 4_122_048)),
        ("mooncake_synthetic", (3_993, 61_194_628, 595_432)),
        ("kvct_agentic_requests", (49_334, 6_037_445_403, 21_709_920)),
    ],
)
def test_public_traces_are_read_whole(shared: Path, name: str, totals: tuple[int, int, int]):
    """Requests, input and output tokens as published (../shared/data/README.md; agentic output:
    sum of its sessions file)."""
    requests = list(read_trace(shared / f"data/traces/{name}.parquet"))
    inputs, outputs = (r.input_tokens for r in requests), (r.output_tokens for r in requests)
    assert (len(requests), sum(inputs), sum(outputs)) == totals


def test_arrivals_of_the_agentic_trace_never_go_back(shared: Path):
    """Sessions are interleaved on one clock, and none is reordered inside itself."""
    arrivals = [
        request.arrival_seconds
        for request in read_trace(shared / "data/traces/kvct_agentic_requests.parquet")
    ]
    assert arrivals == sorted(arrivals)


@pytest.mark.parametrize("name", ["trace.jsonl", "no-suffix-at-all", "lies.csv"])
def test_mooncake_lines_are_known_by_content(tmp_path: Path, name: str):
    """By hand: 1,500 ms is 1.5 s; ids 4, 5 are one run, 9 another."""
    path = written(tmp_path / name, json.dumps(MOONCAKE_LINE) + "\n\n")
    (request,) = read_trace(path)
    assert (request.arrival_seconds, request.input_tokens, request.output_tokens) == (1.5, 1100, 7)
    assert (request.block_runs, request.block_tokens) == (((4, 2), (9, 1)), 512)


def test_packed_lines_are_read(tmp_path: Path):
    """gzip is known by its first two bytes."""
    path = tmp_path / "trace.bin"
    path.write_bytes(gzip.compress(json.dumps(MOONCAKE_LINE).encode()))
    assert [request.input_tokens for request in read_trace(path)] == [1100]


@pytest.mark.parametrize("zone", ["", "+00:00"])
def test_azure_times_become_seconds_since_the_first(tmp_path: Path, zone: str):
    """By hand: 18:17:03.98 to 18:17:05.48 is 1.5 s; the files of 2023 name no zone, those of 2024
    do. No blocks: nothing can hit."""
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        f"2023-11-16 18:17:03.9800000{zone},4808,10\n2023-11-16 18:17:05.4800000{zone},110,27\n"
    )
    first, second = read_trace(written(tmp_path / "azure", text))
    assert (first.arrival_seconds, second.arrival_seconds) == (0.0, 1.5)
    assert (second.input_tokens, second.output_tokens, second.block_runs) == (110, 27, ())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "an empty file"),
        ("model,tokens\nx,1\n", "a first line that reads 'model,tokens'"),
        (json.dumps(MOONCAKE_LINE) + "\n{torn", "line 2"),
        (json.dumps(MOONCAKE_LINE | {"input_length": -1}), "found -1"),
        (json.dumps(MOONCAKE_LINE | {"output_length": 2.5}), "found 2.5"),
        (json.dumps({"timestamp": 1, "input_length": 2}), "no 'output_length'"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2\n", "line 2"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1\n", "line 2"),
    ],
)
def test_a_file_that_cannot_be_used_says_where_and_what(tmp_path: Path, text: str, told: str):
    """The message names the place, what was found and what is expected."""
    with pytest.raises(SourceUnreadable, match="expected") as caught:
        list(read_trace(written(tmp_path / "trace", text)))
    assert told in str(caught.value)


def test_parquet_with_other_columns_is_refused(tmp_path: Path):
    """The message lists the columns that it has."""
    path = tmp_path / "trace.parquet"
    pq.write_table(pa.table({"tokens": [1], "model": ["x"]}), path)
    with pytest.raises(SourceUnreadable, match="Parquet with the columns model, tokens"):
        read_trace(path)


def test_a_parquet_file_cut_short_is_refused(tmp_path: Path, shared: Path):
    """Half a file has no footer."""
    whole = (shared / "data/traces/mooncake_synthetic.parquet").read_bytes()
    path = tmp_path / "half"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceUnreadable, match="cannot be read"):
        read_trace(path)


def test_a_missing_file_is_told_at_once(tmp_path: Path):
    """Before anything is read or written."""
    with pytest.raises(SourceUnreadable, match="No such file"):
        read_trace(tmp_path / "nowhere")


def test_bytes_that_are_no_text_are_told(tmp_path: Path):
    """A fault deep in the file is as clear as one at its start."""
    path = tmp_path / "trace"
    path.write_bytes(json.dumps(MOONCAKE_LINE).encode() + b"\n\xff\xfe\n")
    with pytest.raises(SourceUnreadable, match="cannot be read"):
        list(read_trace(path))
