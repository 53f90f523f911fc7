"""The contract as Arrow: schemas and batches (docs/wire.md)."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from metering.usage import EPOCH, LEG_FIELDS, SAMPLE_FIELDS, SCHEMA_VERSION, Field, Kind

INSTANT: Final = pa.timestamp("us", tz="UTC")
SINCE_EPOCH: Final = pa.duration("us")
ARROW_TYPES: Final[Mapping[Kind, pa.DataType]] = {
    "text": pa.string(),
    "count": pa.int64(),
    "time": INSTANT,
    "seconds": pa.float64(),
    "ratio": pa.float64(),
    "labels": pa.map_(pa.string(), pa.string()),
    "counts": pa.map_(pa.string(), pa.int64()),
}


def _schema(fields: tuple[Field, ...], name: str) -> pa.Schema:
    return pa.schema(
        [pa.field(f.name, ARROW_TYPES[f.kind]) for f in fields],
        metadata={"tokentill.schema": name, "tokentill.schema_version": str(SCHEMA_VERSION)},
    )


LEG_SCHEMA: Final = _schema(LEG_FIELDS, "usage_leg")
SAMPLE_SCHEMA: Final = _schema(SAMPLE_FIELDS, "node_sample")


def to_batch(rows: Iterable[Mapping[str, Any]], schema: pa.Schema = LEG_SCHEMA) -> pa.RecordBatch:
    """Rows (field name → value; missing fields are NULL) as one Arrow batch of `schema`."""
    columns = map(_array, _columns(list(rows), schema.names), schema.types)
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _columns(rows: list[Mapping[str, Any]], names: list[str]) -> Iterable[Sequence[Any]]:
    """The values of each field, in the schema's order."""
    try:
        values = list(map(itemgetter(*names), rows))  # as a rule every row has every key
    except KeyError:
        values = [tuple(map(row.get, names)) for row in rows]
    return zip(*values, strict=True) if rows else [()] * len(names)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """One column. Of a datetime Arrow asks the zone, in Python; of a difference nothing."""
    if kind != INSTANT or (values and type(values[0]) is int):
        return pa.array(values, type=kind)
    since = [None if at is None else at - EPOCH for at in values]
    return pa.array(since, type=SINCE_EPOCH).view(INSTANT)


def to_ipc(batch: pa.RecordBatch) -> bytes:
    """One batch as an Arrow IPC stream, compressed with zstd."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data
