"""Whatever arrives, a decoder answers with a batch or with a typed error; never with a crash."""

import json
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metering.collector.decode import (
    ARROW,
    EVENT,
    EVENTS,
    NDJSON,
    Body,
    Origin,
    leg_batch,
    reject_batch,
    sample_batch,
)
from metering.collector.limits import Limits
from metering.errors import MeteringError
from metering.store.connect import open_store
from metering.usage import LEG_FIELDS, SAMPLE_FIELDS
from metering.wire import to_batch, to_ipc
from tests.metering.collector.test_arrow import ipc, table
from tests.metering.store.leg_rows import batch, leg, send

LIMITS = Limits(records=100, unpacked_bytes=1_000_000)
ORIGIN = Origin(sender="key-1")
GOOD_ARROW = to_ipc(to_batch([leg("a"), leg("b", labels={"k": "v"}, cached_by_tier={"d": 1})]))
GOOD_DICTIONARY = ipc(
    table(**{name: pa.array(["a"]).dictionary_encode() for name in ("tenant_id", "pool")})
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def objects(names: list[str]) -> st.SearchStrategy[dict]:
    """Objects with some of `names` and any values, good ones among them."""
    good = leg("a") | {"started_at": "2026-06-01T00:00:00Z", "finished_at": "2026-06-01T00:00:01Z"}
    values = {name: JSON | st.just(good.get(name)) for name in names}
    return st.fixed_dictionaries({}, optional=values)


def decode(data: bytes, content_type: str, reader=leg_batch, encoding: str | None = None) -> object:
    """The batch, or None where the body is refused."""
    body = Body(data=data, content_type=content_type, encoding=encoding)
    try:
        return reader(body, ORIGIN, LIMITS)
    except MeteringError:
        return None


@pytest.mark.parametrize("content_type", [ARROW, NDJSON, EVENT, EVENTS])
@pytest.mark.parametrize("encoding", [None, "gzip", "zstd"])
@settings(max_examples=30)
@given(data=st.binary(max_size=200))
def test_any_bytes(content_type: str, encoding: str | None, data: bytes) -> None:
    """Typed errors only."""
    decode(data, content_type, encoding=encoding)


@pytest.mark.parametrize("good", [GOOD_ARROW, GOOD_DICTIONARY], ids=["plain", "dictionary"])
@settings(max_examples=300)
@given(place=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255), cut=st.booleans())
def test_a_damaged_arrow_stream(good: bytes, place: float, bits: int, *, cut: bool) -> None:
    """One byte flipped, or the rest missing: refused, or rows that the store judges."""
    data, at = bytearray(good), int(place * len(good))
    data[at] ^= bits
    read = decode(bytes(data[:at] if cut else data), ARROW)
    if read is not None:
        store = open_store(None)
        send(store, read)
        store.close()


@settings(max_examples=200)
@given(lines=st.lists(objects([f.name for f in LEG_FIELDS] + ["request_id", "x"]), max_size=4))
def test_any_legs(lines: list[dict]) -> None:
    """Each line is a row or a refused record with field and reason; the store takes all of it."""
    body = "\n".join(json.dumps(line) for line in lines).encode()
    read = decode(body, NDJSON)
    assert read.records == len(lines)
    assert all(refused.field and refused.reason for refused in read.refused)
    store = open_store(None)
    [answer] = send(store, batch(table=read.table, foreign=read.foreign, refused=read.refused))
    assert answer.rejected >= len(read.refused)
    store.close()


@settings(max_examples=100)
@given(events=st.lists(objects(["id", "source", "type", "specversion", "data", "time"])))
def test_any_events(events: list[dict]) -> None:
    """As many records as events."""
    read = decode(json.dumps(events).encode(), EVENTS)
    assert read is None or read.records == len(events)


@settings(max_examples=100)
@given(lines=st.lists(objects([f.name for f in SAMPLE_FIELDS]), max_size=4))
def test_any_samples_and_rejects(lines: list[dict]) -> None:
    """As many records as lines."""
    body = "\n".join(json.dumps(line) for line in lines).encode()
    for reader in (partial(decode, reader=sample_batch), partial(decode, reader=reject_batch)):
        assert reader(body, NDJSON).records == len(lines)


@pytest.mark.parametrize("name", [b"UTC", b"tenant_id", b"tokentill.schema_version"])
def test_bytes_of_the_schema_that_are_no_text(name: bytes) -> None:
    """A zone, a column or a key whose first byte is no UTF-8: refused, in words."""
    broken = GOOD_ARROW.replace(name, b"\xd5" + name[1:])
    assert broken != GOOD_ARROW
    assert decode(broken, ARROW) is None
