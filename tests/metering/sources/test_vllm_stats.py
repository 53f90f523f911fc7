"""Lines of the vLLM plug-in that its own tests cannot make (tests/plugins has the rest)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.errors import UsageInvalid
from metering.sources.record import NodeIdentity, Row
from metering.sources.vllm_stats import parse
from metering.usage import UsageLeg
from metering.wire import to_batch

NODE = NodeIdentity(node_id="p1", stage="prefill", model_id="m")
LINE: dict[str, Any] = {
    "v": 1,
    "seq": 1,
    "boot": "7-1",
    "version": "0.33.0",
    "model": "glm-5.2",
    "finished_at": 1796046485.30712,
    "request_id": "chatcmpl-9f1c0d2ab7c84d0e8a53c7b1d4e6f012",
    "finish_reason": "length",
    "prompt_tokens": 780,
    "cached_tokens": 768,
    "output_tokens": 1,
    "max_tokens": 1,
    "preemptions": 0,
    "n": 1,
    "e2e_seconds": 0.2,
    "queued_seconds": 0.01,
    "prefill_seconds": 0.15,
    "decode_seconds": 0.0,
}


def record(**changes: Any) -> bytes:
    return json.dumps(LINE | changes).encode()


def test_a_prefill_leg_of_a_pd_pair() -> None:
    """facts/real_engine.md: prefill 780 / 1; the join key is the external id, here vLLM's own."""
    row = parse(record(), NODE, "f:0")
    assert row is not None
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (780, 768, 1)
    assert row["join_key"] == LINE["request_id"]
    assert row["client_request_id"] is None
    assert row["engine_version"] == "0.33.0"


def test_a_request_that_was_never_scheduled() -> None:
    """vLLM subtracts a start from 0 then: such durations are unknown."""
    row = parse(
        record(finish_reason="abort", queued_seconds=-5123.4, prefill_seconds=-1.0), NODE, "f"
    )
    assert row is not None
    assert (row["status"], row["queue_seconds"], row["prefill_seconds"]) == ("aborted", None, None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"v": 2}, "v"),
        ({"finish_reason": "gone"}, "finish_reason"),
        ({"finish_reason": None}, "finish_reason"),
        ({"finished_at": None}, "finished_at"),
        ({"e2e_seconds": None}, "e2e_seconds"),
        ({"e2e_seconds": "x"}, "e2e_seconds"),
        ({"prompt_tokens": -1}, "prompt_tokens"),
        ({"output_tokens": 10**13}, "output_tokens"),
        ({"prompt_tokens": 1.5}, "record"),
    ],
)
def test_what_cannot_be_read_is_refused(changes: dict[str, Any], field: str) -> None:
    """By name, with a reason."""
    with pytest.raises(UsageInvalid) as refusal:
        parse(record(**changes), NODE, "f:0")
    assert refusal.value.field == field


def outcome(line: bytes) -> Row | None:
    """The row, or None for a refusal; any other exception fails the test."""
    try:
        return parse(line, NODE, "f:0")
    except UsageInvalid:
        return None


JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@given(st.dictionaries(st.sampled_from(sorted(LINE)), JSON, max_size=3))
def test_any_values(changes: dict[str, Any]) -> None:
    """A whole row or a refusal."""
    row = outcome(record(**changes))
    if row is not None:
        UsageLeg(**row)
        to_batch([row])


@given(st.binary(max_size=100))
def test_any_bytes(line: bytes) -> None:
    """Random bytes are no record."""
    assert outcome(line) is None


def test_every_cut_is_refused() -> None:
    """No half record."""
    assert all(outcome(record()[:size]) is None for size in range(1, len(record())))
