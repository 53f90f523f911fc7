"""SGLang's request parameters and meta_info → one row; shared by its export file and request log.

Only the keys that metering needs are decoded: prompt text and token ids are never turned into
values, and nothing of them enters a row but a digest that groups the samples of one call.
Versions 0.5.6 to 0.5.23 are read; unknown keys are ignored. Facts: docs/engines/sglang.md.
"""

import hashlib
import math
import re
from typing import Annotated, Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded, owner_of
from metering.sources.record import (
    NodeIdentity,
    Row,
    decimal_seconds,
    epoch_microseconds,
    floor_to_microseconds,
    instant,
)
from metering.sources.sglang_status import (
    HEALTH_CHECK_PREFIX,
    WARMUP_HOST,
    WARMUP_IDS,
    WARMUP_OUTPUT_TOKENS_MAX,
    abort_status,
    is_small,
    is_warmup_text,
    unknown_finish,
)
from metering.usage import COUNT_MAX, Operation, Stage, Status

Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)] | None

NULL: Final = b"null"
ABSENT: Final = msgspec.Raw(NULL)
GROUP_ID_LENGTH: Final = 32  # hex digits, 128 bits
_OWN_RID: Final = re.compile(r"[0-9a-f]{32}(?:_\d+)?")  # uuid4 in hex; _i in a batch
# Plain text: an enum member's value costs a call, and this runs once per request.
_CHAT: Final = Operation.CHAT.value
_EMBEDDING: Final = Operation.EMBEDDING.value
_RERANK: Final = Operation.RERANK.value
_OK: Final = Status.OK.value
_WARMUP: Final = Status.WARMUP.value
_FINISHES: Final = frozenset({"stop", "length", "abort"})
_WARMUP_TEXT_BYTES_MAX: Final = 2048


class FinishReason(msgspec.Struct, gc=False):
    """How the request ended: type stop, length or abort."""

    type: str
    message: str | None = None
    status_code: int | None = None


class Sampling(msgspec.Struct, gc=False):
    """The part of sampling_params that accounting needs."""

    n: int | None = None
    max_new_tokens: int | None = None


class Parameters(msgspec.Struct, gc=False):
    """request_parameters: GenerateReqInput or EmbeddingReqInput as the engine received it."""

    rid: str | None = None
    text: msgspec.Raw = ABSENT
    input_ids: msgspec.Raw = ABSENT
    stream: bool | None = None
    sampling_params: Sampling | None = None
    lora_path: str | None = None
    lora_id: str | None = None
    custom_labels: Any = None
    bootstrap_host: str | None = None
    bootstrap_port: int | None = None
    bootstrap_room: int | None = None
    received_time: msgspec.Raw = ABSENT
    is_cross_encoder_request: bool | None = None


class CachedTokens(msgspec.Struct, gc=False):
    """cached_tokens_details: where the hit was found."""

    device: Count = None
    host: Count = None
    storage: Count = None


class MetaInfo(msgspec.Struct, gc=False):
    """meta_info of one finished request. Times are epoch seconds, durations seconds."""

    id: str | None = None
    finish_reason: FinishReason | None = None
    prompt_tokens: Count = None
    completion_tokens: Count = None
    cached_tokens: Count = None
    cached_tokens_details: CachedTokens | None = None
    reasoning_tokens: Count = None
    image_tokens: Count = None
    audio_tokens: Count = None
    video_tokens: Count = None
    num_retractions: Count = None
    total_retractions: Count = None
    queue_time: float | None = None
    first_token_latency: float | None = None
    forward_entry_time: float | None = None
    prefill_finished_time: float | None = None
    e2e_latency: msgspec.Raw = ABSENT
    request_received_ts: msgspec.Raw = ABSENT
    request_finished_ts: msgspec.Raw = ABSENT
    response_sent_to_client_ts: msgspec.Raw = ABSENT


