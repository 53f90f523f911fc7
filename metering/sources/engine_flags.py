"""What the lines of an engine tell of its flags: which are missing, and what each costs.

Pure: from a few recent lines and what the configuration says of the node. `tokentill sidecar check`
prints the result; docs/engines/ explains every flag.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from metering.sources import openai_usage, sglang_export, vllm_stats
from metering.sources.record import NodeIdentity
from metering.sources.sglang_status import WARMUP_HOST
from metering.usage import Stage

Severity = Literal["wrong", "incomplete", "advice"]

_FIRST_VERSION_WITH_NUM_RETRACTIONS: Final = "0.5.13"


class Finding(NamedTuple):
    """severity: wrong (bills come out wrong), incomplete (something stays unknown), advice."""

    flag: str
    severity: Severity
    cost: str
    remedy: str


METRICS: Final = Finding(
    "--enable-metrics",
    "incomplete",
    "starts are taken from the answer minus its latency, on streams up to their decode time early; "
    "queue, prefill and first-token times are unknown; without /metrics nothing can be reconciled",
    "start SGLang with --enable-metrics",
)
PROMPTS: Final = Finding(
    "--log-requests --log-requests-level 1",
    "advice",
    "the export file holds every prompt: disk and privacy on the node (prompts never leave it)",
    "start SGLang with --log-requests --log-requests-level 1 (a LoRA then keeps only its id)",
)
LABELS: Final = Finding(
    "--tokenizer-metrics-allowed-custom-labels",
    "incomplete",
    "no line carries labels: all usage is unattributed unless a gateway record names its owner",
    "start SGLang with --tokenizer-metrics-custom-labels-header x-custom-labels "
    "--tokenizer-metrics-allowed-custom-labels tenant project api_key_id, and let the gateway set "
    "the header",
)
LORA: Final = Finding(
    "--log-requests-level",
    "incomplete",
    "lora_path is dropped by level 0 and 1: adapters are billed as MODEL:LORA_ID, and the ids "
    "differ between engines",
    "leave request logging off, or use level 2 or 3 (which keep prompts in the file)",
)
OLD_CACHE_COUNT: Final = Finding(
    "SGLang " + _FIRST_VERSION_WITH_NUM_RETRACTIONS,
    "advice",
    "this version may add prefill's and decode's cached tokens on the decode node, and count more "
    "than the prompt after a retraction; the prefill leg's count is billed where there is one",
    f"update to SGLang {_FIRST_VERSION_WITH_NUM_RETRACTIONS} or later before using trust_decode",
)
CACHE_REPORT: Final = Finding(
    "--enable-cache-report (SGLang), --enable-prompt-tokens-details (vLLM)",
    "wrong",
    "usage blocks carry no cached tokens: requests stay unpriced where cached input has its own "
    "price",
    "start the engine with the flag, or meter its file instead of the proxy",
)
STREAM_USAGE: Final = Finding(
    "--stream-response-default-include-usage (SGLang), --enable-force-include-usage (vLLM)",
    "wrong",
    "streams whose clients did not ask for usage end without it: their tokens are unknown",
    "start the engine with the flag, or let the gateway set stream_options.include_usage",
)
VLLM_CALLS: Final = Finding(
    "vLLM's n_params_iter",
    "wrong",
    "this version does not say which requests are samples of one call: with n > 1 the prompt is "
    "billed per sample",
    "update vLLM (0.33.0 says it), or refuse n > 1 at the gateway",
)
VLLM_IDS: Final = Finding(
    "vLLM's request ids",
    "wrong",
    "this version gives the plug-in no request ids: prefill and decode legs cannot be joined, and "
    "gateway records find no request",
    "update vLLM (0.33.0 gives them)",
)

VLLM_BEAMS: Final = Finding(
    "vLLM's beam search",
    "wrong",
    "the plug-in does not know this version's beam search: each beam is billed as a request",
    "refuse beam search at the gateway, or let the gateway bill (docs/policies.md)",
)
_BEAM: Final = re.compile(r"-[0-9a-f]{16,32}-beam-\d+\Z")


def findings(source_format: str, lines: Sequence[bytes], node: NodeIdentity) -> list[Finding]:
    """What `lines` of a source tell. Lines that cannot be read are passed over."""
    records = [record for line in lines if (record := _decoded(line)) is not None]
    check = _CHECKS.get(source_format)
    return check(records, node) if check is not None and records else []


def _sglang(records: Sequence[Mapping[str, Any]], node: NodeIdentity) -> list[Finding]:
    inner = [p for r in records if (p := _decoded(r.get("request_parameters"))) is not None]
    served = [p for p in inner if p.get("bootstrap_host") != WARMUP_HOST]
    generated = [p for p in served if "is_cross_encoder_request" not in p]
    finished = [r for r in records if r.get("prompt_tokens") is not None]
    lora = [p for p in served if p.get("lora_id") and not p.get("lora_path")]
    rules = (
        (METRICS, finished and all(r.get("request_received_ts") is None for r in finished)),
        (PROMPTS, any("text" in p or "input_ids" in p for p in served)),
        (LABELS, generated and not any(p.get("custom_labels") for p in generated)),
        (LORA, lora),
        (OLD_CACHE_COUNT, any("total_retractions" in r for r in records)),
    )
    told = [finding for finding, holds in rules if holds]
    role = role_of(records)
    if role is not None and role != node.stage:
        told.insert(0, _wrong_role(role, node))
    return told


def role_of(records: Sequence[Mapping[str, Any]]) -> str | None:
    """The role that SGLang's lines show; None where they do not tell.

    A prefill line ends after one token with length 0. A decode line of a pair has no prefill times
    although it ran. Only lines with a bootstrap room belong to a pair.
    """
    roles = {role for record in records if (role := _role(record)) is not None}
    return roles.pop() if len(roles) == 1 else None


def _role(record: Mapping[str, Any]) -> str | None:
    parameters = _decoded(record.get("request_parameters")) or {}
    reason = record.get("finish_reason")
    if not isinstance(reason, dict) or reason.get("type") not in ("stop", "length"):
        return None
    if record.get("completion_tokens") in (None, 0):
        return None
    if parameters.get("bootstrap_room") is None:
        return Stage.UNIFIED.value
    if reason == {"type": "length", "length": 0}:
        return Stage.PREFILL.value
    return Stage.DECODE.value


def _wrong_role(role: str, node: NodeIdentity) -> Finding:
    return Finding(
        "--disaggregation-mode",
        "wrong",
        f"the lines are those of a {role} engine, the configuration says {node.stage}: prompts "
        "would be billed twice or not at all",
        f'set stage = "{role}" for node {node.node_id}, or correct the engine\'s flag',
    )


def _usage_blocks(records: Sequence[Mapping[str, Any]], _node: NodeIdentity) -> list[Finding]:
    answered = [r for r in records if r.get("complete") and not r.get("failed")]
    blocks = [b for r in answered if isinstance(b := r.get("usage"), dict)]
    told = []
    if blocks and all("prompt_tokens" in b and not b.get("prompt_tokens_details") for b in blocks):
        told.append(CACHE_REPORT)
    if any(r.get("usage") is None and r.get("response") is None for r in answered):
        told.append(STREAM_USAGE)
    return told


def _vllm(records: Sequence[Mapping[str, Any]], _node: NodeIdentity) -> list[Finding]:
    requests = [r for r in records if r.get("kind", "request") == "request"]
    rules = ((VLLM_IDS, "request_id"), (VLLM_CALLS, "n"))
    told = [finding for finding, key in rules if all(r.get(key) is None for r in requests)]
    if any(_BEAM.search(str(r.get("request_id"))) for r in requests):
        told.append(VLLM_BEAMS)
    return told


_CHECKS: Final = {
    sglang_export.FORMAT: _sglang,
    vllm_stats.FORMAT: _vllm,
    openai_usage.FORMAT: _usage_blocks,
}


def _decoded(text: object) -> Mapping[str, Any] | None:
    if not isinstance(text, str | bytes):
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return value if isinstance(value, dict) else None
