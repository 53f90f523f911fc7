"""Lines of a source → rows of the contract in Arrow, with what cannot be read set aside.

No record stops another one: whatever a parser or Arrow refuses becomes a reject of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec
import pyarrow as pa

from metering.errors import UsageInvalid
from metering.sidecar.followed import Line
from metering.sidecar.redact import redacted
from metering.sources import PARSERS, sglang_export, usage_ndjson
from metering.sources.record import NodeIdentity, Parser, Row
from metering.wire import SAMPLE_SCHEMA, to_batch

Salvage = Callable[[bytes], tuple[bytes, ...]]
_NOT_ARROW: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)
ROWS_MAX: Final = 1_000  # held as Python values at once; fewer cost more time each
SALVAGE: Final[Mapping[str, Salvage]] = {sglang_export.FORMAT: sglang_export.salvage}


def _as_json(row: Row) -> bytes:
    return msgspec.json.encode({k: v for k, v in row.items() if k != usage_ndjson.FOREIGN})


def _whole(record: bytes) -> tuple[bytes, ...]:
    return (record,)


@dataclass(slots=True)
class Gathered:
    """What has been read for one batch. rejects: lines of JSON for /v1/usage/rejects.

    foreign: rows whose event_id the sender chose; they travel as JSON, which keeps that visible.
    """

    rows: list[Row] = field(default_factory=list)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    foreign: list[bytes] = field(default_factory=list)
    rejects: list[bytes] = field(default_factory=list)
    lines: int = 0
    bytes: int = 0


class LegReader:
    """Parses the lines of one source format on one node."""

    def __init__(self, source_format: str, node: NodeIdentity) -> None:
        self.source_format = source_format
        self.node = node
        self.parse: Parser = PARSERS[source_format]
        self._salvage = SALVAGE.get(source_format, _whole)

    def gather(self, lines: Sequence[Line], into: Gathered) -> None:
        """Parse `lines` and add what they hold to `into`; `finish` ends it."""
        parse, node, add = self.parse, self.node, into.rows.append
        into.lines += len(lines)
        into.bytes += sum(len(record) for record, _, _ in lines)
        for record, position, fault in lines:
            if fault:
                into.rejects.append(self._reject(record, position, "record", fault))
                continue
            try:
                row = parse(record, node, position)
            except Exception as error:  # noqa: BLE001 - a fault in a parser must not stop the queue
                row = self._rescue(record, position, error, into)
            if row is not None:
                add(row)
        if len(into.rows) >= ROWS_MAX:
            self.finish(into)

    def finish(self, into: Gathered) -> None:
        """Rows become Arrow: in Python they take ten times the memory."""
        rows, into.rows = into.rows, []
        if self.source_format == usage_ndjson.FORMAT:
            foreign = [row for row in rows if row.get(usage_ndjson.FOREIGN)]
            rows = [row for row in rows if not row.get(usage_ndjson.FOREIGN)]
            into.foreign += [_as_json(row) for row in foreign]
        if not rows:
            return
        try:
            into.batches.append(to_batch(rows))
        except _NOT_ARROW:
            into.batches += [batch for row in rows if (batch := self._alone(row, into))]

    def _alone(self, row: Row, into: Gathered) -> pa.RecordBatch | None:
        """A row by itself, or a reject if Arrow cannot hold it."""
        try:
            return to_batch((row,))
        except _NOT_ARROW as error:
            position = str(row.get("source_position"))
            into.rejects.append(self._reject(b"{}", position, "record", f"not Arrow: {error}"))
            return None

    def _rescue(self, record: bytes, position: str, error: Exception, into: Gathered) -> Row | None:
        """Set a line aside; the row of a whole record behind a torn one on the same line."""
        *torn, last = self._salvage(record)
        if not torn:
            self._refuse(record, position, error, into)
            return None
        self._refuse(record[: -len(last)], position, error, into)
        name, _, start = position.rpartition(":")
        following = f"{name}:{int(start) + len(record) - len(last)}"
        try:
            return self.parse(last, self.node, following)
        except Exception as second:  # noqa: BLE001 - as in gather
            self._refuse(last, following, second, into)
            return None

    def _refuse(self, record: bytes, position: str, error: Exception, into: Gathered) -> None:
        place, reason = "record", f"the parser failed with {type(error).__name__}; please report it"
        if isinstance(error, UsageInvalid):
            place, reason = error.field, error.reason
        into.rejects.append(self._reject(record, position, place, reason))

    def _reject(self, record: bytes, position: str, place: str, reason: str) -> bytes:
        return msgspec.json.encode(
            {
                "record": redacted(record),
                "field": place,
                "reason": reason[:1000],
                "source": self.source_format,
                "position": position,
                "node_id": self.node.node_id,
                "finished_at": None,
            }
        )


def sample_record(row: Row) -> bytes:
    """A sample's row as the spool keeps it."""
    return msgspec.json.encode(row)


def sample_batch(records: Iterable[bytes]) -> pa.RecordBatch:
    """The spool's records as one Arrow batch of samples."""
    rows = [_SAMPLE.decode(record) for record in records]
    for row in rows:
        row["sampled_at"] = datetime.fromisoformat(row["sampled_at"])
    return to_batch(rows, SAMPLE_SCHEMA)


_SAMPLE: Final = msgspec.json.Decoder(Row)
