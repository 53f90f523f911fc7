"""Rows of a list as CSV or as an Arrow stream, chunk by chunk: no more than a chunk is held."""

import csv
import io
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin

import pyarrow as pa
from pydantic import BaseModel

from pricing.money import plain

CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
ARROW_TYPES: Final[Mapping[type, pa.DataType]] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    float: pa.float64(),
    Decimal: pa.decimal128(38, 15),
    datetime: pa.timestamp("us", tz="UTC"),
    date: pa.date32(),
}
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
Chunks: TypeAlias = Iterable[Sequence[BaseModel]]


def csv_of(_: type[BaseModel], names: Sequence[str], chunks: Chunks) -> Iterator[bytes]:
    """UTF-8, a header line, ids as text; what a spreadsheet would run as a formula gets a quote."""
    yield _lines([names])
    for items in chunks:
        yield _lines([cell(getattr(item, name)) for name in names] for item in items)


def arrow_of(shape: type[BaseModel], names: Sequence[str], chunks: Chunks) -> Iterator[bytes]:
    """An IPC stream with a fixed schema: counts int64, money decimal128(38, 15), a batch a chunk.

    Its end is marked: a stream that was cut off cannot be taken for a whole one.
    """
    fields = [(name, _arrow_type(shape.model_fields[name].annotation)) for name in names]
    schema = pa.schema(fields)
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for items in chunks:
            columns = [
                pa.array([_arrow_value(getattr(item, name), kind) for item in items], kind)
                for name, kind in fields
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
            yield _taken(sink)
    yield _taken(sink)


ENCODERS: Final[
    Mapping[str, Callable[[type[BaseModel], Sequence[str], Chunks], Iterator[bytes]]]
] = {CSV: csv_of, ARROW: arrow_of}


def cell(value: Any) -> str:
    """One value as a CSV cell; unknown is empty, never 0."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, (list, tuple)):
        return " ".join(str(each) for each in value)
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def _lines(rows: Iterable[Sequence[str]]) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return out.getvalue().encode()


def _taken(sink: io.BytesIO) -> bytes:
    """What was written since the last time."""
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data


def _arrow_type(annotation: Any) -> pa.DataType:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _arrow_type(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _arrow_type(next(arg for arg in get_args(annotation) if arg is not type(None)))
    if origin is list:
        return pa.list_(_arrow_type(get_args(annotation)[0]))
    return ARROW_TYPES.get(annotation, pa.string())


def _arrow_value(value: Any, kind: pa.DataType) -> Any:
    return str(value) if value is not None and pa.types.is_string(kind) else value
