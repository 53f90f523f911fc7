"""Arrow bodies: what is taken, what is refused, and that nothing is unpacked beyond its bound."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from metering.collector.arrow import read_arrow
from metering.collector.limits import Limits
from metering.errors import BatchTooLarge, BatchUnreadable
from metering.usage import LEG_FIELDS
from metering.wire import LEG_SCHEMA, to_batch, to_ipc
from tests.metering.store.leg_rows import leg

LIMITS = Limits(records=1000, unpacked_bytes=1_000_000)
METADATA = LEG_SCHEMA.metadata


def ipc(table: pa.Table, compression: str | None = "zstd") -> bytes:
    """`table` as an IPC stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def table(**columns: Any) -> pa.Table:
    """One good leg with these columns changed or added; a value of None drops the column."""
    base = pa.Table.from_batches([to_batch([leg("a")])])
    for name, column in columns.items():
        if name in base.column_names:
            base = base.drop_columns([name])
        if column is not None:
            base = base.append_column(name, column)
    return base.replace_schema_metadata(METADATA)


def read(body: bytes) -> pa.Table:
    """The rows of `body`."""
    return read_arrow(body, LEG_SCHEMA, LEG_FIELDS, LIMITS)


def test_what_the_sidecar_sends_comes_back() -> None:
    """metering.wire.to_ipc is the other end."""
    rows = [leg("a"), leg("b", labels={"team": "x"}, cached_by_tier={"device": 3})]
    back = read(to_ipc(to_batch(rows)))
    assert back.schema.equals(LEG_SCHEMA, check_metadata=True)
    assert back.to_pylist() == to_batch(rows).to_pylist()


@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_optional_columns_may_be_missing(compression: str | None) -> None:
    """They are NULL; lz4 and no compression are Arrow IPC as well."""
    back = read(ipc(table(labels=None, tenant_id=None, retractions=None), compression))
    assert back.column("labels").null_count == 1
    assert back.column("input_tokens").to_pylist() == [1000]


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("tenant_id", pa.array(["t"]).dictionary_encode(), "t"),
        ("tenant_id", pa.array(["t"], pa.large_string()), "t"),
        ("tenant_id", pa.nulls(1), None),
        ("input_tokens", pa.array([7], pa.uint16()), 7),
        ("e2e_seconds", pa.array([0.5], pa.float32()), 0.5),
        ("labels", pa.nulls(1), None),
    ],
)
def test_columns_are_cast_where_values_keep_their_meaning(
    name: str, column: pa.Array, value: object
) -> None:
    """Narrower integers, other encodings of text, null columns."""
    assert read(ipc(table(**{name: column}))).column(name).to_pylist() == [value]


def test_times_of_any_unit_are_rounded_down_to_microseconds() -> None:
    """Contract §1: 1.999999999 s is 1.999999 s; another zone names the same instant."""
    at = pa.array([1_999_999_999], pa.timestamp("ns", tz="Asia/Shanghai"))
    [read_at] = read(ipc(table(started_at=at))).column("started_at").to_pylist()
    assert read_at == datetime(1970, 1, 1, 0, 0, 1, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"promt_tokens": pa.array([1])}, "unknown columns promt_tokens"),
        ({"model_id": None, "stage": None}, "required columns are missing: model_id, stage"),
        ({"input_tokens": pa.array([1.5])}, "input_tokens must be int64, found double"),
        ({"input_tokens": pa.array(["1"])}, "input_tokens must be int64, found string"),
        ({"input_tokens": pa.array([2**63], pa.uint64())}, "column input_tokens"),
        ({"tenant_id": pa.array([1])}, "tenant_id must be string, found int64"),
        ({"started_at": pa.array([1], pa.timestamp("us"))}, "started_at has times without a zone"),
        ({"started_at": pa.array(["2026-06-01"])}, "started_at must be timestamp"),
        ({"labels": pa.array(["x"])}, "labels must be map"),
    ],
)
def test_a_wrong_column_is_named(columns: dict[str, Any], says: str) -> None:
    """422 for the whole body: its schema is wrong, not one row."""
    with pytest.raises(BatchUnreadable, match=says):
        read(ipc(table(**columns)))


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {**METADATA, b"tokentill.schema_version": b"2"},
        {**METADATA, b"tokentill.schema": b"x"},
    ],
)
def test_another_schema_version_is_refused(metadata: dict[bytes, bytes] | None) -> None:
    """The message tells which was expected and what to do."""
    body = ipc(table().replace_schema_metadata(metadata))
    with pytest.raises(BatchUnreadable, match=r"schema_version = 1.*same release"):
        read(body)


def test_a_column_twice_is_refused() -> None:
    """Which of them counts would be a guess."""
    twice = table().append_column("stage", pa.array(["decode"]))
    with pytest.raises(BatchUnreadable, match="appear twice: stage"):
        read(ipc(twice.replace_schema_metadata(METADATA)))


def test_text_that_is_not_utf8_is_refused() -> None:
    """It would fail inside the store, together with other senders' batches."""
    bad = pa.array([b"\xff"], pa.binary()).view(pa.string())
    with pytest.raises(BatchUnreadable, match="UTF"):
        read(ipc(table(tenant_id=bad)))


def test_too_many_records_are_refused_before_unpacking() -> None:
    """1,001 records where 1,000 are allowed."""
    with pytest.raises(BatchTooLarge, match="1,001 records"):
        read(to_ipc(to_batch([leg("a")] * 1001)))


def test_a_body_that_unpacks_beyond_its_bound_is_refused_before_unpacking() -> None:
    """50 MB of one letter compress to some KB; the bound is 1 MB."""
    body = ipc(table(tenant_id=pa.array(["x" * 50_000_000])))
    assert len(body) < 100_000
    with pytest.raises(BatchTooLarge, match=r"50,\d+,\d+ bytes when unpacked"):
        read(body)


def test_a_dictionary_that_unpacks_beyond_its_bound_is_refused() -> None:
    """One value of 100 kB named by 900 rows is 90 MB of plain text."""
    rows = pa.Table.from_batches([to_batch([leg("a")] * 900)]).drop_columns(["tenant_id"])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 900), pa.array(["x" * 100_000]))
    wide = rows.append_column("tenant_id", column).replace_schema_metadata(METADATA)
    with pytest.raises(BatchTooLarge, match="90,000,000 bytes"):
        read(ipc(wide))


@pytest.mark.parametrize("body", [b"", b"junk", b"\xff\xff\xff\xff\x10\x00\x00\x00", b"{}\n"])
def test_what_is_no_arrow_stream_is_refused(body: bytes) -> None:
    """422, not a crash."""
    with pytest.raises(BatchUnreadable, match="Arrow IPC stream"):
        read(body)
