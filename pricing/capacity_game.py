"""What prefill, decode and KV store would earn without one another: the Shapley rule's worths.

A prefill server can decode and a decode server can prefill, only worse; without the KV store every
cached token is computed and sold as uncached. The worth of a coalition is what it would earn per
second at its bottleneck (docs/formulas.md §4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from pricing.attribution import Earner, by_shapley
from pricing.formula import Exact


@dataclass(frozen=True, slots=True)
class Alone:
    """How each side does the other's work, as ratios above 0; assumptions.

    decode_slowdown: seconds of a prefill server on an answer ÷ those of the decode server.
    prefill_speedup: seconds of the prefill server on a prompt ÷ those of a decode server.
    """

    decode_slowdown: Exact
    prefill_speedup: Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class PairWork:
    """Work of one prefill and one decode server for the same requests.

    Seconds of each server; cold: if nothing had been cached. Revenue of the same requests, in one
    currency; cold: if its cached tokens had been sold as uncached.
    """

    prefill_seconds: Exact
    cold_prefill_seconds: Exact
    decode_seconds: Exact
    revenue: Exact
    cold_revenue: Exact


def pair_worth(work: PairWork, alone: Alone) -> dict[frozenset[Earner], Fraction]:
    """What each coalition earns per second, in the currency of `work`; the KV store alone: 0."""
    worth = {frozenset({Earner.KV_STORE}): Fraction(0)}
    for size in (1, 2):
        for servers in map(frozenset, combinations((Earner.PREFILL, Earner.DECODE), size)):
            worth[servers] = _per_second(servers, work, alone, cold=True)
            worth[servers | {Earner.KV_STORE}] = _per_second(servers, work, alone, cold=False)
    return worth


def by_capacity(work: PairWork, alone: Alone) -> dict[Earner, Fraction] | None:
    """Shapley shares of `work.revenue`, which they sum to; None: no work, nothing to weigh by.

    A share may be negative: a slow server can hold back the other one.
    """
    worth = pair_worth(work, alone)
    whole = worth[frozenset(Earner)]
    if not whole:
        return None
    shares: Mapping[Earner, Fraction] = by_shapley(worth)
    return {earner: Fraction(work.revenue) * shares[earner] / whole for earner in Earner}


def _per_second(
    servers: frozenset[Earner], work: PairWork, alone: Alone, *, cold: bool
) -> Fraction:
    prompt = Fraction(work.cold_prefill_seconds if cold else work.prefill_seconds)
    answer = Fraction(work.decode_seconds)
    if servers == {Earner.PREFILL}:
        seconds = prompt + Fraction(alone.decode_slowdown) * answer
    elif servers == {Earner.DECODE}:
        seconds = prompt / Fraction(alone.prefill_speedup) + answer
    else:
        seconds = max(prompt, answer)
    revenue = Fraction(work.cold_revenue if cold else work.revenue)
    return revenue / seconds if seconds else Fraction(0)
