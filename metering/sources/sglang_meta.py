"""SGLang's request parameters and meta_info → one row; shared by its export file and request log.

Runs once per request of the cluster: plain text instead of enum members, one dict, no copies.
"""

import functools
import hashlib
import math
from typing import Final

from metering.errors import UsageInvalid
from metering.identity import LabelNames, Owner, bounded, labels_from_json, owner_of
from metering.sources.record import GROUP_SIZE_MAX, NodeIdentity, Row, microseconds, shifted
from metering.sources.sglang_fields import NULL, CachedTokens, MetaInfo, Parameters
from metering.sources.sglang_status import status_of
from metering.usage import Operation, Stage

GROUP_ID_LENGTH: Final = 32  # hex digits, 128 bits
KEPT_LABELS_BYTES_MAX: Final = 1024  # longer labels are not worth their memory

_CHAT: Final = Operation.CHAT.value
_EMBEDDING: Final = Operation.EMBEDDING.value
_RERANK: Final = Operation.RERANK.value
_DECODE: Final = Stage.DECODE.value
_PREFILL: Final = Stage.PREFILL.value
_UNIFIED: Final = Stage.UNIFIED.value
_OWN_RID_LENGTH: Final = 32  # a rid that SGLang makes itself is a uuid4 in hex
_HEX: Final = "0123456789abcdef"


def to_row(meta: MetaInfo, parameters: Parameters, node: NodeIdentity) -> Row:
    """The row of one request, without event_id, source and position. Raises UsageInvalid."""
    started, finished, e2e_seconds = _span(meta)
    operation = _operation(parameters)
    output_tokens = meta.completion_tokens
    if operation is not _CHAT and output_tokens is None:
        output_tokens = 0
    join_key = _join_key(parameters)
    rid = meta.id or parameters.rid
    row = node.row()
    row["operation"] = operation
    if rid:
        row["engine_request_id"] = engine_request_id = bounded(rid)
        row["client_request_id"] = None if _is_own_rid(rid) else engine_request_id
    row["join_key"] = join_key
    row["group_id"], row["group_size"] = _group(meta, parameters, join_key, node.stage)
    row["engine"] = node.engine or "sglang"
    row["tenant_id"], row["project_id"], row["api_key_id"], row["service_tier"], row["labels"] = (
        _owner(bytes(parameters.custom_labels), node.label_names)
    )
    row["model_id"] = _model_id(parameters, node)
    row["started_at"], row["finished_at"], row["e2e_seconds"] = started, finished, e2e_seconds
    row["input_tokens"] = meta.prompt_tokens
    row["cached_input_tokens"] = meta.cached_tokens
    row["cached_by_tier"] = _by_tier(meta.cached_tokens_details)
    row["output_tokens"] = output_tokens
    row["reasoning_tokens"] = meta.reasoning_tokens
    row["input_by_class"] = _by_class(meta)
    row["status"] = status_of(meta, parameters, generates=operation is _CHAT)
    row["retractions"] = _retractions(meta)
    row["queue_seconds"] = meta.queue_time
    row["prefill_seconds"], row["ttft_seconds"], row["decode_seconds"] = _phases(
        meta, parameters, node.stage, e2e_seconds
    )
    return row


def _owner(labels: bytes, names: LabelNames) -> Owner:
    """The owner that custom_labels names; tenants repeat, so most lines find theirs kept."""
    if len(labels) <= KEPT_LABELS_BYTES_MAX:
        return _kept_owner(labels, names)
    return owner_of(labels_from_json(labels), names)


@functools.lru_cache(maxsize=4096)
def _kept_owner(labels: bytes, names: LabelNames) -> Owner:
    return owner_of(labels_from_json(labels), names)


def _span(meta: MetaInfo) -> tuple[int, int, float | None]:
    """Start and finish in microseconds since 1970, and the seconds between as the engine measured.

    Without --enable-metrics only response_sent_to_client_ts and e2e_latency are there; on a stream
    the former is the time of the first chunk.
    """
    received = bytes(meta.request_received_ts)
    ended = bytes(meta.request_finished_ts)
    e2e_seconds = _finite(meta.e2e_latency)
    if NULL not in (received, ended):
        started = microseconds("request_received_ts", received)
        return started, microseconds("request_finished_ts", ended), e2e_seconds
    sent = "response_sent_to_client_ts", bytes(meta.response_sent_to_client_ts)
    latency = "e2e_latency", bytes(meta.e2e_latency)
    if received == NULL:
        last = sent if ended == NULL else ("request_finished_ts", ended)
        if latency[1] == NULL and meta.forward_entry_time is not None:
            return _queued_at(meta), microseconds(*last), None
        for name, text in (sent, latency):
            if text == NULL:
                raise UsageInvalid(name, "missing, and request_received_ts too")
        return shifted(sent, latency, -1), microseconds(*last), e2e_seconds
    started = microseconds("request_received_ts", received)
    if e2e_seconds is not None:
        return started, shifted(("request_received_ts", received), latency, 1), e2e_seconds
    if sent[1] == NULL:
        raise UsageInvalid("request_finished_ts", "missing, and e2e_latency too")
    return started, microseconds(*sent), None


