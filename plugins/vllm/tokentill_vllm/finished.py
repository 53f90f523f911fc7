"""One finished request, as vLLM counted it."""

from typing import NamedTuple


class Finished(NamedTuple):
    """Counts in tokens, durations in seconds, finished_at in epoch seconds.

    None: this version of vLLM does not say.
    """

    finished_at: float
    engine_index: int
    request_id: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    max_tokens: int | None = None
    preemptions: int | None = None
    e2e_seconds: float | None = None
    queued_seconds: float | None = None
    prefill_seconds: float | None = None
    decode_seconds: float | None = None
