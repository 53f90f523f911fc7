"""The usage file (docs/engines/gateways.md)."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.errors import UsageInvalid
from metering.sources import parse_line
from metering.sources.record import NodeIdentity, Row
from metering.sources.usage_ndjson import is_foreign, parse_followed, read_usage, usage_row
from metering.usage import COUNT_MAX, event_id
from metering.wire import to_batch

# The example line of docs/engines/gateways.md, as a prefill leg.
EXAMPLE: dict[str, Any] = {
    "request_id": "r1",
    "stage": "prefill",
    "node_id": "p1",
    "tenant_id": "t-alder",
    "project_id": "search",
    "model_id": "glm-5.2",
    "started_at": "2026-08-20T01:02:03.000004Z",
    "finished_at": "2026-08-20T01:02:04.5Z",
    "input_tokens": 2110,
    "cached_input_tokens": 2048,
    "output_tokens": 1,
    "status": "ok",
}


def record(**changes: Any) -> bytes:
    """The example with changes; a key set to ... is left out."""
    kept = {name: value for name, value in (EXAMPLE | changes).items() if value is not ...}
    return json.dumps(kept).encode()


def refused(line: bytes) -> UsageInvalid:
    with pytest.raises(UsageInvalid) as caught:
        usage_row(line, "f:1")
    return caught.value


def test_the_example_of_the_contract() -> None:
    """request_id becomes join_key; the id is that of the line's bytes; times are UTC."""
    row = usage_row(record(), "f:1")
    assert row is not None
    assert row["join_key"] == "r1"
    assert row["event_id"] == event_id("usage_ndjson", record())
    assert row["started_at"] == datetime(2026, 8, 20, 1, 2, 3, 4, tzinfo=UTC)
    assert row["finished_at"] == datetime(2026, 8, 20, 1, 2, 4, 500_000, tzinfo=UTC)
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (
        2110,
        2048,
        1,
    )
    assert (row["source"], row["source_position"]) == ("usage_ndjson", "f:1")


def test_a_missing_count_is_unknown_and_a_zero_is_a_zero() -> None:
    """V2: null and absent are NULL, an explicit 0 stays."""
    row = usage_row(record(cached_input_tokens=None, output_tokens=0, input_tokens=...), "f:1")
    assert row is not None
    assert row.get("cached_input_tokens") is None
    assert row.get("input_tokens") is None
    assert row["output_tokens"] == 0


def test_an_offset_is_converted() -> None:
    """09:02:03 in Shanghai is 01:02:03 UTC."""
    row = usage_row(record(started_at="2026-08-20T09:02:03+08:00"), "f:1")
    assert row is not None
    assert row["started_at"] == datetime(2026, 8, 20, 1, 2, 3, tzinfo=UTC)


