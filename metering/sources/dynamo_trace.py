"""NVIDIA Dynamo's request trace (DYN_REQUEST_TRACE=1), schema dynamo.request.trace.v1.

One record joins prefill and decode of a request; the workers become labels. The file is gzipped
JSON lines; decompressing it is the reader's business.
"""

from typing import Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded, clean_labels
from metering.sources.record import (
    NodeIdentity,
    Row,
    checked_count,
    identified,
    instant,
    seconds_of_milliseconds,
    shown,
)
from metering.usage import Operation, Stage, Status

FORMAT: Final = "dynamo_trace"
SCHEMA: Final = "dynamo.request.trace.v1"
REQUEST_END: Final = "request_end"

_ABSENT: Final = msgspec.Raw(b"null")


class Request(msgspec.Struct, gc=False):
    """Counts in tokens; times and durations in milliseconds."""

    request_id: str | None = None
    x_request_id: str | None = None
    model: str | None = None
    input_tokens: Any = None
    output_tokens: Any = None
    cached_tokens: Any = None
    request_received_ms: msgspec.Raw = _ABSENT
    prefill_wait_time_ms: float | None = None
    prefill_time_ms: float | None = None
    ttft_ms: float | None = None
    total_time_ms: float | None = None
    kv_transfer_estimated_latency_ms: float | None = None
    worker: dict[str, Any] | None = None


class Record(msgspec.Struct, gc=False):
    """One event of the trace."""

    schema: str = ""
    event_type: str = ""
    event_time_unix_ms: msgspec.Raw = _ABSENT
    request: Request | None = None


_RECORD: Final = msgspec.json.Decoder(Record)


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one ended request; None for other events. Raises UsageInvalid."""
    if not record or record.isspace():
        return None
    try:
        event = _RECORD.decode(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UsageInvalid("record", f"not a record of Dynamo's trace: {error}") from None
    if event.schema != SCHEMA:
        raise UsageInvalid("schema", f"expected {SCHEMA}, got {shown(event.schema)}")
    if event.event_type != REQUEST_END:
        return None
    if event.request is None:
        raise UsageInvalid("request", "missing in a request_end event")
    row = _to_row(event, event.request, node)
    return identified(row, FORMAT, record, position)


def _to_row(event: Record, request: Request, node: NodeIdentity) -> Row:
    request_id = bounded(request.request_id) if request.request_id else None
    output_tokens = checked_count("output_tokens", request.output_tokens)
    ttft, total = _seconds(request.ttft_ms), _seconds(request.total_time_ms)
    return {
        **node.row(),
        "stage": Stage.GATEWAY.value,
        "operation": Operation.CHAT.value,
        "engine_request_id": request_id,
        "join_key": request_id,
        "client_request_id": bounded(request.x_request_id) if request.x_request_id else None,
        "engine": node.engine or "dynamo",
        "labels": clean_labels(request.worker) or None,
        "model_id": bounded(request.model) if request.model else node.model_id,
        "started_at": instant(*_at("request_received_ms", request.request_received_ms)),
        "finished_at": instant(*_at("event_time_unix_ms", event.event_time_unix_ms)),
        "input_tokens": checked_count("input_tokens", request.input_tokens),
        "cached_input_tokens": checked_count("cached_tokens", request.cached_tokens),
        "output_tokens": output_tokens,
        "status": Status.OK.value,
        "queue_seconds": _seconds(request.prefill_wait_time_ms),
        "prefill_seconds": _seconds(request.prefill_time_ms),
        "ttft_seconds": ttft,
        "decode_seconds": None if ttft is None or total is None else max(total - ttft, 0.0),
        "e2e_seconds": total,
        "kv_transfer_seconds": _seconds(request.kv_transfer_estimated_latency_ms),
    }


def _at(name: str, raw: msgspec.Raw) -> tuple[str, bytes]:
    """An instant given in milliseconds, as the text of its seconds."""
    text = bytes(raw)
    if text == b"null":
        raise UsageInvalid(name, "missing")
    return name, seconds_of_milliseconds(name, text)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
