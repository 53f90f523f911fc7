"""The contract as Arrow: schemas and batches (contract.md §1; generated docs: docs/wire.md)."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from metering.usage import LEG_FIELDS, SAMPLE_FIELDS, SCHEMA_VERSION, Field, Kind

ARROW_TYPES: Final[Mapping[Kind, pa.DataType]] = {
    "text": pa.string(),
    "count": pa.int64(),
    "time": pa.timestamp("us", tz="UTC"),
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
    listed = list(rows)
    columns = [
        pa.array(_column(listed, name), type=kind)
        for name, kind in zip(schema.names, schema.types, strict=True)  # read once: they cost
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(rows: list[Mapping[str, Any]], name: str) -> list[Any]:
    try:
        return list(map(itemgetter(name), rows))  # as a rule all rows of a batch have the same keys
    except KeyError:
        return [row.get(name) for row in rows]


def to_ipc(batch: pa.RecordBatch) -> bytes:
    """One batch as an Arrow IPC stream, compressed with zstd."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data
