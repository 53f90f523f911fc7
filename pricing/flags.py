"""Findings that travel with a request as bits of one integer; the order of bits never changes."""

from collections.abc import Iterable
from typing import Final

FLAGS: Final[tuple[str, ...]] = (
    "cached_exceeds_input",  # a leg's cached count, or parts of its input, exceed its input
    "decode_cached_differs",  # the decode leg's cached count is another than the prefill leg's
    "cached_unknown",  # billed although the cached part is unknown: both prices are the same
    "cached_equals_input",  # the hit covers the whole prompt
    "input_mismatch",  # free prefill legs of the key have other input counts
    "ambiguous_key",  # several free prefill legs and no input count to tell them apart
    "clock_skew",  # the prefill leg finished after the decode leg
    "owner_mismatch",  # the legs name two tenants; the first in order bills
    "model_differs",  # the legs name two models; the decode leg's counts
    "prefill_status_differs",  # the prefill leg failed, yet the answer was delivered
    "reasoning_exceeds_output",  # reasoning count above the output count: billed as output
    "sample_prompt",  # n > 1: the prompt was computed more often than it is billed
    "group_incomplete",  # n > 1: fewer samples than asked for were delivered
    "unknown_service_tier",  # the book does not know the service tier: base price
    "billed_uncached",  # policy decode_only = bill_uncached
    "trusted_decode",  # policy decode_only = trust_decode
    "billed_undelivered",  # policy undelivered = bill_input
    "retracted",  # the engine gave the request back at least once
    "aborted",  # the client left or the engine stopped; billed as far as it came
    "holidays_unknown",  # the book's holiday calendar does not reach this day
    "pool_policy",  # a policy of the request's pool decided, not the house's
    "tenant_policy",  # a policy of the request's tenant decided
    "billed_gateway",  # policy billing_source = gateway
    "model_policy",  # a policy of the request's model decided
)
_BIT: Final = {name: 1 << index for index, name in enumerate(FLAGS)}


def flag_bits(names: Iterable[str]) -> int:
    """The bits of the named flags. Raises KeyError for a name that is no flag."""
    bits = 0
    for name in names:
        bits |= _BIT[name]
    return bits


def flag_names(bits: int) -> list[str]:
    """Names of the flags set in `bits`, in the order of FLAGS."""
    return [name for name in FLAGS if bits & _BIT[name]]
