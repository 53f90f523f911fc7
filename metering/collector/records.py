"""Rows and refusals of a body, record by record → one batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from metering.collector.limits import Limits
from metering.errors import BatchTooLarge, UsageInvalid
from metering.store.batches import RECORD_CHARACTERS_MAX, Refused
from metering.usage import TEXT_LENGTH_MAX
from metering.wire import to_batch

Row = dict[str, Any]


@dataclass(slots=True)
class Records:
    """What has been read of a body so far. A record that cannot be read stops no other one."""

    limits: Limits
    rows: list[Row] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    foreign: list[bool] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def take(self, index: int, row: Row, *, foreign: bool) -> None:
        """Add a readable record. index: its place in the body, from 0."""
        self.rows.append(row)
        self.places.append(index)
        self.foreign.append(foreign)
        self._check_size()

    def refuse(self, index: int, record: bytes, why: UsageInvalid) -> None:
        """Set an unreadable record aside, for the quarantine."""
        text = record[: 4 * RECORD_CHARACTERS_MAX].decode(errors="replace")
        self.keep(
            Refused(
                index=index,
                field=why.field[:TEXT_LENGTH_MAX],
                reason=why.reason[:TEXT_LENGTH_MAX],
                record=text[:RECORD_CHARACTERS_MAX],
            )
        )

    def keep(self, refused: Refused) -> None:
        """Add a record that is set aside already."""
        self.refused.append(refused)
        self._check_size()

    def table(self, schema: pa.Schema) -> pa.Table:
        """The readable records in `schema`."""
        return pa.Table.from_batches([to_batch(self.rows, schema)])

    def _check_size(self) -> None:
        if len(self.rows) + len(self.refused) > self.limits.records:
            raise BatchTooLarge(
                f"the body has more than {self.limits.records:,} records: send smaller batches"
            )


def without_blank(lines: Sequence[bytes]) -> list[tuple[int, bytes]]:
    """The lines that hold a record, each with its place among them, from 0."""
    return list(enumerate(line for line in lines if line and not line.isspace()))
