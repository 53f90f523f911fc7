"""What a sender hands in, and the Arrow tables that the SQL of append.py reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

RECORD_CHARACTERS_MAX = 65_536  # a refused record is kept up to here
MORSEL_ROWS = 8_192  # DuckDB scans an Arrow table with one thread for each of its batches


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A record that could not be read. index: its place in the body, from 0; None: no place."""

    field: str
    reason: str
    record: str
    index: int | None = None
    tenant_id: str | None = None
    node_id: str | None = None
    model_id: str | None = None
    finished_at: datetime | None = None  # UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one sender hands in at once.

    sender: the credential; in a usage file the tenant. places: index of each row in the body, where
    refused records left gaps; None: 0, 1, 2, … watermark_at: UTC; all lines of `node` written
    before it have been sent. imported: a backfill, whose times are not held against the clock.
    """

    table: pa.Table
    sender: str
    places: pa.Array | None = None
    refused: Sequence[Refused] = ()
    node: str | None = None
    stage: str | None = None
    pool: str | None = None
    watermark_at: datetime | None = None
    imported: bool = False

    @property
    def records(self) -> int:
        """Records of the batch, readable or not."""
        return len(self.table) + len(self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegBatch(Batch):
    """Legs, in metering.wire.LEG_SCHEMA.

    foreign: whether the sender chose the event ids itself, for all rows or row by row.
    """

    foreign: bool | pa.Array = False


class SampleBatch(Batch):
    """Node samples, in metering.wire.SAMPLE_SCHEMA."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One record that its sender must hear about. index: its place in the body, from 0."""

    index: int | None
    outcome: str  # rejected, conflict, reattributed
    field: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Outcome of one batch in records. The counts are complete, `records` is cut."""

    accepted: int = 0
    duplicate: int = 0
    conflict: int = 0
    reattributed: int = 0
    rejected: int = 0
    records: tuple[Listed, ...] = ()


def incoming_table(batches: Sequence[Batch]) -> pa.Table:
    """All rows of `batches` with row, batch, record (place in the body), is_foreign and sender.

    Times lose their zone, which is UTC: the store's TIMESTAMP columns are naive UTC.
    """
    joined = pa.concat_tables([_with_origin(batch, i) for i, batch in enumerate(batches)])
    if joined.num_rows < MORSEL_ROWS * len(batches):  # many small ones: a scan pays for each
        joined = joined.combine_chunks()
    joined = joined.append_column("row", pa.arange(0, joined.num_rows))
    return pa.Table.from_batches(joined.to_batches(max_chunksize=MORSEL_ROWS), schema=joined.schema)


def refused_table(batches: Sequence[LegBatch]) -> pa.Table:
    """All records of `batches` that could not be decoded, with their senders."""
    rows = [
        {
            "sender": batch.sender,
            "tenant_id": refused.tenant_id,
            "node_id": refused.node_id or batch.node,
            "model_id": refused.model_id,
            "field": refused.field,
            "reason": refused.reason,
            "record": refused.record[:RECORD_CHARACTERS_MAX],
            "finished_at": naive(refused.finished_at),
        }
        for batch in batches
        for refused in batch.refused
    ]
    texts = ("sender", "tenant_id", "node_id", "model_id", "field", "reason", "record")
    columns = [(name, pa.string()) for name in texts]
    return pa.Table.from_pylist(rows, pa.schema([*columns, ("finished_at", pa.timestamp("us"))]))


def naive(at: datetime | None) -> datetime | None:
    """An aware UTC time as the store holds it: without its zone."""
    return None if at is None else at.replace(tzinfo=None)


def _with_origin(batch: Batch, number: int) -> pa.Table:
    rows = batch.table.num_rows
    table = without_zone(batch.table)
    foreign = batch.foreign if isinstance(batch, LegBatch) else False
    places = batch.places if batch.places is not None else pa.arange(0, rows)
    origin = {
        "batch": pa.repeat(pa.scalar(number, pa.int32()), rows),
        "record": places,
        "is_foreign": pa.repeat(foreign, rows) if isinstance(foreign, bool) else foreign,
        "sender": pa.repeat(pa.scalar(batch.sender, pa.string()), rows),
    }
    for name, column in origin.items():
        table = table.append_column(name, column)
    return table


def without_zone(table: pa.Table) -> pa.Table:
    """`table` with its UTC times as naive UTC, without copying them."""
    schema = pa.schema(
        [
            column.with_type(pa.timestamp("us")) if pa.types.is_timestamp(column.type) else column
            for column in table.schema
        ]
    )
    return table.cast(schema)
