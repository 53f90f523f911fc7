"""How an SGLang request ended, and which requests are the engine's own (docs/pd-accounting.md)."""

from typing import Final

from metering.errors import UsageInvalid
from metering.sources.record import shown
from metering.sources.sglang_fields import NULL, FinishReason, MetaInfo, Parameters
from metering.usage import Status

HEALTH_CHECK_PREFIX: Final = "HEALTH_CHECK"  # the scheduler tests startswith, managers/utils.py:427
WARMUP_HOST: Final = "2.2.2.2"  # FAKE_BOOTSTRAP_HOST of a prefill/decode engine's own warm-up
WARMUP_TEXT: Final = b'"The capital city of France is"'  # http_server.py, engines without vision
WARMUP_VISION_TEXT: Final = b"Describe the image."  # of a vision model, inside its chat template
WARMUP_IDS: Final = b"[10,11,12,13]"  # http_server.py:2337
WARMUP_INPUT_TOKENS_MAX: Final = 64  # the ids and texts above have 4 to 10 tokens
WARMUP_OUTPUT_TOKENS_MAX: Final = 8  # max_new_tokens of every warm-up
WARMUP_TEXT_BYTES_MAX: Final = 512
SERVER_ERROR: Final = 500

_OK: Final = Status.OK.value
_LENGTH: Final = "length"
_FINISHES: Final = frozenset({"stop", _LENGTH})
_ABORT: Final = "abort"
_QUEUE_ABORT: Final = "waiting queue"
_NO_LABELS: Final = frozenset({NULL, b"{}"})


def status_of(meta: MetaInfo, parameters: Parameters, *, generates: bool) -> str:
    """The status of one request. Raises UsageInvalid where the line does not say how it ended.

    generates: an embedding may have no finish_reason.
    """
    reason = meta.finish_reason
    if reason is None and generates:
        raise UsageInvalid("finish_reason", "missing")
    if bytes(parameters.custom_labels) in _NO_LABELS and _is_engines_own(meta, parameters):
        return Status.WARMUP.value
    if generates and _fills_the_cache(meta, parameters):
        return Status.WARMUP.value
    if reason is None or reason.type in _FINISHES:
        return _OK
    if reason.type != _ABORT:
        expected = f"expected {', '.join(sorted(_FINISHES))} or {_ABORT}"
        raise UsageInvalid("finish_reason", f"{expected}, got {shown(reason.type)}")
    return _abort_status(reason, counted=meta.prompt_tokens is not None).value


def _fills_the_cache(meta: MetaInfo, parameters: Parameters) -> bool:
    """The request without output that SGLang sends itself before the samples of a /generate call.

    Where samples form a group, pairing knows it. A client that asked for no output is no such one.
    """
    sampling = parameters.sampling_params
    return (
        sampling is not None
        and sampling.samples > 1
        and sampling.max_new_tokens != 0
        and meta.completion_tokens == 0
        and meta.finish_reason is not None
        and meta.finish_reason.type == _LENGTH
        and bytes(parameters.received_time) == NULL
        and parameters.bootstrap_room is None
    )


def _abort_status(reason: FinishReason, *, counted: bool) -> Status:
    """counted: whether the line has token counts; an abort without them did no work."""
    if reason.status_code is not None and reason.status_code >= SERVER_ERROR:
        return Status.ERROR
    if not counted or _QUEUE_ABORT in (reason.message or ""):
        return Status.REJECTED
    return Status.ABORTED


def _is_engines_own(meta: MetaInfo, parameters: Parameters) -> bool:
    """Warm-up and health checks, which carry no labels and are small.

    A client can choose an id, a bootstrap host or a text that looks like the engine's; what exceeds
    the engine's own requests is work for somebody and is metered as such.
    """
    if (meta.completion_tokens or 0) > WARMUP_OUTPUT_TOKENS_MAX:
        return False
    small = (meta.prompt_tokens or 0) <= WARMUP_INPUT_TOKENS_MAX
    rid = meta.id or parameters.rid or ""
    if rid.startswith(HEALTH_CHECK_PREFIX) or parameters.bootstrap_host == WARMUP_HOST:
        return small
    sampling = parameters.sampling_params
    if sampling is None or sampling.max_new_tokens != WARMUP_OUTPUT_TOKENS_MAX:
        return False
    text = bytes(parameters.text)
    if text != NULL:
        return text == WARMUP_TEXT or (
            len(text) <= WARMUP_TEXT_BYTES_MAX and WARMUP_VISION_TEXT in text
        )
    return small and bytes(parameters.input_ids).replace(b" ", b"") == WARMUP_IDS