def to_row(meta: MetaInfo, parameters: Parameters, node: NodeIdentity) -> Row:
    """The row of one request, without event_id, source and position."""
    started, finished, e2e_seconds = _span(meta)
    owner = owner_of(parameters.custom_labels, node.label_names)
    prefill, ttft, decode = _phases(meta, parameters, node.stage, e2e_seconds)
    operation = _operation(parameters)
    output_tokens = meta.completion_tokens
    if operation is not _CHAT and output_tokens is None:
        output_tokens = 0
    join_key = _join_key(parameters)
    group_id, group_size = _group(meta, parameters, join_key, node.stage)
    rid = meta.id or parameters.rid
    engine_request_id = bounded(rid) if rid else None
    details = meta.cached_tokens_details
    retractions = meta.num_retractions
    return {
        "stage": node.stage,
        "operation": operation,
        "engine_request_id": engine_request_id,
        "join_key": join_key,
        "client_request_id": engine_request_id if rid and _OWN_RID.fullmatch(rid) is None else None,
        "group_id": group_id,
        "group_size": group_size,
        "node_id": node.node_id,
        "pool": node.pool,
        "instance_id": node.instance_id,
        "engine": node.engine or "sglang",
        "engine_version": node.engine_version,
        "tenant_id": owner.tenant_id,
        "project_id": owner.project_id,
        "api_key_id": owner.api_key_id,
        "labels": owner.labels,
        "model_id": _model_id(parameters, node),
        "started_at": instant(started),
        "finished_at": instant(finished),
        "input_tokens": meta.prompt_tokens,
        "cached_input_tokens": meta.cached_tokens,
        "cached_by_tier": None if details is None else _by_tier(details),
        "output_tokens": output_tokens,
        "reasoning_tokens": meta.reasoning_tokens,
        "input_by_class": _by_class(meta),
        "status": _status(meta, parameters, operation),
        "service_tier": owner.service_tier,
        "region": node.region,
        "retractions": meta.total_retractions if retractions is None else retractions,
        "queue_seconds": meta.queue_time,
        "prefill_seconds": prefill,
        "ttft_seconds": ttft,
        "decode_seconds": decode,
        "e2e_seconds": e2e_seconds,
    }


def _status(meta: MetaInfo, parameters: Parameters, operation: str) -> str:
    reason = meta.finish_reason
    if reason is None:
        if operation is _CHAT:
            raise unknown_finish(None)
        return _OK
    if reason.type not in _FINISHES:
        raise unknown_finish(reason.type)
    if not parameters.custom_labels and _is_engines_own(meta, parameters):
        return _WARMUP
    if reason.type != "abort":
        return _OK
    return abort_status(
        reason.message, reason.status_code, counted=meta.prompt_tokens is not None
    ).value


def _is_engines_own(meta: MetaInfo, parameters: Parameters) -> bool:
    """Warm-up and health checks; none of them carries labels."""
    rid = meta.id or parameters.rid or ""
    output_tokens = meta.completion_tokens
    if rid.startswith(HEALTH_CHECK_PREFIX) or parameters.bootstrap_host == WARMUP_HOST:
        return is_small(meta.prompt_tokens, output_tokens)
    limit = None if (s := parameters.sampling_params) is None else s.max_new_tokens
    if limit != WARMUP_OUTPUT_TOKENS_MAX:
        return False
    text = bytes(parameters.text)
    if text[:1] == b'"' and len(text) < _WARMUP_TEXT_BYTES_MAX:
        return is_warmup_text(text.decode("utf-8", "replace")[1:-1])
    ids = bytes(parameters.input_ids)
    return is_small(meta.prompt_tokens, output_tokens) and ids.replace(b" ", b"") == WARMUP_IDS


def _operation(parameters: Parameters) -> str:
    """Only an EmbeddingReqInput has is_cross_encoder_request, and its lines no output count."""
    if parameters.is_cross_encoder_request:
        return _RERANK
    if parameters.is_cross_encoder_request is not None:
        return _EMBEDDING
    return _CHAT


