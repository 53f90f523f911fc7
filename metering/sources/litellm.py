"""LiteLLM's StandardLoggingPayload, as its generic logger posts it (1.110).

Cached tokens stand only in metadata.usage_object. `messages` and `response` hold content and are
not decoded. The id is the upstream's response id, which is what the engine saw.
"""

from typing import Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import Owner, bounded, bounded_value, clean_labels, owner_of
from metering.sources.record import NodeIdentity, Row, identified, instant, shown
from metering.sources.usage_block import Usage, read_usage_block
from metering.usage import Operation, Stage, Status

FORMAT: Final = "litellm"

_OPERATIONS: Final = (
    ("embedding", Operation.EMBEDDING),
    ("rerank", Operation.RERANK),
    ("text_completion", Operation.COMPLETION),
)
_STATUS: Final = {"success": Status.OK.value, "failure": Status.ERROR.value}
_OWNER_LABELS: Final = (
    "user_api_key_alias",
    "user_api_key_org_id",
    "user_api_key_team_alias",
    "user_api_key_user_id",
    "user_api_key_end_user_id",
)
_ABSENT: Final = msgspec.Raw(b"null")


class Payload(msgspec.Struct, gc=False):
    """The part of a payload that accounting needs. Times are epoch seconds, kept as text."""

    id: str | None = None
    litellm_call_id: str | None = None
    call_type: str = ""
    status: str | None = None
    model: str | None = None
    startTime: msgspec.Raw = _ABSENT  # noqa: N815 # LiteLLM's name
    endTime: msgspec.Raw = _ABSENT  # noqa: N815
    completionStartTime: msgspec.Raw = _ABSENT  # noqa: N815
    prompt_tokens: Any = None
    completion_tokens: Any = None
    metadata: Any = None


_PAYLOAD: Final = msgspec.json.Decoder(Payload)


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one payload; None for an empty line. Raises UsageInvalid."""
    if not record or record.isspace():
        return None
    try:
        payload = _PAYLOAD.decode(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UsageInvalid("record", f"not a payload of LiteLLM: {error}") from None
    status = _STATUS.get(payload.status or "")
    if status is None:
        raise UsageInvalid("status", f"expected success or failure, got {shown(payload.status)}")
    metadata = payload.metadata if isinstance(payload.metadata, dict) else {}
    row = _to_row(payload, metadata, node)
    row["status"] = status
    return identified(row, FORMAT, record, position)


def _to_row(payload: Payload, metadata: dict[str, Any], node: NodeIdentity) -> Row:
    started_at = instant("startTime", bytes(payload.startTime))
    finished_at = instant("endTime", bytes(payload.endTime))
    usage = _usage(payload, metadata)
    owner = _owner(metadata, node)
    operation = _operation(payload.call_type)
    first = bytes(payload.completionStartTime)
    ttft = None if first == b"null" else instant("completionStartTime", first) - started_at
    return {
        **node.row(),
        "stage": Stage.GATEWAY.value,
        "operation": operation.value,
        "engine_request_id": bounded(payload.id) if payload.id else None,
        "join_key": bounded(payload.id) if payload.id else None,
        "client_request_id": bounded(payload.litellm_call_id) if payload.litellm_call_id else None,
        "engine": node.engine or "litellm",
        "tenant_id": owner.tenant_id,
        "project_id": owner.project_id,
        "api_key_id": owner.api_key_id,
        "labels": owner.labels,
        "model_id": bounded(payload.model) if payload.model else node.model_id,
        "started_at": started_at,
        "finished_at": finished_at,
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "output_tokens": 0 if operation in _WITHOUT_OUTPUT else usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "input_by_class": usage.input_by_class,
        "service_tier": owner.service_tier,
        "ttft_seconds": None if ttft is None else ttft.total_seconds(),
        "e2e_seconds": (finished_at - started_at).total_seconds(),
    }


_WITHOUT_OUTPUT: Final = frozenset({Operation.EMBEDDING, Operation.RERANK})


def _usage(payload: Payload, metadata: dict[str, Any]) -> Usage:
    block = metadata.get("usage_object")
    if not block:
        block = {
            "prompt_tokens": payload.prompt_tokens,
            "completion_tokens": payload.completion_tokens,
        }
    return read_usage_block(block) or Usage()


def _owner(metadata: dict[str, Any], node: NodeIdentity) -> Owner:
    """LiteLLM's own key, team and project; labels that the client sent along come second."""
    sent = metadata.get("requester_metadata")
    asked = owner_of(sent if isinstance(sent, dict) else None, node.label_names)
    names = {name: metadata.get(name) for name in _OWNER_LABELS}
    return Owner(
        tenant_id=bounded_value(metadata.get("user_api_key_team_id")) or asked.tenant_id,
        project_id=bounded_value(metadata.get("user_api_key_project_id")) or asked.project_id,
        api_key_id=bounded_value(metadata.get("user_api_key_hash")) or asked.api_key_id,
        service_tier=asked.service_tier,
        labels=clean_labels({**(asked.labels or {}), **names}) or None,
    )


def _operation(call_type: str) -> Operation:
    found = (operation for mark, operation in _OPERATIONS if mark in call_type)
    return next(found, Operation.CHAT)
