"""Who earned a request's revenue: rules that split it over prefill, decode and KV store.

Every rule gives exact fractions, so attribution adds up over requests in any order; `settled` then
rounds once to 10⁻¹⁵ by largest remainder, so the parts sum to the billed amount to the last digit
(docs/formulas.md §4). Price-line is the book of record; the others are contract terms or reports.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from math import factorial
from typing import TypeVar

from pricing.formula import Exact, exact_decimal

QUANTA_PER_UNIT = 10**15  # an amount has at most 15 fraction digits

Party = TypeVar("Party", bound=Hashable)


class Earner(StrEnum):
    """What a share of a request's revenue goes to."""

    PREFILL = "prefill"
    DECODE = "decode"
    KV_STORE = "kv_store"


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledLines:
    """Billed amounts of one request, or of any sum of requests, in one currency.

    uncached: input that was computed, cache writes included; cached: input read from cache;
    output: reasoning included; first_token: the part of `output` that is first output tokens,
    which a prefill/decode pair samples on the prefill node.
    """

    uncached: Exact = 0
    cached: Exact = 0
    output: Exact = 0
    first_token: Exact = 0

    @property
    def total(self) -> Fraction:
        """The billed amount, in the currency of the lines."""
        return Fraction(self.uncached) + Fraction(self.cached) + Fraction(self.output)


def by_price_line(
    lines: BilledLines, *, kv_share: Exact = 0, first_token_to_prefill: bool = False
) -> dict[Earner, Fraction]:
    """Input lines to prefill, the output line to decode; amounts in the currency of `lines`.

    kv_share: contract ratio 0–1 of the cached line that the KV store earns.
    """
    if not 0 <= kv_share <= 1:
        raise ValueError(f"kv_share must lie in 0..1, got {kv_share}")
    moved = Fraction(lines.first_token) if first_token_to_prefill else Fraction(0)
    kept = Fraction(lines.cached) * Fraction(kv_share)
    return {
        Earner.PREFILL: Fraction(lines.uncached) + Fraction(lines.cached) - kept + moved,
        Earner.DECODE: Fraction(lines.output) - moved,
        Earner.KV_STORE: kept,
    }


def by_cost(lines: BilledLines, costs: Mapping[Party, Exact]) -> dict[Party, Fraction]:
    """The billed amount in proportion to what the request cost each party (cost-causation).

    costs: any one unit of money or of weighted server-seconds; their ratios alone matter.
    """
    return proportional(lines.total, costs)


def by_shapley(worth: Mapping[frozenset[Party], Exact]) -> dict[Party, Fraction]:
    """Average marginal contribution of each party, in the unit of `worth` (money per second).

    worth: what each coalition earns alone; a coalition that is missing earns 0.
    """
    players = sorted({party for coalition in worth for party in coalition}, key=str)
    orders = factorial(len(players))
    shares = dict.fromkeys(players, Fraction(0))
    for player in players:
        others = [other for other in players if other != player]
        for size in range(len(players)):
            orders_of_size = factorial(size) * factorial(len(players) - size - 1)
            for coalition in map(frozenset, combinations(others, size)):
                gain = Fraction(worth.get(coalition | {player}, 0)) - Fraction(
                    worth.get(coalition, 0)
                )
                shares[player] += gain * orders_of_size / orders
    return shares


def proportional(amount: Exact, weights: Mapping[Party, Exact]) -> dict[Party, Fraction]:
    """`amount` in proportion to `weights`, exact, in the currency of `amount`.

    Raises ValueError where all weights are 0: the amount then stays a line of its own (a
    remainder), it is never dropped or divided by zero.
    """
    exact = {party: Fraction(weight) for party, weight in weights.items()}
    if any(weight < 0 for weight in exact.values()):
        raise ValueError(f"weights must not be negative, got {dict(weights)}")
    whole = sum(exact.values())
    if whole == 0:
        raise ValueError(f"no weight above 0 to split {amount} by: keep it as a line of its own")
    return {party: Fraction(amount) * weight / whole for party, weight in exact.items()}


def settled(
    shares: Mapping[Party, Exact], *, quanta_per_unit: int = QUANTA_PER_UNIT
) -> dict[Party, Decimal]:
    """`shares` rounded to 1/quanta_per_unit of the currency unit, their sum unchanged.

    Largest remainder: each share is cut toward zero, then the quanta still missing go to the
    largest cut-off parts, ties to the first. A reversal is the mirror image of its original.
    Raises ArithmeticError where the sum itself is no multiple of the quantum.
    """
    exact = [Fraction(share) * quanta_per_unit for share in shares.values()]
    whole = sum(exact, Fraction(0))
    if whole.denominator != 1:
        raise ArithmeticError(
            f"the shares sum to {whole / quanta_per_unit}, which 1/{quanta_per_unit} cannot hold"
        )
    quanta = _largest_remainder(exact, int(whole))
    return {
        party: exact_decimal(Fraction(count, quanta_per_unit))
        for party, count in zip(shares, quanta, strict=True)
    }


def _largest_remainder(exact: Sequence[Fraction], whole: int) -> list[int]:
    """Integers near `exact` that sum to `whole`."""
    sign = -1 if whole < 0 else 1
    floors = [sign * ((sign * share).__floor__()) for share in exact]
    missing = abs(whole - sum(floors))
    cut_off = [abs(share - floor) for share, floor in zip(exact, floors, strict=True)]
    by_cut_off = sorted(range(len(exact)), key=lambda index: -cut_off[index])
    for index in by_cut_off[:missing]:
        floors[index] += sign
    return floors


def split_over_servers(amount: Exact, weights: Mapping[Party, Exact]) -> dict[Party, Decimal]:
    """Revenue of an instance that spans several servers, booked once and split by weight.

    amount: in its currency, at most 15 fraction digits; weights: per server, any unit.
    """
    return settled(proportional(amount, weights))


def spread_adjustment(
    adjustment: Exact, list_amounts: Mapping[Party, Exact]
) -> dict[Party, Decimal]:
    """A discount (negative), credit or minimum spread over lines by their list price.

    Relative stand-alone price: every line keeps its share, so the price-line attribution is only
    re-scaled. In the currency of the amounts; a rest where no line has a price raises ValueError.
    """
    return settled(proportional(adjustment, list_amounts))
