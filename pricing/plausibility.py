"""Checks of figures that people bring: each says what cannot be, or nothing (docs/formulas.md §13).

They judge benchmarks and assumptions, never usage records.
"""

from collections.abc import Iterable
from fractions import Fraction

from pricing.formula import Exact

COMPUTE_SHARE_MAX = Fraction(7, 10)  # of peak FLOPs; published fleets reach 15 % to 30 %
PRODUCT_TOLERANCE = Fraction(1, 100)
FLOPS_PER_PARAMETER_AND_TOKEN = 2


def compute_share(
    *,
    tokens_per_second: Exact,
    hit_ratio: Exact,
    active_parameters: Exact,
    peak_flops_per_second: Exact,
) -> Fraction:
    """Share of peak FLOPs that a claimed throughput needs: T·(1 − r)·2·P / peak, linear layers."""
    computed = Fraction(tokens_per_second) * (1 - Fraction(hit_ratio))
    flops = computed * FLOPS_PER_PARAMETER_AND_TOKEN * Fraction(active_parameters)
    return flops / Fraction(peak_flops_per_second)


def throughput_finding(share: Exact) -> str | None:
    """What is wrong with a claimed throughput that needs this share (0–1) of peak FLOPs."""
    if share <= COMPUTE_SHARE_MAX:
        return None
    return (
        f"it would need {float(share):.1%} of peak FLOPs: ask at which hit ratio the throughput "
        f"was measured"
    )


def speed_finding(tpot_seconds: Exact, tokens_per_second: Exact) -> str | None:
    """What is wrong with a pair of TPOT (seconds) and speed per user: their product must be 1."""
    product = Fraction(tpot_seconds) * Fraction(tokens_per_second)
    if abs(product - 1) <= PRODUCT_TOLERANCE:
        return None
    return (
        f"TPOT {float(tpot_seconds):g} s and {float(tokens_per_second):g} tokens/s contradict each "
        f"other: 1/{float(tpot_seconds):g} = {float(1 / Fraction(tpot_seconds)):.2f} tokens/s"
    )


def memory_finding(weight_bytes: Exact, memory_bytes: Exact) -> str | None:
    """What is wrong with an instance whose devices hold `memory_bytes` bytes together."""
    if weight_bytes <= memory_bytes:
        return None
    return (
        f"weights of {float(weight_bytes) / 1e9:.0f} GB do not fit into "
        f"{float(memory_bytes) / 1e9:.0f} GB: an instance needs more servers"
    )


def shares_finding(shares: Iterable[Exact]) -> str | None:
    """What is wrong with shares (0–1) that should make a whole."""
    whole = sum((Fraction(share) for share in shares), Fraction(0))
    return None if whole == 1 else f"shares sum to {float(whole):g} instead of 1"


def burst_tokens_per_second(
    *, requests: int, prompt_tokens: int, last_ttft_seconds: Exact, servers: int
) -> Fraction:
    """Most tokens/s per server if that many cold prompts came at once and the last took so long."""
    return Fraction(requests * prompt_tokens) / Fraction(last_ttft_seconds) / servers