def _model_id(parameters: Parameters, node: NodeIdentity) -> str:
    """The model as billed: a LoRA adapter is a model of its own.

    lora_path is dropped by --log-requests-level 0 and 1; lora_id still tells that there is one.
    """
    adapter = parameters.lora_path or parameters.lora_id
    return bounded(f"{node.model_id}:{adapter}") if adapter else node.model_id


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

    received_time is the engine's monotonic clock in nanoseconds at the call; one call may hold
    several prompts, so the prompt's digest belongs to the id (its length where it is not logged).
    """
    sampling = parameters.sampling_params
    if sampling is None or sampling.n is None or sampling.n <= 1:
        return None, None
    if stage != Stage.UNIFIED:
        return join_key, sampling.n
    call = bytes(parameters.received_time)
    if call == NULL:
        call = bytes(meta.request_received_ts)
    if call == NULL:
        return None, sampling.n
    prompt = bytes(parameters.input_ids)
    if prompt == NULL:
        prompt = bytes(parameters.text)
    if prompt == NULL:
        prompt = b"%d" % (meta.prompt_tokens or 0)
    return hashlib.sha256(call + b"\0" + prompt).hexdigest()[:GROUP_ID_LENGTH], sampling.n


def _by_tier(details: CachedTokens) -> dict[str, int]:
    tiers = (("device", details.device), ("host", details.host), ("storage", details.storage))
    return {name: tokens for name, tokens in tiers if tokens is not None}


def _by_class(meta: MetaInfo) -> dict[str, int] | None:
    classes = (
        ("image", meta.image_tokens),
        ("audio", meta.audio_tokens),
        ("video", meta.video_tokens),
    )
    return {name: tokens for name, tokens in classes if tokens is not None} or None


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
    if stage == Stage.DECODE and not parameters.stream:
        ttft = None
    if stage == Stage.PREFILL or ttft is None or e2e_seconds is None:
        return prefill, ttft, None
    return prefill, ttft, max(e2e_seconds - ttft, 0.0)


def _span(meta: MetaInfo) -> tuple[int, int, float | None]:
    """Start and finish in epoch microseconds, and the seconds between as the engine measured them.

    Without --enable-metrics only response_sent_to_client_ts and e2e_latency are there; on a stream
    the former is the time of the first chunk.
    """
    received = bytes(meta.request_received_ts)
    ended = bytes(meta.request_finished_ts)
    sent = bytes(meta.response_sent_to_client_ts)
    latency = bytes(meta.e2e_latency)
    e2e = _finite(latency)
    if received != NULL:
        started = epoch_microseconds("request_received_ts", received)
        if ended != NULL:
            return started, epoch_microseconds("request_finished_ts", ended), e2e
        if e2e is not None:
            finished = _shifted(("request_received_ts", received), latency, 1)
            return started, finished, e2e
        if sent != NULL:
            return started, epoch_microseconds("response_sent_to_client_ts", sent), e2e
        raise UsageInvalid("request_finished_ts", "missing, and e2e_latency too")
    if sent == NULL:
        raise UsageInvalid("response_sent_to_client_ts", "missing, and request_received_ts too")
    if e2e is None:
        raise UsageInvalid("e2e_latency", "missing, and request_received_ts too")
    started = _shifted(("response_sent_to_client_ts", sent), latency, -1)
    last = ("request_finished_ts", ended) if ended != NULL else ("response_sent_to_client_ts", sent)
    return started, epoch_microseconds(*last), e2e


def _shifted(at: tuple[str, bytes], latency: bytes, sign: int) -> int:
    """Epoch microseconds of the decimal instant `at` moved by the decimal seconds `latency`."""
    name, text = at
    epoch_microseconds(name, text)  # bounds
    shift = sign * decimal_seconds("e2e_latency", latency)
    moved = floor_to_microseconds(decimal_seconds(name, text) + shift)
    return epoch_microseconds(name, b"%d.%06d" % divmod(moved, 10**6))


def _finite(text: bytes) -> float | None:
    """A duration in seconds; one that is no number is unknown."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None