def _queued_at(meta: MetaInfo) -> int:
    """When a beam search was queued: its line has no other start."""
    entered = "forward_entry_time", repr(meta.forward_entry_time).encode()
    return shifted(entered, ("queue_time", repr(meta.queue_time or 0.0).encode()), -1)


def _finite(text: bytes) -> float | None:
    """A duration in seconds; one that is no number is unknown."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _phases(
    meta: MetaInfo, parameters: Parameters, stage: str, e2e_seconds: float | None
) -> tuple[float | None, float | None, float | None]:
    """Seconds of prefill, to the first token, and from the first to the last.

    On a decode node first_token_latency of a request that does not stream is the time of its first
    push, not of its first token.
    """
    begun, done = meta.forward_entry_time, meta.prefill_finished_time
    prefill = done - begun if begun and done and done >= begun else None
    ttft = meta.first_token_latency
    if stage == _DECODE and not parameters.stream:
        ttft = None
    if stage == _PREFILL or ttft is None or e2e_seconds is None:
        return prefill, ttft, None
    return prefill, ttft, max(e2e_seconds - ttft, 0.0)


def _operation(parameters: Parameters) -> str:
    """Only an EmbeddingReqInput has is_cross_encoder_request; the file names no route."""
    if parameters.is_cross_encoder_request is None:
        return _CHAT
    return _RERANK if parameters.is_cross_encoder_request else _EMBEDDING


def _join_key(parameters: Parameters) -> str | None:
    """The bootstrap host:port:room, which prefill and decode share. A room has up to 63 bits."""
    if parameters.bootstrap_room is None:
        return None
    port = "" if parameters.bootstrap_port is None else parameters.bootstrap_port
    return bounded(f"{parameters.bootstrap_host or ''}:{port}:{parameters.bootstrap_room}")


def _group(
    meta: MetaInfo, parameters: Parameters, join_key: str | None, stage: str
) -> tuple[str | None, int | None]:
    """Id and size of the samples of one prompt with n > 1.

    received_time is the engine's monotonic clock at the call. One call may hold several prompts, so
    the prompt's digest belongs to the id (its length where it is not logged). /generate has no
    received_time, and nothing else that its samples share: each is a request there, as its own
    meta_info tells the client.
    """
    sampling = parameters.sampling_params
    if sampling is None or not 1 < sampling.samples <= GROUP_SIZE_MAX:
        return None, None
    if stage != _UNIFIED:
        return join_key, sampling.samples
    call = bytes(parameters.received_time)
    if call == NULL:
        return None, None
    prompt = _first_given(bytes(parameters.input_ids), bytes(parameters.text))
    if prompt == NULL:
        prompt = b"%d" % (meta.prompt_tokens or 0)
    return hashlib.sha256(call + b"\0" + prompt).hexdigest()[:GROUP_ID_LENGTH], sampling.samples


def _first_given(text: bytes, otherwise: bytes) -> bytes:
    return otherwise if text == NULL else text


def _is_own_rid(rid: str) -> bool:
    """Whether SGLang made the id itself; in a batch it has _i behind it."""
    if len(rid) == _OWN_RID_LENGTH:
        return not rid.strip(_HEX)
    head, _, index = rid.partition("_")
    return len(head) == _OWN_RID_LENGTH and not head.strip(_HEX) and (not index or index.isdigit())


def _model_id(parameters: Parameters, node: NodeIdentity) -> str:
    """The model as billed: a LoRA adapter is a model of its own.

    lora_path is dropped by --log-requests-level 0 and 1; lora_id still tells that there is one.
    """
    adapter = parameters.lora_path or parameters.lora_id
    return bounded(f"{node.model_id}:{adapter}") if adapter else node.model_id


def _retractions(meta: MetaInfo) -> int | None:
    """Versions before 0.5.13 spell it otherwise."""
    return meta.total_retractions if meta.num_retractions is None else meta.num_retractions


def _by_tier(details: CachedTokens | None) -> dict[str, int] | None:
    if details is None:
        return None
    tiers = (("device", details.device), ("host", details.host), ("storage", details.storage))
    return {name: tokens for name, tokens in tiers if tokens is not None}


def _by_class(meta: MetaInfo) -> dict[str, int] | None:
    image, audio, video = meta.image_tokens, meta.audio_tokens, meta.video_tokens
    if image is None and audio is None and video is None:
        return None
    classes = (("image", image), ("audio", audio), ("video", video))
    return {name: tokens for name, tokens in classes if tokens is not None}
