"""What a few lines tell of an engine's flags."""

import json
from pathlib import Path
from typing import Any

import pytest

from metering.sources import engine_flags
from metering.sources.engine_flags import findings
from metering.sources.record import NodeIdentity

PROMPTS, LABELS, METRICS, LORA = (
    engine_flags.PROMPTS,
    engine_flags.LABELS,
    engine_flags.METRICS,
    engine_flags.LORA,
)


def node(stage: str) -> NodeIdentity:
    return NodeIdentity(node_id="n1", stage=stage, model_id="m")


def lines(shared: Path, name: str) -> list[bytes]:
    return (shared / "data" / name).read_bytes().splitlines()


@pytest.mark.parametrize("stage", ["prefill", "decode", "unified"])
def test_the_samples_lack_only_the_prompt_flag(shared: Path, stage: str) -> None:
    """They were made with metrics and labels, and without request logging."""
    told = findings(
        "sglang_export", lines(shared, f"engines/sglang_{stage}_export.jsonl"), node(stage)
    )
    assert told == [PROMPTS]


def test_level_1_drops_prompts(shared: Path) -> None:
    """--log-requests --log-requests-level 1: nothing is missing."""
    sample = lines(shared, "engines/sglang_prefill_export_loglevel1.jsonl")
    assert findings("sglang_export", sample, node("prefill")) == []


def test_a_real_log_without_labels(shared: Path) -> None:
    """The captured server had no labels configured."""
    name = "real_engine/sglang/exporter/sglang-request-metrics-20261130_14.log"
    assert findings("sglang_export", lines(shared, name), node("unified")) == [PROMPTS, LABELS]


@pytest.mark.parametrize(
    ("folder", "real", "configured"),
    [
        ("exporter_prefill", "prefill", "decode"),
        ("exporter_decode", "decode", "unified"),
        ("exporter", "unified", "prefill"),
    ],
)
def test_a_wrong_role_is_seen(shared: Path, folder: str, real: str, configured: str) -> None:
    """A wrong stage in the configuration bills prompts twice or never; it comes first."""
    name = f"real_engine/sglang/{folder}/sglang-request-metrics-20261130_14.log"
    first = findings("sglang_export", lines(shared, name), node(configured))[0]
    assert (first.flag, first.severity) == ("--disaggregation-mode", "wrong")
    assert f'"{real}"' in first.remedy


def sglang(parameters: dict[str, Any], **meta: Any) -> bytes:
    inner = {"custom_labels": {"tenant": "a"}} | parameters
    base = {"prompt_tokens": 5, "completion_tokens": 5, "finish_reason": {"type": "stop"}}
    times = {"request_received_ts": 1.5, "e2e_latency": 1.0}
    return json.dumps({"request_parameters": json.dumps(inner)} | base | times | meta).encode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (sglang({}), []),
        (sglang({}, request_received_ts=None), [METRICS]),
        (sglang({"lora_id": "b0"}), [LORA]),
        (sglang({"lora_id": "b0", "lora_path": "x"}), []),
        (sglang({}, total_retractions=0), [engine_flags.OLD_CACHE_COUNT]),
    ],
)
def test_each_flag(line: bytes, expected: list[engine_flags.Finding]) -> None:
    """One line is enough to tell."""
    assert findings("sglang_export", [line, b"{torn", b""], node("unified")) == expected


def test_usage_blocks_of_a_proxy() -> None:
    """No details block and no block at all, in answers that came to their end."""
    block = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": None}
    silent = [{"complete": True, "usage": block}, {"complete": True}, {"complete": False}]
    told = findings("openai_usage", [json.dumps(r).encode() for r in silent], node("gateway"))
    assert told == [engine_flags.CACHE_REPORT, engine_flags.STREAM_USAGE]


def test_versions_of_vllm_that_say_less() -> None:
    """Without ids nothing joins; without n samples are requests."""
    assert findings("vllm_stats", [b'{"v": 1, "request_id": "r", "n": 1}'], node("unified")) == []
    told = findings("vllm_stats", [b'{"v": 1}'], node("unified"))
    assert told == [engine_flags.VLLM_IDS, engine_flags.VLLM_CALLS]


def test_beams_that_came_as_requests() -> None:
    """An id of a beam in a line of its own: this vLLM's beam search was not watched."""
    line = b'{"v": 1, "request_id": "cmpl-a-0123456789abcdef-beam-2", "n": 1}'
    assert findings("vllm_stats", [line], node("unified")) == [engine_flags.VLLM_BEAMS]


def test_nothing_readable_tells_nothing() -> None:
    """No lines, torn lines, formats without flags."""
    assert findings("sglang_export", [b"{", b"[]", b"\xff"], node("unified")) == []
    assert findings("litellm", [b"{}"], node("gateway")) == []
