"""Service levels from mergeable histograms: attainment, goodput, revenue at risk (docs §11).

Percentiles are never averaged: counts of buckets are added, then read once. A bucket that a limit
cuts through may lie on either side, so every share has a lowest and a highest value. The store's
own buckets are log-spaced; an engine's histogram keeps the engine's edges. Latencies in seconds,
ratios 0–1, exact fractions of counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, isfinite, log2
from typing import NamedTuple

from pricing.attribution import proportional, settled
from pricing.formula import Exact

BUCKETS_PER_DOUBLING = 8  # the upper bound of the store's bucket b is 2^(b/8) milliseconds
MILLISECONDS_PER_SECOND = 1_000
MINUTES_PER_DAY = 1_440


@dataclass(frozen=True, slots=True)
class Weight:
    """What one bucket holds: requests, their output tokens, and what they were billed.

    revenue: in one currency; None where it is not known per bucket.
    """

    requests: int
    output_tokens: int = 0
    revenue: Decimal | None = None

    def __add__(self, other: "Weight") -> "Weight":
        known = self.revenue is not None and other.revenue is not None
        return Weight(
            self.requests + other.requests,
            self.output_tokens + other.output_tokens,
            (self.revenue or Decimal(0)) + (other.revenue or Decimal(0)) if known else None,
        )


class Bucket(NamedTuple):
    """Latencies of more than `above_seconds` and at most `up_to_seconds` seconds."""

    above_seconds: float
    up_to_seconds: float


Histogram = Mapping[Bucket, Weight]


@dataclass(frozen=True, slots=True)
class Share:
    """A ratio 0–1 that lies between `low` and `high`; None: nothing was measured."""

    low: Fraction | None
    high: Fraction | None


UNKNOWN = Share(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attainment:
    """Share that met a limit, by request, by output token, by revenue, and the money at risk.

    goodput: requests that met it per second, low to high. at_risk: billed to requests that
    missed it or may have; None where revenue is not known.
    """

    by_request: Share
    by_token: Share
    by_revenue: Share
    goodput: Share
    revenue_at_risk: Decimal | None


def merged(histograms: Iterable[Histogram]) -> dict[Bucket, Weight]:
    """Counts of several hours, nodes or models added up, bucket by bucket."""
    whole: dict[Bucket, Weight] = {}
    for histogram in histograms:
        for bucket, weight in histogram.items():
            whole[bucket] = whole[bucket] + weight if bucket in whole else weight
    return whole


def with_revenue(histogram: Histogram, revenue: Decimal) -> dict[Bucket, Weight]:
    """`histogram` with what its requests were billed, spread by their output tokens.

    revenue: of the same requests, at most 15 fraction digits. An estimate per bucket (the roll-up
    keeps no money by latency) whose sum is exact; without output tokens the revenue stays unknown.
    """
    tokens = {bucket: weight.output_tokens for bucket, weight in histogram.items()}
    if not any(tokens.values()):
        return dict(histogram)
    amounts = settled(proportional(revenue, tokens))
    return {
        bucket: Weight(weight.requests, weight.output_tokens, amounts[bucket])
        for bucket, weight in histogram.items()
    }


def log_spaced(number: int) -> Bucket:
    """Edges of the store's bucket `number` in seconds; 0 holds all up to 1 millisecond."""
    return Bucket(_edge_seconds(number - 1) if number else 0.0, _edge_seconds(number))


def _edge_seconds(number: int) -> float:
    return float(2 ** (number / BUCKETS_PER_DOUBLING) / MILLISECONDS_PER_SECOND)


def bucket_of(seconds: float) -> Bucket:
    """The store's bucket that counts a latency of `seconds` seconds."""
    milliseconds = seconds * MILLISECONDS_PER_SECOND
    doublings = log2(milliseconds) if milliseconds > 1 else 0.0
    return log_spaced(ceil(doublings * BUCKETS_PER_DOUBLING))


def attainment(
    histogram: Histogram, limit_seconds: float, *, window_seconds: Exact, failed_requests: int = 0
) -> Attainment:
    """Who met a limit of `limit_seconds` in a window of `window_seconds` seconds.

    failed_requests: dropped, rejected or failed ones; they count as missed, or a server could
    improve its figures by turning requests away.
    """
    low, high, whole = _met(histogram, limit_seconds)
    asked = whole.requests + failed_requests
    seconds = Fraction(window_seconds)
    return Attainment(
        by_request=_share(low.requests, high.requests, asked),
        by_token=_share(low.output_tokens, high.output_tokens, whole.output_tokens),
        by_revenue=_revenue_share(low, high, whole),
        goodput=_share(low.requests, high.requests, seconds),
        revenue_at_risk=(
            None if whole.revenue is None or low.revenue is None else whole.revenue - low.revenue
        ),
    )


def token_attainment(histogram: Histogram, limit_seconds: float) -> Attainment:
    """Who met a limit where the histogram counts tokens and no requests: by token alone."""
    low, high, whole = _met(histogram, limit_seconds)
    return Attainment(
        by_request=UNKNOWN,
        by_token=_share(low.output_tokens, high.output_tokens, whole.output_tokens),
        by_revenue=UNKNOWN,
        goodput=UNKNOWN,
        revenue_at_risk=None,
    )


