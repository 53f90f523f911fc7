"""Hardware profiles: from token counts to seconds on one server."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareProfile:
    """Rates of one server, in tokens per second, and seconds per output token of one request.

    kv_load: cached tokens brought into the engine; kv_transfer: prompt tokens moved from a prefill
    to a decode server; kv_capacity_tokens: what the KV cache of a server holds. Watts are of one
    device, without and with work.
    """

    name: str
    meaning: str
    prefill_tokens_per_second: float
    kv_load_tokens_per_second: float
    kv_transfer_tokens_per_second: float
    decode_seconds_per_token: float
    decode_seconds_per_token_per_request: float
    kv_capacity_tokens: int
    devices: int = 8
    idle_watts_per_device: float = 110.0  # assumed; nobody publishes these of an S5000
    busy_watts_per_device: float = 480.0  # assumed
    decode_requests_at_full_load: int = 64  # assumed

    def prefill_seconds(self, uncached_tokens: int, cached_tokens: int) -> float:
        """Seconds to compute `uncached_tokens` and load `cached_tokens`, one prompt at a time."""
        return (
            uncached_tokens / self.prefill_tokens_per_second
            + cached_tokens / self.kv_load_tokens_per_second
        )

    def transfer_seconds(self, input_tokens: int) -> float:
        """Seconds to move the KV cache of `input_tokens` to a decode server."""
        return input_tokens / self.kv_transfer_tokens_per_second

    def decode_seconds(self, output_tokens: int, running_requests: int) -> float:
        """Seconds from the first to the last of `output_tokens`, beside other running requests."""
        per_token = (
            self.decode_seconds_per_token
            + running_requests * self.decode_seconds_per_token_per_request
        )
        return max(output_tokens - 1, 0) * per_token


_PROFILES: Final = (
    # White paper 1: 83,670.6 billed tokens/s at r = 0.9. The paper does not say how these split;
    # 9,300 uncached tokens/s is assumed, and the load rate then follows:
    # 0.1 / 9,300 + 0.9 / 750,662 = 1 / 83,670.6. KV transfer: 400G RoCE, about 90 KB a token.
    HardwareProfile(
        name="s5000-glm-5.2",
        meaning="one 8-card MTT S5000 server with GLM-5.2 FP8 at long contexts (white paper 1)",
        prefill_tokens_per_second=9_300,
        kv_load_tokens_per_second=750_662,
        kv_transfer_tokens_per_second=440_000,
        decode_seconds_per_token=0.011,  # white paper 2: TPOT 0.011 to 0.020 s
        decode_seconds_per_token_per_request=0.000_15,
        kv_capacity_tokens=12_000_000,
    ),
    # The vendor's cold DeepSeek-V3 figure, above 4,000 tokens/s a card, times 8 cards.
    HardwareProfile(
        name="s5000-deepseek-v3",
        meaning="one 8-card MTT S5000 server at short, cold contexts (above 4,000 tokens/s a card)",
        prefill_tokens_per_second=32_000,
        kv_load_tokens_per_second=900_000,
        kv_transfer_tokens_per_second=440_000,
        decode_seconds_per_token=0.011,
        decode_seconds_per_token_per_request=0.000_15,
        kv_capacity_tokens=6_000_000,
    ),
)
PROFILES: Final = MappingProxyType({profile.name: profile for profile in _PROFILES})
LONG_CONTEXT_PROFILE: Final = "s5000-glm-5.2"
SHORT_CONTEXT_PROFILE: Final = "s5000-deepseek-v3"
