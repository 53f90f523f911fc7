"""How an SGLang request ended, and which requests are the engine's own (contract.md §3)."""

from typing import Final

from metering.errors import UsageInvalid
from metering.sources.record import shown
from metering.usage import Status

HEALTH_CHECK_PREFIX: Final = "HEALTH_CHECK"  # the scheduler tests startswith, managers/utils.py:427
WARMUP_HOST: Final = "2.2.2.2"  # FAKE_BOOTSTRAP_HOST of a prefill/decode engine's own warm-up
WARMUP_TEXT: Final = "The capital city of France is"  # http_server.py, engines without vision
WARMUP_VISION_TEXT: Final = "Describe the image."  # the same of a vision model, inside its template
WARMUP_IDS: Final = b"[10,11,12,13]"  # http_server.py:2337
WARMUP_OUTPUT_TOKENS_MAX: Final = 8  # max_new_tokens of every warm-up
WARMUP_INPUT_TOKENS_MAX: Final = 64  # the texts and ids above have 4 to 10 tokens
WARMUP_VISION_TEXT_CHARACTERS_MAX: Final = 512

SERVER_ERROR: Final = 500
_QUEUE_ABORT: Final = "waiting queue"


def abort_status(message: str | None, status_code: int | None, *, counted: bool) -> Status:
    """The status of a finish_reason of type abort.

    counted: whether the record has token counts; an abort without them did no work.
    """
    if status_code is not None and status_code >= SERVER_ERROR:
        return Status.ERROR
    if not counted or (message is not None and _QUEUE_ABORT in message):
        return Status.REJECTED
    return Status.ABORTED


def is_small(input_tokens: int | None, output_tokens: int | None) -> bool:
    """Whether a request is small enough to be the engine's own.

    A client can choose an id or a bootstrap host that looks like the engine's; what exceeds the
    engine's own warm-up is work for somebody and is metered as such.
    """
    return (input_tokens or 0) <= WARMUP_INPUT_TOKENS_MAX and (
        output_tokens or 0
    ) <= WARMUP_OUTPUT_TOKENS_MAX


def is_warmup_text(text: str) -> bool:
    """Whether the prompt of a request for 8 tokens is one that SGLang sends to itself."""
    return text == WARMUP_TEXT or (
        len(text) <= WARMUP_VISION_TEXT_CHARACTERS_MAX and WARMUP_VISION_TEXT in text
    )


def unknown_finish(kind: object) -> UsageInvalid:
    """The error for a record that does not say how the request ended."""
    return UsageInvalid("finish_reason", f"expected stop, length or abort, got {shown(kind)}")