def test_below_a_microsecond_is_rounded_down() -> None:
    """docs/wire.md, finished_at: rounded down to µs."""
    row = usage_row(record(started_at="2026-08-20T01:02:03.9999999Z"), "f:1")
    assert row is not None
    assert row["started_at"] == datetime(2026, 8, 20, 1, 2, 3, 999_999, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("status", {"status": "done"}),
        ("status", {"status": ...}),
        ("stage", {"stage": "both"}),
        ("stage", {"stage": None}),
        ("model_id", {"model_id": ""}),
        ("started_at", {"started_at": ...}),
        ("started_at", {"started_at": "2026-08-20T01:02:03"}),
        ("started_at", {"started_at": 1787187723.0}),
        ("finished_at", {"finished_at": "yesterday"}),
        ("finished_at", {"finished_at": "0001-01-01T00:00:00+10:00"}),
        ("input_tokens", {"input_tokens": -1}),
        ("input_tokens", {"input_tokens": 1.5}),
        ("input_tokens", {"input_tokens": 2110.0}),
        ("input_tokens", {"input_tokens": "2110"}),
        ("input_tokens", {"input_tokens": True}),
        ("output_tokens", {"output_tokens": COUNT_MAX + 1}),
        ("output_tokens", {"output_tokens": 10**40}),
        ("cached_by_tier.device", {"cached_by_tier": {"device": -1}}),
        ("inputtokens", {"inputtokens": 5}),
        ("schema_version", {"schema_version": 2}),
        ("schema_version", {"schema_version": "1"}),
        ("request_id", {"join_key": "r2"}),
        ("ttft_seconds", {"ttft_seconds": "fast"}),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(field: str, changes: dict[str, Any]) -> None:
    """Refused with the field that makes it unreadable (docs/engines/gateways.md)."""
    refusal = refused(record(**changes))
    assert refusal.field == field
    assert refusal.reason


def test_the_largest_count_is_accepted() -> None:
    """The limit of 10^12 tokens itself is readable."""
    row = usage_row(record(input_tokens=COUNT_MAX, schema_version=1), "f:1")
    assert row is not None
    assert row["input_tokens"] == COUNT_MAX


def test_a_sender_may_choose_the_id() -> None:
    """Its id is kept and the row is told apart as foreign."""
    row = usage_row(record(event_id="e-1"), "f:1")
    assert row is not None
    assert row["event_id"] == "e-1"
    assert is_foreign(row)
    assert to_batch([row])["event_id"].to_pylist() == ["e-1"]


def test_identical_lines_with_an_id_are_one_leg() -> None:
    """A copied line repeats its event_id; two different lines do not share one."""
    ids = [
        line.row["event_id"]
        for line in read_usage([record(), record(), record(stage="decode")], "f")
        if line.row
    ]
    assert ids[0] == ids[1] != ids[2]


def test_identical_lines_without_any_id_are_different_legs() -> None:
    """The ordinal among identical lines tells them apart, and a second reading repeats the ids."""
    lines = [record(request_id=...)] * 3
    ids = [[line.row["event_id"] for line in read_usage(lines, "f") if line.row] for _ in range(2)]
    assert len(set(ids[0])) == 3
    assert ids[0] == ids[1]


def test_reading_a_file_goes_on_after_a_bad_line() -> None:
    """Numbers count from 1; empty lines are no lines of usage."""
    lines = list(read_usage([b"\n", record() + b"\r\n", b"{torn\n", record()], "f"))
    assert [(line.number, line.row is not None) for line in lines] == [
        (2, True),
        (3, False),
        (4, True),
    ]
    assert lines[1].refusal is not None
    assert lines[1].refusal.field == "record"


def test_the_node_fills_what_the_line_leaves_open() -> None:
    """A sidecar's line without node, pool and region gets those of its configuration."""
    node = NodeIdentity(node_id="n9", stage="prefill", model_id="m", pool="a", region="cn-1")
    row = parse_line("usage_ndjson", record(node_id=...), node, "f:1")
    assert row is not None
    assert (row["node_id"], row["pool"], row["region"]) == ("n9", "a", "cn-1")


def test_embeddings_have_no_output() -> None:
    """docs/pd-accounting.md, trap 12: for embedding, rerank and score output_tokens is 0."""
    row = usage_row(record(operation="embedding", output_tokens=...), "f:1")
    assert row is not None
    assert row["output_tokens"] == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def outcome(line: bytes) -> Row | UsageInvalid | None:
    """The row, or the refusal; any other exception fails the test."""
    try:
        return usage_row(line, "f:1")
    except UsageInvalid as refusal:
        return refusal


@given(st.dictionaries(st.sampled_from([*EXAMPLE, "labels", "cached_by_tier"]), JSON))
def test_any_value_is_read_or_refused(changes: dict[str, Any]) -> None:
    """Never another exception, never a row that Arrow cannot hold."""
    result = outcome(record(**changes))
    if isinstance(result, UsageInvalid):
        assert result.field
    else:
        assert result is not None
        to_batch([result])


@given(st.binary())
def test_any_bytes_are_read_or_refused(line: bytes) -> None:
    """Random input is refused, or empty."""
    result = outcome(line)
    assert result is None or isinstance(result, UsageInvalid)


@pytest.mark.parametrize("name", ["event_id", "request_id", "engine_request_id"])
def test_a_followed_file_needs_one_id(name: str) -> None:
    """Whoever goes on in the middle of a file cannot count identical lines: an id must be there."""
    node = NodeIdentity(node_id="p1", stage="prefill", model_id="glm-5.2")
    with pytest.raises(UsageInvalid, match="tokentill import usage_ndjson"):
        parse_followed(record(request_id=...), node, "f:0")
    one_id = record(**({"request_id": ...} | {name: "x1"}))
    assert parse_followed(one_id, node, "f:0") is not None
