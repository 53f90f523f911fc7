"""Envoy AI Gateway's access log in JSON (1.1): its default keys and those of llmRequestCosts.

Envoy holds every number of its metadata as a double; a double that is no whole number is refused.
Counts are set only when an answer came to its end, so a successful line without them was cut off.
"""

from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded, owner_of
from metering.sources.openai_usage import http_status
from metering.sources.record import NodeIdentity, Row, checked_count, identified, shown
from metering.usage import Stage
from metering.windows import parse_time

FORMAT: Final = "envoy_ai_gateway"

DIGITS_MAX: Final = 16  # of a double that is a whole number for certain
_LINE: Final = msgspec.json.Decoder(float_hook=Decimal)  # a count never is a float
_KEYS: Final = {
    "input_tokens": ("gen_ai.usage.input_tokens",),
    "cached_input_tokens": (
        "gen_ai.usage.cached_input_tokens",
        "gen_ai.usage.cache_read.input_tokens",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_write.input_tokens",
    ),
    "output_tokens": ("gen_ai.usage.output_tokens",),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.reasoning.output_tokens",
    ),
}
_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model")
_NOTHING: Final = frozenset({"", "-"})  # how Envoy writes what it does not know


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one access-log line; None for a line without a model. Raises UsageInvalid."""
    if not record or record.isspace():
        return None
    try:
        line = _LINE.decode(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UsageInvalid("record", f"not a JSON access-log line: {error}") from None
    if not isinstance(line, dict):
        raise UsageInvalid("record", f"expected a JSON object, got {type(line).__name__}")
    model = next((text for name in _MODELS if (text := _text(line, name))), None)
    if model is None:
        return None  # traffic that is no model request
    row = _to_row(line, node)
    row["model_id"] = model
    return identified(row, FORMAT, record, position)


def _to_row(line: dict[str, Any], node: NodeIdentity) -> Row:
    counts = {field: _count(line, names) for field, names in _KEYS.items()}
    names = node.label_names
    owner = owner_of({n: line.get(n) for n in names if n is not None and _text(line, n)}, names)
    started_at, duration = _span(line)
    request_id = _text(line, "x-request-id")
    response_id = _text(line, "gen_ai.response.id")
    code = _whole("response_code", line.get("response_code"))
    complete = any(count is not None for count in counts.values())
    return {
        **node.row(),
        "stage": Stage.GATEWAY.value,
        **counts,
        "operation": None,
        "engine_request_id": response_id or request_id,
        "join_key": response_id or request_id,
        "client_request_id": request_id,
        "engine": node.engine or "envoy_ai_gateway",
        "tenant_id": owner.tenant_id,
        "project_id": owner.project_id,
        "api_key_id": owner.api_key_id,
        "service_tier": owner.service_tier,
        "started_at": started_at,
        "finished_at": started_at + duration,
        "status": http_status(code or 0, complete=complete).value,
        "e2e_seconds": duration.total_seconds(),
    }


def _span(line: dict[str, Any]) -> Any:
    start = line.get("start_time")
    if not isinstance(start, str):
        raise UsageInvalid("start_time", f"expected an ISO 8601 time, got {shown(start)}")
    milliseconds = _whole("duration", line.get("duration"))
    if milliseconds is None:
        raise UsageInvalid("duration", "missing")
    try:
        started_at, duration = parse_time(start), timedelta(milliseconds=milliseconds)
        _ = started_at + duration
    except (ValueError, OverflowError) as error:
        raise UsageInvalid("start_time", str(error)[:200]) from None
    return started_at, duration


def _count(line: dict[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        count = checked_count(name, _whole(name, line.get(name)))
        if count is not None:
            return count
    return None


def _whole(name: str, value: object) -> int | None:
    """A whole number that came as integer, double or text; exact, or refused."""
    if value is None or value in ("", "-"):
        return None
    if not isinstance(value, str | Decimal):
        return checked_count(name, value)
    try:
        number = Decimal(value)
        small = number.is_finite() and number.adjusted() < DIGITS_MAX
        is_whole = small and number == number.to_integral_value()
    except InvalidOperation:
        is_whole = False
    return checked_count(name, int(number) if is_whole else str(value))


def _text(line: dict[str, Any], name: str) -> str | None:
    value = line.get(name)
    return bounded(value) if isinstance(value, str) and value not in _NOTHING else None
