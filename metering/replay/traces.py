"""Readers of public traces: a file of requests in, a stream of TraceRequest out.

A file is recognised by what is in it, never by its name. Memory stays bounded: rows are read in
batches; only the agentic trace, whose sessions must be interleaved, is held as Arrow columns.
"""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from metering.errors import SourceUnreadable
from metering.replay.request import TraceRequest, runs_of
from metering.usage import COUNT_MAX

Row = TypeVar("Row")
Read = TypeVar("Read")

MOONCAKE_BLOCK_TOKENS: Final = 512  # FAST25 traces, github.com/kvcache-ai/Mooncake
AGENTIC_BLOCK_TOKENS: Final = 64  # github.com/callanjfox/kv-cache-tester
AGENTIC_ROWS_MAX: Final = 2_000_000  # held as Arrow columns, about 200 bytes a row
SESSION_START_GAP_SECONDS: Final = 30.0  # sessions of the agentic trace carry no common clock
BATCH_ROWS: Final = 1024
LINE_CHARACTERS_MAX: Final = 4_000_000
MILLISECONDS_PER_SECOND: Final = 1000

MOONCAKE_COLUMNS: Final = ("timestamp_ms", "input_length", "output_length", "hash_ids")
AGENTIC_COLUMNS: Final = (
    "trace_id",
    "t_s",
    "model",
    "input_tokens",
    "output_tokens",
    "hash_run_start",
    "hash_run_len",
)
AZURE_COLUMNS: Final = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
EXPECTED: Final = (
    "expected a Mooncake trace (Parquet with timestamp_ms, input_length, output_length, hash_ids,"
    " or JSON lines with timestamp, input_length, output_length, hash_ids), an agentic trace"
    " (Parquet with trace_id, t_s, input_tokens, output_tokens, hash_run_start, hash_run_len) or"
    " an Azure LLM inference trace (CSV with TIMESTAMP,ContextTokens,GeneratedTokens)"
)


def read_trace(path: Path) -> Iterator[TraceRequest]:
    """The requests of the trace file `path`, in its order (agentic: in its order within a session).

    Raises SourceUnreadable at once for a file that is no known trace, and in the course of reading
    for a row that cannot be used; the message names the row and what to do.
    """
    with _teaching(path):
        reader = _recognise(path)
    return _guarded(path, reader)


def _guarded(
    path: Path, reader: Callable[[Path], Iterator[TraceRequest]]
) -> Iterator[TraceRequest]:
    with _teaching(path):
        yield from reader(path)


@contextmanager
def _teaching(path: Path) -> Iterator[None]:
    """Faults of the file itself, told with what was expected of it."""
    try:
        yield
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, pa.ArrowInvalid) as error:
        raise SourceUnreadable(
            f"{path}: cannot be read ({error}); {EXPECTED}. Check the path or fetch it again."
        ) from error


def _recognise(path: Path) -> Callable[[Path], Iterator[TraceRequest]]:
    """The reader for `path`, by its first bytes and column names."""
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            columns = set(pq.read_schema(path).names)
            if columns.issuperset(MOONCAKE_COLUMNS):
                return _mooncake_parquet
            if columns.issuperset(AGENTIC_COLUMNS):
                return _agentic_parquet
            raise _unknown(path, f"Parquet with the columns {', '.join(sorted(columns))}")
    with _text(path) as lines:
        first = lines.readline(LINE_CHARACTERS_MAX).strip()
    if first.startswith("{"):
        return _mooncake_lines
    if {name.strip() for name in first.split(",")}.issuperset(AZURE_COLUMNS):
        return _azure_csv
    raise _unknown(path, f"a first line that reads {first[:60]!r}" if first else "an empty file")


def _unknown(path: Path, found: str) -> SourceUnreadable:
    return SourceUnreadable(
        f"{path}: {EXPECTED}; found {found}. Convert the file to one of these, or replay the"
        " built-in workload: tokentill replay --workload white-paper"
    )


def _text(path: Path) -> IO[str]:
    """`path` as text, unpacked if it is gzip."""
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    if is_gzip:
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8-sig")


def _mooncake_parquet(path: Path) -> Iterator[TraceRequest]:
    row_number = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=list(MOONCAKE_COLUMNS)):
            for row in batch.to_pylist():
                row_number += 1
                yield _checked(path, f"row {row_number}", _mooncake, row)


def _mooncake_lines(path: Path) -> Iterator[TraceRequest]:
    for line_number, line in _lines(path):
        yield _checked(path, f"line {line_number}", _mooncake_line, line)


def _mooncake_line(line: str) -> TraceRequest:
    return _mooncake(json.loads(line))