def _met(histogram: Histogram, limit_seconds: float) -> tuple[Weight, Weight, Weight]:
    """Who surely met the limit, who may have, and all."""
    surely = [w for b, w in histogram.items() if b.up_to_seconds <= limit_seconds]
    perhaps = [w for b, w in histogram.items() if b.above_seconds < limit_seconds]
    return _sum(surely), _sum(perhaps), _sum(list(histogram.values()))


def percentile_seconds(
    histogram: Histogram, ratio: Exact, *, by_token: bool = False
) -> float | None:
    """Upper bound, in seconds, of the bucket that holds the request at `ratio` (0.99: P99).

    by_token: the output token instead. None: nothing was counted, or the bucket has no bound.
    """
    counts = {b: w.output_tokens if by_token else w.requests for b, w in histogram.items()}
    whole = sum(counts.values())
    if not whole:
        return None
    wanted, seen = Fraction(ratio) * whole, 0
    for bucket in sorted(counts, key=lambda each: each.up_to_seconds):
        seen += counts[bucket]
        if seen >= wanted:
            return bucket.up_to_seconds if isfinite(bucket.up_to_seconds) else None
    raise ValueError(f"ratio must lie in 0..1, got {ratio}")


@dataclass(frozen=True, slots=True)
class BothMet:
    """Who met two limits at once: shares of requests and of output tokens, goodput per second.

    Histograms of single measures do not say which requests met both; what is certain is between
    `low` (as few as can be in both) and `high` (as many).
    """

    by_request: Share
    by_token: Share
    goodput: Share


def both_limits(
    first: tuple[Histogram, float],
    second: tuple[Histogram, float],
    *,
    window_seconds: Exact,
    failed_requests: int = 0,
) -> BothMet:
    """Bounds on who met both limits; each is (histogram, limit in seconds).

    A request that only one histogram knows (one token has no TPOT) may have met the other limit or
    not. failed_requests count as missed.
    """
    sides = [_met(histogram, limit) for histogram, limit in (first, second)]
    asked = max(whole.requests for _, _, whole in sides)
    tokens = max(whole.output_tokens for _, _, whole in sides)
    requests = _in_both([(s.requests, p.requests, w.requests) for s, p, w in sides], asked)
    written = _in_both(
        [(s.output_tokens, p.output_tokens, w.output_tokens) for s, p, w in sides], tokens
    )
    return BothMet(
        by_request=_share(*requests, asked + failed_requests),
        by_token=_share(*written, tokens),
        goodput=_share(*requests, Fraction(window_seconds)),
    )


def _in_both(sides: Sequence[tuple[int, int, int]], whole: int) -> tuple[int, int]:
    """Fewest and most of `whole` that lie in both; each side: surely, perhaps, known."""
    low = sum(surely for surely, _, _ in sides) - whole
    return max(0, low), min(perhaps + whole - known for _, perhaps, known in sides)


def tpot_seconds(e2e_seconds: float, ttft_seconds: float, output_tokens: int) -> float | None:
    """Seconds per output token after the first; None for one token: there is no second."""
    if output_tokens <= 1:
        return None
    return (e2e_seconds - ttft_seconds) / (output_tokens - 1)


def window_mean_availability(windows: Sequence[tuple[int, int]]) -> Fraction:
    """1 − mean over windows of failed ÷ requests; each window is (failed, requests).

    A window without requests counts with an error rate of 0, so the divisor is the calendar's.
    """
    if not windows:
        raise ValueError("availability needs at least one window")
    rates = (Fraction(failed, total) if total else Fraction(0) for failed, total in windows)
    return 1 - sum(rates, Fraction(0)) / len(windows)


def request_availability(windows: Sequence[tuple[int, int]]) -> Fraction | None:
    """1 − failed ÷ requests over all windows, a ratio; None without requests."""
    asked = sum(total for _, total in windows)
    return 1 - Fraction(sum(failed for failed, _ in windows), asked) if asked else None


def error_budget_minutes(target: Exact, days: Exact) -> Fraction:
    """Minutes of outage that an availability target (0.999) allows in `days` days."""
    return (1 - Fraction(target)) * Fraction(days) * MINUTES_PER_DAY


def credit_ratio(availability: Exact, ladder: Sequence[tuple[Exact, Exact]]) -> Fraction:
    """Share of the charges credited: ladder of (below this availability, ratio 0–1).

    Half-open and exact: an availability at a step's bound is not below it; the largest ratio of
    the steps that hold counts.
    """
    held = (Fraction(ratio) for below, ratio in ladder if Fraction(availability) < Fraction(below))
    return max(held, default=Fraction(0))


def _sum(weights: Sequence[Weight]) -> Weight:
    whole = Weight(0, 0, Decimal(0))
    for weight in weights:
        whole += weight
    return whole


def _share(low: int, high: int, whole: Exact) -> Share:
    if not whole:
        return UNKNOWN
    return Share(Fraction(low) / Fraction(whole), Fraction(high) / Fraction(whole))


def _revenue_share(low: Weight, high: Weight, whole: Weight) -> Share:
    if low.revenue is None or high.revenue is None or not whole.revenue:
        return UNKNOWN
    billed = Fraction(whole.revenue)
    return Share(Fraction(low.revenue) / billed, Fraction(high.revenue) / billed)
