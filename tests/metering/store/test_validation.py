"""Which rows are rejected, with which field and reason (docs/wire.md, Bounds)."""

import math
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from metering.store.batches import Refused
from metering.store.connect import Store
from metering.store.judge import RANGES_MAX, lookup_ranges
from metering.store.sql_text import read_sql
from metering.usage import COUNT_FIELDS, LEG_FIELDS, Stage, Status
from tests.metering.store.leg_rows import NOW, at, batch, counts, leg, rows, send


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("stage", None, "expected one of prefill, decode, unified, gateway, got nothing"),
        ("stage", "encode", "got encode"),
        ("status", None, "expected one of ok, aborted, error, rejected, warmup, got nothing"),
        ("status", "OK", "got OK"),
        ("model_id", None, "missing"),
        ("model_id", "", "missing"),
        ("started_at", None, "missing"),
        ("finished_at", None, "missing"),
        ("finished_at", datetime(1969, 12, 31, tzinfo=UTC), "years 1970 to 9999"),
        ("event_id", None, "missing"),
        ("event_id", "evt-1", "expected 32 hex digits, got evt-1"),
        ("event_id", "g" * 32, "expected 32 hex digits"),
        ("event_id", "{0123456789abcdef0123456789abcd}", "expected 32 hex digits"),
        ("finished_at", at(48 * 3600 + 1), "more than 48 hours ahead"),
        ("started_at", at(48 * 3600 + 1), "more than 48 hours ahead"),
        ("started_at", at(-400 * 86400 - 1), "more than 400 days back"),
        ("tenant_id", "x" * 513, "at most 512 characters"),
        ("labels", {str(n): "" for n in range(33)}, "at most 32"),
        ("labels", {"a": "x" * 513}, "512"),
        ("cached_by_tier", {"device": -1}, "10^12"),
        ("input_by_class", {"image": 10**12 + 1}, "10^12"),
        *((name, -1, "must lie in 0..10^12, got -1") for name in COUNT_FIELDS),
        *((name, 10**12 + 1, "got 1000000000001") for name in COUNT_FIELDS),
        *(
            (f.name, "é" * 513, "at most 512 characters")
            for f in LEG_FIELDS
            if f.kind == "text" and f.name not in {"event_id", "stage", "status"}
        ),
    ],
)
def test_a_rejected_row_names_field_and_reason(
    store: Store, field: str, value: object, says: str
) -> None:
    """Each rule of the contract, by name of its field; the good row beside it is stored."""
    [answer] = send(store, batch(leg("good"), leg("bad", **{field: value})))
    assert counts(answer) == (1, 0, 0, 0, 1)
    [record] = answer.records
    assert (record.index, record.outcome, record.field) == (1, "rejected", field)
    assert says in record.reason
    assert rows(store, "SELECT field, kind FROM quarantine") == [(field, "rejected")]


@pytest.mark.parametrize(
    "change",
    [
        dict.fromkeys(COUNT_FIELDS, 0),
        dict.fromkeys(COUNT_FIELDS, 10**12),
        dict.fromkeys(COUNT_FIELDS),
        {"cached_input_tokens": 4096, "input_tokens": 2110},
        {"started_at": at(5)},
        {"finished_at": at(48 * 3600)},
        {"started_at": at(-400 * 86400)},
        {"tenant_id": "nobody knows me", "model_id": "nor me", "operation": "nor this"},
        {"tenant_id": "界" * 512},
        {"labels": {}, "cached_by_tier": {"device": 0}, "input_by_class": {}},
        {"event_id": "ABCDEF0123456789ABCDEF0123456789"},
    ],
    ids=str,
)
def test_what_is_odd_but_readable_is_stored(store: Store, change: dict[str, object]) -> None:
    """Contract §1: contradictions are flags, unknown ids are stored, an explicit 0 is a 0."""
    assert counts(send(store, batch(leg("a", **change)))[0]) == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_no_number_is_unknown(store: Store, bad: float) -> None:
    """V2: one NaN would make every sum of its hour NaN; unknown is NULL."""
    send(store, batch(leg("a", queue_seconds=bad, e2e_seconds=0.5)))
    assert rows(store, "SELECT queue_seconds, e2e_seconds FROM leg") == [(None, 0.5)]


def test_an_empty_name_is_no_name(store: Store) -> None:
    """An empty label means that nobody was named; an empty join key would tie strangers."""
    send(store, batch(leg("a", tenant_id="", join_key="", stage="prefill", group_id="")))
    assert rows(store, "SELECT tenant_id, join_key, group_id, key_hash FROM leg") == [(None,) * 4]


def test_import_and_rate_read_no_clock(store: Store) -> None:
    """Contract §1: the bounds of 48 h and 400 days hold at ingest only."""
    old = leg("a", started_at=datetime(2001, 1, 1, tzinfo=UTC))
    new = leg("b", finished_at=datetime(2099, 1, 1, tzinfo=UTC))
    assert counts(send(store, batch(old, new), check_clock=None)[0]) == (2, 0, 0, 0, 0)


def test_the_sql_names_every_stage_and_status() -> None:
    """metering.usage defines them; the SQL repeats them."""
    text = read_sql("metering.store", "leg_verdict")
    for name in (*Stage, *Status):
        assert f"'{name}'" in text


def test_refused_records_keep_their_places(store: Store) -> None:
    """Line 1 of three could not be decoded: the rows beside it are records 0 and 2."""
    refused = (Refused(index=1, field="record", reason="not JSON", record="{oops"),)
    sent = batch(leg("a"), leg("b", stage="x"), refused=refused, places=pa.array([0, 2]))
    [answer] = send(store, sent)
    assert counts(answer) == (1, 0, 0, 0, 2)
    assert [(r.index, r.field) for r in answer.records] == [(1, "record"), (2, "stage")]
    assert ("{oops",) in rows(store, "SELECT record FROM quarantine")


def test_answers_list_at_most_a_thousand_records(store: Store) -> None:
    """The counts are complete all the same."""
    bad = batch(*(leg(str(n), stage="x") for n in range(1200)))
    good, answer = send(store, batch(leg("a")), bad)
    assert (counts(good), counts(answer)) == ((1, 0, 0, 0, 0), (0, 0, 0, 0, 1200))
    assert [r.index for r in answer.records] == list(range(1000))


def test_the_watermark_moves_without_a_row(store: Store) -> None:
    """Contract §2: an empty batch says that all lines before its watermark have been sent."""
    said = {"node": "p1", "stage": "prefill", "pool": "main", "watermark_at": at(-60)}
    assert counts(send(store, batch(**said))[0]) == (0, 0, 0, 0, 0)
    assert rows(store, "FROM node_watermark") == [
        ("p1", "prefill", "main", at(-60).replace(tzinfo=None), NOW.replace(tzinfo=None))
    ]


def test_lookups_are_bounded_and_disjoint() -> None:
    """100 days → at most 32 ranges that cover every row; two rows a minute apart → one."""
    day = timedelta(days=1)
    first = datetime(2026, 1, 1)  # noqa: DTZ001 - as the store returns it
    days = [((first + n * day).date(), first + n * day, first + n * day) for n in range(100)]
    ranges = lookup_ranges(days)
    assert len(ranges) <= RANGES_MAX
    assert all(any(low <= at <= high for low, high in ranges) for _, at, _ in days)
    near = [(first.date(), first, first), (first.date(), first + timedelta(seconds=60), first)]
    assert len(lookup_ranges(near)) == 1