def _mooncake(row: dict[str, Any]) -> TraceRequest:
    milliseconds = row["timestamp_ms"] if "timestamp_ms" in row else row["timestamp"]
    return TraceRequest(
        arrival_seconds=_count(milliseconds) / MILLISECONDS_PER_SECOND,
        input_tokens=_count(row["input_length"]),
        output_tokens=_count(row["output_length"]),
        block_runs=runs_of(_count(block_id) for block_id in row["hash_ids"]),
        block_tokens=MOONCAKE_BLOCK_TOKENS,
    )


def _agentic_parquet(path: Path) -> Iterator[TraceRequest]:
    """Sessions start `SESSION_START_GAP_SECONDS` apart, in file order, and run side by side."""
    rows = pq.ParquetFile(path).metadata.num_rows
    if rows > AGENTIC_ROWS_MAX:
        raise SourceUnreadable(
            f"{path}: {rows} rows; at most {AGENTIC_ROWS_MAX} can be interleaved in memory. "
            "Split the file by trace_id."
        )
    table = pq.read_table(path, columns=list(AGENTIC_COLUMNS))
    arrivals = _session_arrivals(
        table.column("trace_id").to_pylist(), table.column("t_s").to_pylist()
    )
    order = sorted(range(rows), key=arrivals.__getitem__)  # stable: a session keeps its order
    for start in range(0, rows, BATCH_ROWS):
        chosen = order[start : start + BATCH_ROWS]
        for index, row in zip(chosen, table.take(pa.array(chosen)).to_pylist(), strict=True):
            row["t_s"] = arrivals[index]
            yield _checked(path, f"row {index + 1}", _agentic, row)


def _session_arrivals(sessions: list[str], seconds: list[float]) -> list[float]:
    """Arrival of every row on one clock, never earlier than the row before it in its session."""
    starts: dict[str, float] = {}
    latest: dict[str, float] = {}
    arrivals = []
    for session, since_start in zip(sessions, seconds, strict=True):
        start = starts.setdefault(session, len(starts) * SESSION_START_GAP_SECONDS)
        latest[session] = max(latest.get(session, start), start + since_start)
        arrivals.append(latest[session])
    return arrivals


def _agentic(row: dict[str, Any]) -> TraceRequest:
    return TraceRequest(
        arrival_seconds=row["t_s"],
        input_tokens=_count(row["input_tokens"]),
        output_tokens=_count(row["output_tokens"]),
        block_runs=tuple(
            (_count(first), _count(count))
            for first, count in zip(row["hash_run_start"], row["hash_run_len"], strict=True)
        ),
        block_tokens=AGENTIC_BLOCK_TOKENS,
        cache_scope=row["trace_id"],
        model=row["model"],
    )


def _azure_csv(path: Path) -> Iterator[TraceRequest]:
    with _text(path) as file:
        table = csv.DictReader(file, skipinitialspace=True)
        first_at: datetime | None = None
        for row in table:
            at = _checked(path, f"line {table.line_num}", _azure_time, row)
            first_at = first_at or at
            row["arrival_seconds"] = (at - first_at).total_seconds()
            yield _checked(path, f"line {table.line_num}", _azure, row)


def _azure_time(row: dict[str, Any]) -> datetime:
    """The 2023 files carry no zone, the 2024 ones +00:00; both are UTC."""
    at = datetime.fromisoformat(row["TIMESTAMP"])
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _azure(row: dict[str, Any]) -> TraceRequest:
    return TraceRequest(
        arrival_seconds=row["arrival_seconds"],
        input_tokens=_count(int(row["ContextTokens"])),
        output_tokens=_count(int(row["GeneratedTokens"])),
    )


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number, text) of the lines that are not blank."""
    with _text(path) as file:
        line_number = 0
        while line := file.readline(LINE_CHARACTERS_MAX):
            line_number += 1
            if len(line) == LINE_CHARACTERS_MAX:
                raise SourceUnreadable(
                    f"{path}, line {line_number}: longer than {LINE_CHARACTERS_MAX} characters, "
                    "so this is no trace of one request a line. Check the file."
                )
            if line.strip():
                yield line_number, line


def _checked(path: Path, place: str, read: Callable[[Row], Read], row: Row) -> Read:
    """`read(row)`, with any fault told by its place in the file."""
    try:
        return read(row)
    except (KeyError, TypeError, ValueError) as error:
        fault = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise SourceUnreadable(
            f"{path}, {place}: {fault}; expected an arrival time and whole, non-negative counts of "
            "input and output tokens. Correct or remove that record."
        ) from error


def _count(value: Any) -> int:
    """`value` as a count of tokens, blocks or milliseconds."""
    if type(value) is not int or not 0 <= value <= COUNT_MAX:
        raise ValueError(f"a count must be a whole number in 0..{COUNT_MAX}, found {value!r}")
    return value
