"""Nothing that could be a prompt leaves the node."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.sidecar.redact import redacted

PROMPT = "the patient's name is Miller"


def line(**parameters: object) -> bytes:
    inner = {"rid": "r1", "bootstrap_room": 7, "custom_labels": {"tenant": "t1"}} | parameters
    return json.dumps({"request_parameters": json.dumps(inner), "prompt_tokens": 5}).encode()


def test_ids_and_counts_stay() -> None:
    """By hand: rid, room, tenant and count are there; the text is a number of characters."""
    kept = json.loads(redacted(line(text=PROMPT, input_ids=[1, 2, 3])))
    inner = json.loads(kept["request_parameters"])
    assert (inner["rid"], inner["bootstrap_room"], kept["prompt_tokens"]) == ("r1", 7, 5)
    assert inner["custom_labels"] == {"tenant": "t1"}
    assert (inner["text"], inner["input_ids"]) == (
        "(28 characters withheld)",
        "(3 members withheld)",
    )


@given(st.integers(1, 200))
def test_a_torn_line_gives_away_no_text(cut: int) -> None:
    """Wherever the line is cut, no word of the prompt is in what remains."""
    text = redacted(line(text=PROMPT, messages=[{"role": "user", "content": PROMPT}])[:-cut])
    assert not {"patient", "Miller", "name is"} & set(text.replace('"', " ").split())
    assert PROMPT not in text


def test_a_torn_line_keeps_what_can_be_told_apart() -> None:
    """Enough to find the request: its id and its room."""
    told = json.loads(redacted(line(text=PROMPT)[:-5]))
    assert told["fragments"]["rid"] == "r1"
    assert told["fragments"]["bootstrap_room"] == "7"


@given(st.binary(max_size=300))
def test_any_bytes_become_bounded_json(record: bytes) -> None:
    """Never an exception, always one JSON text of at most 64 KiB."""
    text = redacted(record)
    assert len(text.encode()) <= 65_536
    json.loads(text)


def test_a_hundred_thousand_members_stay_bounded() -> None:
    """By hand: each member takes over 10 bytes, so the text is cut at 64 KiB."""
    record = json.dumps({f"key{number}": number for number in range(100_000)}).encode()
    assert len(redacted(record)) == 65_536


def test_a_huge_record_is_not_decoded() -> None:
    """2 MB of token ids would take a hundred times the memory as values."""
    record = b'{"rid": "r1", "input_ids": [' + b"1, " * 700_000 + b"1]}"
    assert json.loads(redacted(record)) == {
        "unreadable_bytes": len(record),
        "fragments": {"rid": "r1"},
    }


def test_deep_nesting_is_no_crash() -> None:
    """10,000 levels of lists are refused by the decoder, not by the stack."""
    assert "withheld" in redacted(b'{"a":' * 5 + b"[" * 10 + b"]" * 10 + b"}" * 5)
    assert "unreadable_bytes" in redacted(b"[" * 10_000)


@pytest.mark.parametrize("name", ["sglang_prefill_export.jsonl", "sglang_decode_export.jsonl"])
def test_real_lines_lose_their_prompts(shared: Path, name: str) -> None:
    """Lines of SGLang 0.5.23 with request logging off: input_ids and text go, the rid stays."""
    for record in (shared / "data/engines" / name).read_bytes().splitlines():
        inner = json.loads(json.loads(record)["request_parameters"])
        kept = json.loads(json.loads(redacted(record))["request_parameters"])
        assert kept["rid"] == inner["rid"]
        assert all("withheld" in str(kept[key]) for key in {"text", "input_ids"} & inner.keys())
