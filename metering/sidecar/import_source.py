"""Finished files as a source: engine or gateway logs, read once from beginning to end."""

import gzip
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

from metering.errors import SourceUnreadable
from metering.sidecar.batch import Gathered, LegReader
from metering.sidecar.config import LimitsConfig
from metering.sidecar.followed import CHUNK_BYTES, KEPT_BYTES, Line
from metering.sidecar.lane import Intake
from metering.sidecar.part import ArrowPart, leg_parts, ndjson_parts
from metering.sources import usage_ndjson
from metering.sources.record import NodeIdentity, Row
from metering.usage import event_id

REJECTED: Final = "rejected_batch"  # a body from a sidecar's rejected/ folder
GZIP: Final = b"\x1f\x8b"


class ImportSource:
    """The lines of some files. Nothing is remembered: what the collector has it drops again."""

    name = "import"
    complete_through: datetime | None = None
    trouble = ""
    delivered_at: str | None = None

    def __init__(
        self, source_format: str, paths: Sequence[Path], node: NodeIdentity, limits: LimitsConfig
    ) -> None:
        self.totals: dict[str, int] = {}
        self._intakes = (
            _bodies(paths)
            if source_format == REJECTED
            else self._batches(source_format, paths, node, limits)
        )

    def unread_bytes(self) -> int:
        """Not known for files that may be compressed."""
        return 0

    def read(self) -> Intake | None:
        """See Source. Raises SourceUnreadable."""
        return next(self._intakes, None)

    def commit(self, outcomes: Mapping[str, int]) -> None:
        """See Source."""
        self._count(outcomes)

    def _count(self, outcomes: Mapping[str, int]) -> None:
        for outcome, records in outcomes.items():
            self.totals[outcome] = self.totals.get(outcome, 0) + records

    def _batches(
        self, source_format: str, paths: Sequence[Path], node: NodeIdentity, limits: LimitsConfig
    ) -> Iterator[Intake]:
        for path in paths:
            reader = LegReader(source_format, node)
            if source_format == usage_ndjson.FORMAT:
                reader.parse = Numbered()
            lines = _lines(path, limits.line_bytes)
            while batch := list(islice(lines, limits.batch_rows)):
                gathered = Gathered()
                reader.gather(batch, gathered)
                reader.finish(gathered)
                self._count({"lines": gathered.lines, "unreadable": len(gathered.rejects)})
                yield Intake(leg_parts(gathered))


class Numbered:
    """The usage file's parser, with identical lines that carry no id told apart by their order."""

    def __init__(self) -> None:
        self._seen: Counter[bytes] = Counter()

    def __call__(self, record: bytes, node: NodeIdentity, position: str) -> Row | None:
        """See Parser."""
        row = usage_ndjson.parse(record, node, position)
        if row is None or usage_ndjson.is_foreign(row) or usage_ndjson.carries_id(row):
            return row
        digest = sha256(record).digest()
        row["event_id"] = event_id(usage_ndjson.FORMAT, record, self._seen[digest])
        self._seen[digest] += 1
        return row


def _lines(path: Path, line_bytes_max: int) -> Iterator[Line]:
    """The lines of a file, compressed or not, '-' for standard input; the last needs no end."""
    for number, (record, length) in enumerate(split_lines(_chunks(path), line_bytes_max), 1):
        fault = f"{length} bytes; at most {line_bytes_max}" if length > line_bytes_max else None
        if record:
            yield record.rstrip(b"\r"), f"{path.name}:{number}", fault


def split_lines(chunks: Iterable[bytes], line_bytes_max: int) -> Iterator[tuple[bytes, int]]:
    """(line, its length in bytes) of a stream; of a line that is too long only the beginning."""
    held, length = b"", 0
    for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            length += len(piece)
            yield _bounded(held + piece, length, line_bytes_max), length
            held, length = b"", 0
        length += len(rest)
        held = _bounded(held + rest, length, line_bytes_max)
    if length:
        yield held, length


def _bounded(line: bytes, length: int, line_bytes_max: int) -> bytes:
    return line if length <= line_bytes_max else line[:KEPT_BYTES]


def _chunks(path: Path) -> Iterator[bytes]:
    try:
        with _opened(path) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
    except (OSError, EOFError) as error:
        raise SourceUnreadable(f"Cannot read {path}: {error}") from error


def _opened(path: Path) -> IO[bytes] | gzip.GzipFile:
    if str(path) == "-":
        return sys.stdin.buffer
    with path.open("rb") as file:
        compressed = file.read(2) == GZIP
    return gzip.open(path, "rb") if compressed else path.open("rb")


def _bodies(paths: Sequence[Path]) -> Iterator[Intake]:
    """Bodies that a collector once refused, to the route that their names tell."""
    for path in paths:
        route = f"/v1/usage/{path.name.partition('-')[0]}"
        try:
            data = path.read_bytes()
            if path.suffix == ".arrow":
                batches = pa.ipc.open_stream(data).read_all().combine_chunks().to_batches()
                yield Intake([ArrowPart(route, batch) for batch in batches])
            else:
                yield Intake(ndjson_parts(route, data.splitlines()))
        except (OSError, pa.ArrowException) as error:
            raise SourceUnreadable(f"Cannot read {path}: {error}") from error
