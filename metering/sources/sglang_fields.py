"""The keys of SGLang's request parameters and meta_info that metering decodes.

Prompt text and token ids stay raw bytes: they are compared and digested, never turned into values.
Versions 0.5.6 to 0.5.23 are read; unknown keys are ignored.
"""

from typing import Annotated, Final

import msgspec

from metering.usage import COUNT_MAX

Count = Annotated[int, msgspec.Meta(ge=0, le=COUNT_MAX)] | None

NULL: Final = b"null"
ABSENT: Final = msgspec.Raw(NULL)


class FinishReason(msgspec.Struct, gc=False):
    """How the request ended: type stop, length or abort."""

    type: str
    message: str | None = None
    status_code: int | None = None


class Sampling(msgspec.Struct, gc=False):
    """The part of sampling_params that accounting needs."""

    n: int | None = None
    max_new_tokens: int | None = None
    beam_width: int | None = None

    @property
    def samples(self) -> int:
        """Samples that the engine runs: of a beam search n is how many beams are returned."""
        return 1 if (self.beam_width or 1) > 1 else self.n or 1


class Parameters(msgspec.Struct, gc=False):
    """request_parameters: GenerateReqInput or EmbeddingReqInput as the engine received it.

    received_time is the engine's monotonic clock in seconds, equal for all parts of one call.
    """

    rid: str | None = None
    text: msgspec.Raw = ABSENT
    input_ids: msgspec.Raw = ABSENT
    stream: bool | None = None
    sampling_params: Sampling | None = None
    lora_path: str | None = None
    lora_id: str | None = None
    custom_labels: msgspec.Raw = ABSENT
    bootstrap_host: str | None = None
    bootstrap_port: int | None = None
    bootstrap_room: int | None = None
    received_time: msgspec.Raw = ABSENT
    is_cross_encoder_request: bool | None = None


class CachedTokens(msgspec.Struct, gc=False):
    """cached_tokens_details: where the hit was found, in tokens."""

    device: Count = None
    host: Count = None
    storage: Count = None


class MetaInfo(msgspec.Struct, gc=False):
    """meta_info of one finished request: counts in tokens, *_ts and *_time in epoch seconds.

    The members kept raw are read as decimal text, so that no instant passes through a float.
    """

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
