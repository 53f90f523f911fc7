"""Arrow IPC → a table of the contract: bounded, checked, each column cast to the schema."""

import pyarrow as pa
import pyarrow.compute as pc

from metering.collector.arrow_bounds import check_bounds
from metering.collector.limits import Limits
from metering.errors import BatchTooLarge, BatchUnreadable
from metering.usage import SCHEMA_VERSION, Field

NAME_KEY, VERSION_KEY = b"tokentill.schema", b"tokentill.schema_version"


def read_arrow(
    body: bytes, schema: pa.Schema, fields: tuple[Field, ...], limits: Limits
) -> pa.Table:
    """The rows of an Arrow IPC stream in `schema`; columns that it leaves out are NULL."""
    check_bounds(body, records=limits.records, unpacked_bytes=limits.unpacked_bytes)
    try:
        table: pa.Table = pa.ipc.open_stream(pa.BufferReader(body)).read_all()
        table.validate(full=True)  # offsets within their buffers, text that is UTF-8
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BatchUnreadable(f"the body is no valid Arrow IPC stream: {error}") from None
    _check_schema(table.schema, schema, fields)
    _check_zones(table.schema)
    columns = [
        _column(table, wanted, limits.unpacked_bytes)
        if wanted.name in table.column_names
        else pa.nulls(table.num_rows, wanted.type)
        for wanted in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _check_schema(found: pa.Schema, wanted: pa.Schema, fields: tuple[Field, ...]) -> None:
    metadata = found.metadata or {}
    name = metadata.get(NAME_KEY, b"").decode(errors="replace")
    version = metadata.get(VERSION_KEY, b"").decode(errors="replace")
    expected = wanted.metadata[NAME_KEY].decode()
    if name != expected or version != str(SCHEMA_VERSION):
        raise BatchUnreadable(
            f"the schema's metadata must say tokentill.schema = {expected} and "
            f"tokentill.schema_version = {SCHEMA_VERSION}; found {name or 'none'!r} and "
            f"{version or 'none'!r}: bring sender and server to the same release"
        )
    unknown = sorted(set(found.names) - set(wanted.names))
    if unknown:
        raise BatchUnreadable(
            f"unknown columns {', '.join(unknown)[:200]}; docs/wire.md lists the columns"
        )
    twice = sorted({column for column in found.names if found.names.count(column) > 1})
    if twice:
        raise BatchUnreadable(f"columns that appear twice: {', '.join(twice)}")
    missing = sorted({f.name for f in fields if f.required} - set(found.names))
    if missing:
        raise BatchUnreadable(f"required columns are missing: {', '.join(missing)}")


def _check_zones(found: pa.Schema) -> None:
    """A zone's name is read at its first use, where bytes that are no UTF-8 are no Arrow error."""
    for name, kind in zip(found.names, found.types, strict=True):
        try:
            if pa.types.is_timestamp(kind):
                _ = kind.tz
        except UnicodeDecodeError:
            raise BatchUnreadable(f"column {name}: the time zone's name is not UTF-8") from None


def _column(table: pa.Table, wanted: pa.Field, limit_bytes: int) -> pa.ChunkedArray:
    column = table.column(wanted.name)
    if column.type == wanted.type:
        return column
    if pa.types.is_dictionary(column.type):
        column = _plain(column, limit_bytes)
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(wanted.type):
        column = _floored(column, wanted.name)
    if not _may_cast(column.type, wanted.type):
        raise _wrong_type(wanted, column.type)
    try:
        return column.cast(wanted.type)
    except (pa.ArrowException, ValueError) as error:
        raise BatchUnreadable(f"column {wanted.name}: {error}") from None


def _plain(column: pa.ChunkedArray, limit_bytes: int) -> pa.ChunkedArray:
    """A dictionary-encoded column written out, if that stays within the limit."""
    value_type = column.type.value_type
    if not (pa.types.is_string(value_type) or pa.types.is_large_string(value_type)):
        return column
    size = sum(
        pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
        for chunk in column.chunks
    )
    if size > limit_bytes:
        raise BatchTooLarge(
            f"a column unpacks to {size:,} bytes; at most {limit_bytes:,}: send smaller batches"
        )
    return column.cast(value_type)


def _floored(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Times of any unit, rounded down to microseconds."""
    if column.type.tz is None:
        raise BatchUnreadable(f"column {name} has times without a zone; send timestamp[us, tz=UTC]")
    return pc.floor_temporal(column, unit="microsecond") if column.type.unit == "ns" else column


def _may_cast(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values keep their meaning: a float is no count, a number no text."""
    if pa.types.is_null(found):
        return True
    if pa.types.is_map(wanted):
        return pa.types.is_map(found) and (
            _may_cast(found.key_type, wanted.key_type)
            and _may_cast(found.item_type, wanted.item_type)
        )
    tests = {
        pa.string(): (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        pa.int64(): (pa.types.is_integer,),
        pa.float64(): (pa.types.is_floating, pa.types.is_integer),
    }
    return any(is_kind(found) for is_kind in tests.get(wanted, (pa.types.is_timestamp,)))


def _wrong_type(wanted: pa.Field, found: pa.DataType) -> BatchUnreadable:
    return BatchUnreadable(f"column {wanted.name} must be {wanted.type}, found {found}")
