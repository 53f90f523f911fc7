"""`request_parameters` as SGLang 0.5.23 exports it at request logging level 1: no prompt in it.

Names, order and defaults are those of GenerateReqInput in genuine lines.
"""

import json
from typing import Any, Final

from metering.replay.legs import Call, Leg
from metering.replay.nodes import BOOTSTRAP_PORT

MAX_NEW_TOKENS_MIN: Final = 512
WARMUP_HOST: Final = "2.2.2.2"
WARMUP_OUTPUT_TOKENS: Final = 8

_SAMPLING: Final[dict[str, Any]] = {
    "temperature": 0.7,
    "max_new_tokens": None,
    "min_new_tokens": 0,
    "stop": None,
    "stop_token_ids": None,
    "stop_regex": None,
    "top_p": 0.95,
    "top_k": 20,
    "min_p": 0.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "regex": None,
    "ebnf": None,
    "n": 1,
    "no_stop_trim": False,
    "ignore_eos": False,
    "skip_special_tokens": True,
    "logit_bias": None,
    "custom_params": None,
    "sampling_seed": None,
    "spaces_between_special_tokens": True,
    "watermark": None,
}
_LOGPROBS: Final[dict[str, Any]] = {
    "return_logprob": False,
    "logprob_start_len": -1,
    "top_logprobs_num": 0,
    "return_sampling_mask": False,
    "return_text_in_logprobs": True,
    "return_flat_raw_top_logprobs": False,
    "return_flat_raw_output_top_logprobs": False,
    "return_flat_raw_top_logprobs_b64": False,
}
_RETURNED: Final[dict[str, Any]] = {
    "log_metrics": True,
    "return_hidden_states": False,
    "return_routed_experts": False,
    "routed_experts_start_len": 0,
    "return_indexer_topk": False,
}
_MODES: Final[dict[str, Any]] = {"background": False, "require_reasoning": False, "no_logs": False}
_RAW: Final[dict[str, Any]] = {
    "return_bytes": False,
    "return_entropy": False,
    "return_prompt_token_ids": False,
}


def chat_parameters(leg: Leg, bootstrap_host: str, received_seconds: float) -> str:
    """Of a chat request. received_seconds: on the machine's monotonic clock."""
    call = leg.call
    return json.dumps(
        {
            "rid": leg.rid,
            "use_audio_in_video": False,
            "sampling_params": _SAMPLING | {"max_new_tokens": _max_new_tokens(leg)},
            **_LOGPROBS,
            "stream": call.is_streaming,
            **_RETURNED,
            "modalities": [],
            "bootstrap_host": bootstrap_host,
            "bootstrap_port": BOOTSTRAP_PORT,
            "bootstrap_room": call.room,
            **_MODES,
            "custom_labels": _labels(call),
            **_RAW,
            "external_trace_header": {},
            "received_time": received_seconds,
        }
    )


def _labels(call: Call) -> dict[str, str]:
    """What a gateway sets: who asks, and in which session where the trace knows it."""
    labels = {
        "tenant": call.customer.tenant_id,
        "project": call.customer.project_id,
        "api_key_id": call.customer.api_key_id,
    }
    return labels | ({"session": call.request.cache_scope} if call.request.cache_scope else {})


def warmup_parameters(rid: str) -> str:
    """Of the request that the engine sends itself at start."""
    return json.dumps(
        {
            "rid": rid,
            "use_audio_in_video": False,
            "sampling_params": {
                "temperature": 0.0,
                "max_new_tokens": WARMUP_OUTPUT_TOKENS,
                "ignore_eos": True,
            },
            **_LOGPROBS,
            "return_text_in_logprobs": False,
            "stream": False,
            **_RETURNED,
            "bootstrap_host": WARMUP_HOST,
            "bootstrap_room": 0,
            "routed_dp_rank": 0,
            **_MODES,
            **_RAW,
        }
    )


def _max_new_tokens(leg: Leg) -> int:
    """What the client allowed: just the answer where that was cut, else a power of two above it."""
    wanted_tokens = leg.call.request.output_tokens
    if leg.call.is_cut:
        return wanted_tokens
    return max(1 << wanted_tokens.bit_length(), MAX_NEW_TOKENS_MIN)
