"""Usage blocks and streams of every dialect."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.errors import UsageInvalid
from metering.sources.usage_block import Usage, read_usage_block
from metering.sources.usage_stream import Answer, usage_of_answer


def counts(usage: Usage | None) -> tuple[int | None, ...]:
    """Input, cached, output, reasoning."""
    assert usage is not None
    return (
        usage.input_tokens,
        usage.cached_input_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sglang_cache_report_on", (4211, 3072, 318, 0)),
        ("sglang_cache_report_off", (4211, None, 318, 0)),
        ("sglang_reasoning", (900, 896, 1024, 850)),
        ("sglang_multimodal", (1200, 0, 60, 0)),
        ("vllm_default", (4211, None, 318, None)),
        ("vllm_prompt_tokens_details_on", (4211, 3072, 318, None)),
        ("vllm_reasoning", (900, 896, 1024, 850)),
        ("vllm_pd_decode_mooncake_all_cached", (4211, 4211, 318, None)),
        # Anthropic's input excludes what was cached: 1139 + 3072 = 4211
        ("anthropic_sglang", (4211, 3072, 318, None)),
    ],
)
def test_engine_variants(shared: Path, name: str, expected: tuple[int | None, ...]) -> None:
    """By hand from data/engines/usage_variants.json: null and absent are unknown, 0 is 0."""
    variants = json.loads((shared / "data/engines/usage_variants.json").read_text())
    assert counts(read_usage_block(variants[name])) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        # DeepSeek: the prompt is its hits and misses
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 5,
                "prompt_cache_hit_tokens": 64,
                "prompt_cache_miss_tokens": 36,
            },
            (100, 64, 5, None),
        ),
        # Moonshot: cached_tokens beside the prompt
        ({"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 64}, (100, 64, 5, None)),
        # Bedrock: 10 + 20 read + 30 written
        (
            {
                "inputTokens": 10,
                "outputTokens": 5,
                "cacheReadInputTokens": 20,
                "cacheWriteInputTokens": 30,
            },
            (60, 20, 5, None),
        ),
        # Gemini: thoughts are output beside the candidates
        (
            {"promptTokenCount": 9, "candidatesTokenCount": 4, "thoughtsTokenCount": 3},
            (9, None, 7, 3),
        ),
        # Embeddings have no completion
        ({"prompt_tokens": 6, "total_tokens": 6}, (6, None, None, None)),
    ],
)
def test_other_dialects(block: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    """By hand from each API's description."""
    assert counts(read_usage_block(block)) == expected


def test_anthropic_cache_writes() -> None:
    """13 plain + 20 read + 30 written, of which 10 for an hour: 63 in."""
    usage = read_usage_block(
        {
            "input_tokens": 13,
            "output_tokens": 4,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_1h_input_tokens": 10, "ephemeral_5m_input_tokens": 20},
        }
    )
    assert usage is not None
    assert (usage.input_tokens, usage.cache_write_tokens, usage.cache_write_1h_tokens) == (
        63,
        30,
        10,
    )


def bodies(shared: Path) -> list[dict[str, Any]]:
    packed = (shared / "data/prices/usage_bodies.json.gz").read_bytes()
    return list(json.loads(gzip.decompress(packed)))


def test_real_response_bodies_agree_with_an_independent_library(shared: Path) -> None:
    """827 real bodies against what genai-prices derives from them, class by class.

    12 bodies are Cohere's, a dialect that we refuse; 17 are Mistral's with num_cached_tokens, which
    genai-prices passes over.
    """
    refused, more_cached, equal = 0, 0, 0
    for entry in bodies(shared):
        body = entry["body"]
        block = next(body[name] for name in ("usage", "usageMetadata", "meta") if name in body)
        if "tokens" in block or "billed_units" in block:
            refused += 1
            continue
        usage = read_usage_block(block)
        expected = max((e["usage"] for e in entry["extracted"]), key=len, default={})
        names = ("input_tokens", "cache_read_tokens", "output_tokens", "output_reasoning_tokens")
        theirs = tuple(expected.get(name) or 0 for name in names)
        ours = tuple(count or 0 for count in counts(usage))
        more_cached += "num_cached_tokens" in block and ours != theirs
        equal += ours == theirs
    assert (refused, more_cached, equal) == (12, 17, 798)


@pytest.mark.parametrize(
    ("name", "expected", "response_id"),
    [
        ("openai_stream", (4211, 3072, 318, 0), "req-01JABCDEF"),
        # continuous usage is cumulative: the last block, not the sum
        ("openai_stream_continuous_usage", (900, 896, 1024, 850), "req-01JRETR"),
        ("openai_stream_n2_no_cache_report", (58, None, 22, 0), "5f0c1e4b8e0f4a7f9d0b8a6c4e2d1f00"),
    ],
)
@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_streams(
    shared: Path, name: str, expected: tuple[int | None, ...], response_id: str, piece: int
) -> None:
    """Real SGLang streams, fed in pieces of any size."""
    body = (shared / f"data/engines/{name}.sse").read_bytes()
    answer = Answer(streams=True)
    for start in range(0, len(body), piece):
        answer.feed(body[start : start + piece])
    answer.close()
    assert counts(answer.usage()) == expected
    assert (answer.complete, answer.failed, answer.response_id) == (True, False, response_id)


