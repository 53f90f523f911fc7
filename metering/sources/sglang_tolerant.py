"""Reads what the typed decoder refuses: NaN, lone surrogates, values of unexpected types.

Slow and rare. A count that is no count is refused with its name; anything else that is not
understood is as if it were not there.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

import msgspec

from metering.errors import UsageInvalid
from metering.sources.record import checked_count
from metering.sources.sglang_fields import (
    ABSENT,
    CachedTokens,
    FinishReason,
    MetaInfo,
    Parameters,
    Sampling,
)

_COUNTS: Final = (
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "image_tokens",
    "audio_tokens",
    "video_tokens",
    "num_retractions",
    "total_retractions",
)
_SECONDS: Final = (
    "queue_time",
    "first_token_latency",
    "forward_entry_time",
    "prefill_finished_time",
)
_INSTANTS: Final = (
    "e2e_latency",
    "request_received_ts",
    "request_finished_ts",
    "response_sent_to_client_ts",
)


class Number(str):
    """A JSON number with a fraction or an exponent, as it was written."""

    __slots__ = ()


def read_line(record: bytes) -> tuple[MetaInfo, Parameters]:
    """meta_info and request parameters of an export line. Raises UsageInvalid."""
    line = read_object("record", record.decode("utf-8", "replace"))
    text = line.get("request_parameters")
    if not isinstance(text, str):
        raise UsageInvalid("request_parameters", "expected JSON in a string")
    return meta_info(line), parameters(read_object("request_parameters", text))


def read_object(name: str, text: str) -> dict[str, Any]:
    """A JSON object whose fractions keep their text. Raises UsageInvalid, naming `name`."""
    try:
        value = json.loads(text, parse_float=Number)
    except (ValueError, RecursionError):
        torn(name)
    if not isinstance(value, dict):
        raise UsageInvalid(name, f"expected a JSON object, got {type(value).__name__}")
    return value


def torn(name: str) -> NoReturn:
    """Refuse a record that is not one complete JSON value. Its text is not repeated: prompts."""
    raise UsageInvalid(name, "not one complete JSON object: cut off, or written over by another")


def meta_info(values: Mapping[str, Any]) -> MetaInfo:
    """meta_info from decoded JSON."""
    known: dict[str, Any] = {name: checked_count(name, values.get(name)) for name in _COUNTS}
    known |= {name: _seconds(values.get(name)) for name in _SECONDS}
    known |= {name: _raw(values.get(name)) for name in _INSTANTS}
    return MetaInfo(
        id=_text(values.get("id")),
        finish_reason=_finish_reason(values.get("finish_reason")),
        cached_tokens_details=_details(values.get("cached_tokens_details")),
        **known,
    )


def parameters(values: Mapping[str, Any]) -> Parameters:
    """Request parameters from decoded JSON."""
    sampling = values.get("sampling_params")
    cross_encoder = values.get("is_cross_encoder_request")
    stream = values.get("stream")
    return Parameters(
        rid=_text(values.get("rid")),
        text=_raw(values.get("text")),
        input_ids=_raw(values.get("input_ids")),
        stream=stream if isinstance(stream, bool) else None,
        sampling_params=_sampling(sampling) if isinstance(sampling, dict) else None,
        lora_path=_text(values.get("lora_path")),
        lora_id=_text(values.get("lora_id")),
        custom_labels=_raw(values.get("custom_labels")),
        bootstrap_host=_text(values.get("bootstrap_host")),
        bootstrap_port=_whole(values.get("bootstrap_port")),
        bootstrap_room=_whole(values.get("bootstrap_room")),
        received_time=_raw(values.get("received_time")),
        is_cross_encoder_request=cross_encoder if isinstance(cross_encoder, bool) else None,
    )


def _finish_reason(value: object) -> FinishReason | None:
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    return FinishReason(
        type=kind if isinstance(kind, str) else "",
        message=_text(value.get("message")),
        status_code=_whole(value.get("status_code")),
    )


def _details(value: object) -> CachedTokens | None:
    if not isinstance(value, dict):
        return None
    tiers = CachedTokens.__struct_fields__
    return CachedTokens(
        **{tier: checked_count(f"cached_tokens_details.{tier}", value.get(tier)) for tier in tiers}
    )


def _sampling(value: Mapping[str, Any]) -> Sampling:
    return Sampling(**{name: _whole(value.get(name)) for name in Sampling.__struct_fields__})


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and not isinstance(value, Number) else None


def _whole(value: object) -> int | None:
    return value if type(value) is int else None


def _seconds(value: object) -> float | None:
    if type(value) not in (int, float, Number):
        return None
    try:
        seconds = float(value)  # type: ignore[arg-type] # one of three types that float takes
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) else None


def _raw(value: object) -> msgspec.Raw:
    """The JSON text of a value; numbers as they were written."""
    if value is None:
        return ABSENT
    text = value if type(value) is Number else json.dumps(value)
    return msgspec.Raw(text.encode())
