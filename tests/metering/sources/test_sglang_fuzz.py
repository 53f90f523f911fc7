"""Mutated and random lines: a row that Arrow can hold, or a refusal, never anything else."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.errors import UsageInvalid
from metering.sources import sglang_export
from metering.sources.record import NodeIdentity, Row, identified, utc
from metering.sources.sglang_meta import to_row
from metering.sources.sglang_tolerant import read_line
from metering.usage import COUNT_FIELDS, COUNT_MAX, UsageLeg
from metering.wire import to_batch

NODE = NodeIdentity(node_id="n1", stage="decode", model_id="m")
META: dict[str, Any] = {
    "id": "r1",
    "finish_reason": {"type": "stop", "matched": 2},
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "cached_tokens": 64,
    "cached_tokens_details": {"device": 64, "host": 0},
    "num_retractions": 0,
    "queue_time": 0.1,
    "first_token_latency": 0.2,
    "e2e_latency": 2.5,
    "request_received_ts": 1796046885.2004485,
    "request_finished_ts": 1796046887.7004485,
    "response_sent_to_client_ts": 1796046887.8,
}
PARAMETERS: dict[str, Any] = {
    "rid": "r1",
    "text": "a prompt",
    "stream": True,
    "sampling_params": {"n": 2, "max_new_tokens": 8},
    "custom_labels": {"tenant": "acme"},
    "bootstrap_host": "h",
    "bootstrap_port": 1,
    "bootstrap_room": 2**62,
    "received_time": 1.5,
    "lora_path": "l",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def read(record: bytes) -> Row | None:
    """The row, or None for a refusal; any other exception fails the test."""
    try:
        return sglang_export.parse(record, NODE, "f:0")
    except UsageInvalid as refusal:
        assert len(str(refusal)) < 500  # noqa: PT017 # a property of every refusal
        return None


def check(row: Row | None) -> None:
    """A row is whole: it makes a valid leg and Arrow holds it."""
    if row is None:
        return
    times = {name: utc(row[name]) for name in ("started_at", "finished_at")}
    UsageLeg(**row | times)
    to_batch([row])
    assert all(row[n] is None or 0 <= row[n] <= COUNT_MAX for n in COUNT_FIELDS if n in row)


@given(
    st.dictionaries(st.sampled_from(sorted(META)), JSON, max_size=3),
    st.dictionaries(st.sampled_from(sorted(PARAMETERS)), JSON, max_size=3),
)
def test_any_values(meta: dict[str, Any], parameters: dict[str, Any]) -> None:
    """Members of any type and size."""
    inner = json.dumps(PARAMETERS | parameters)
    check(read(json.dumps({"request_parameters": inner} | META | meta).encode()))


@given(st.binary(max_size=200))
def test_any_bytes(record: bytes) -> None:
    """Random bytes are no record."""
    assert read(record) is None


@given(st.data())
def test_any_damage(data: st.DataObject) -> None:
    """Bytes replaced, removed or put in at any place of a good line."""
    good = json.dumps({"request_parameters": json.dumps(PARAMETERS)} | META).encode()
    begin = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(begin, min(len(good), begin + 40)))
    check(read(good[:begin] + data.draw(st.binary(max_size=20)) + good[end:]))


@pytest.mark.parametrize("stage", ["prefill", "decode", "unified"])
def test_both_readers_agree(shared: Path, stage: str) -> None:
    """The typed decoder and the tolerant reader, which share no code, give the same rows."""
    node = NodeIdentity(node_id="n1", stage=stage, model_id="m")
    path = shared / f"data/engines/sglang_{stage}_export.jsonl"
    for record in path.read_bytes().splitlines():
        typed = sglang_export.parse(record, node, "f:0")
        row = to_row(*read_line(record), node)
        assert typed == identified(row, sglang_export.FORMAT, record, "f:0")


def test_every_cut_of_a_real_line(shared: Path) -> None:
    """A line cut at any place is refused: no half record."""
    path = shared / "data/engines/sglang_decode_export.jsonl"
    record = path.read_bytes().splitlines()[1]
    parse: Callable[[bytes], Row | None] = read
    assert all(parse(record[:size]) is None for size in range(1, len(record)))