def test_a_stream_without_usage(shared: Path) -> None:
    """Complete, and silent: unknown, not 0."""
    answer = Answer(streams=True)
    answer.feed((shared / "data/engines/openai_stream_no_usage.sse").read_bytes())
    answer.close()
    assert answer.usage() is None
    assert answer.complete


def test_a_stream_cut_with_running_usage() -> None:
    """n=2, cut: the prompt once, the last output of each choice added: 3 + 5."""
    answer = Answer(streams=True)
    for index, output in ((0, 1), (1, 2), (0, 3), (1, 5)):
        block = {"prompt_tokens": 24, "completion_tokens": output}
        event = {"id": "a", "choices": [{"index": index}], "usage": block}
        answer.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    answer.close()
    assert counts(answer.usage()) == (24, None, 8, None)
    assert not answer.complete


def test_an_anthropic_stream() -> None:
    """message_start states the input, message_delta the output; the last delta stands."""
    answer = Answer(streams=True)
    events = [
        {
            "type": "message_start",
            "message": {
                "id": "m1",
                "model": "glm",
                "usage": {"input_tokens": 13, "cache_read_input_tokens": 448, "output_tokens": 1},
            },
        },
        {"type": "message_delta", "usage": {"output_tokens": 20}},
        {"type": "message_delta", "usage": {"output_tokens": 42}},
        {"type": "message_stop"},
    ]
    for event in events:
        answer.feed(b"event: x\ndata: " + json.dumps(event).encode() + b"\n\n")
    answer.close()
    assert counts(answer.usage()) == (461, 448, 42, None)
    assert (answer.complete, answer.response_id, answer.model) == (True, "m1", "glm")


def test_a_responses_stream() -> None:
    """OpenAI responses: usage stands in the response of the last event."""
    answer = Answer(streams=True)
    block = {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 8}}
    done = {"type": "response.completed", "response": {"id": "resp_1", "usage": block}}
    answer.feed(b"data: " + json.dumps(done).encode() + b"\n\n")
    answer.close()
    assert counts(answer.usage()) == (9, 8, 4, None)
    assert answer.complete


def test_a_stream_that_broke() -> None:
    """A killed vLLM ends its stream with an error event and [DONE], without usage."""
    answer = Answer(streams=True)
    answer.feed(b'data: {"error": {"code": 500}}\n\ndata: [DONE]\n\n')
    answer.close()
    assert answer.failed
    assert answer.usage() is None


def test_real_answers_of_vllm_add_up(shared: Path) -> None:
    """facts/real_engine.md: usage of plain/ sums to 12,053 in, 8,416 cached, 437 out."""
    total = [0, 0, 0]
    with (shared / "data/real_engine/plain/cases.jsonl").open() as cases:
        for case in cases:
            for response in json.loads(case)["responses"]:
                body = response.get("body") or ""
                streams = body.startswith(("data:", "event:"))
                usage = usage_of_answer(body.encode(), streams=streams)
                if usage is not None:
                    for place, count in enumerate(counts(usage)[:3]):
                        total[place] += count or 0
    assert total == [12_053, 8_416, 437]


@pytest.mark.parametrize(
    ("block", "field"),
    [
        ([], "usage"),
        ({"tokens": 3}, "usage"),
        ({"prompt_tokens": -1}, "prompt_tokens"),
        ({"prompt_tokens": 1.5}, "prompt_tokens"),
        (
            {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": "8"}},
            "prompt_tokens_details.cached_tokens",
        ),
    ],
)
def test_blocks_that_cannot_be_read(block: object, field: str) -> None:
    """Refused by name."""
    with pytest.raises(UsageInvalid) as refusal:
        read_usage_block(block)
    assert refusal.value.field == field


def test_null_is_no_block() -> None:
    """usage: null says nothing."""
    assert read_usage_block(None) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "usage",
                    "id",
                    "type",
                    "choices",
                    "index",
                    "response",
                    "message",
                    "prompt_tokens",
                    "input_tokens",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@given(st.lists(JSON, max_size=4), st.booleans())
def test_any_events(events: list[Any], streams: bool) -> None:  # noqa: FBT001 # drawn
    """A usage or a refusal, never another exception."""
    body = b"".join(b"data: " + json.dumps(e).encode() + b"\n" for e in events)
    try:
        usage_of_answer(body if streams else body[6:], streams=streams)
    except UsageInvalid as refusal:
        assert refusal.field  # noqa: PT017 # a property of every refusal


@given(st.binary(), st.booleans())
def test_any_body(body: bytes, streams: bool) -> None:  # noqa: FBT001 # drawn
    """Random bytes state no usage."""
    assert usage_of_answer(body, streams=streams) is None
