"""Figures of a series of cash flows: present value and payback (docs/roi.md, docs/formulas.md §8).

Planning estimates in float, of one currency; they never feed an invoice. Conventions: flow 0 is
today and not discounted, flow t is at the end of period t, a rate is per period.
"""

from collections.abc import Sequence
from itertools import pairwise


def discounted(rate: float, flows: Sequence[float]) -> list[float]:
    """Each flow's present value at `rate` per period, in the currency of the flows."""
    return [flow / (1 + rate) ** period for period, flow in enumerate(flows)]


def npv(rate: float, flows: Sequence[float]) -> float:
    """Net present value at `rate` per period, flow 0 undiscounted, in the flows' currency.

    A spreadsheet's NPV() discounts its first value too: NPV() = npv(rate, [0, *flows]).
    """
    return sum(discounted(rate, flows))


def payback(flows: Sequence[float]) -> float | None:
    """Periods until the running sum reaches 0, linear inside the period; None: never."""
    sums: list[float] = []
    for flow in flows:
        sums.append(flow + (sums[-1] if sums else 0.0))
    if sums and sums[0] >= 0:
        return 0.0
    for period, (before, after) in enumerate(pairwise(sums)):
        if after >= 0:
            return period + before / (before - after)
    return None


def discounted_payback(rate: float, flows: Sequence[float]) -> float | None:
    """Periods until the running present value reaches 0, linear inside the period; None: never."""
    return payback(discounted(rate, flows))


def profitability_index(rate: float, flows: Sequence[float]) -> float | None:
    """Present value of what comes after ÷ the investment of flow 0; a ratio, 1 is break-even."""
    if not flows or flows[0] >= 0:
        return None
    return 1 - npv(rate, flows) / flows[0]


def sign_changes(flows: Sequence[float]) -> int:
    """How often the sign changes, zeros left out: 1 is a conventional series with one IRR."""
    signs = [flow > 0 for flow in flows if flow]
    return sum(before != after for before, after in pairwise(signs))


def yearly_rate(rate_per_month: float) -> float:
    """Effective yearly rate of a monthly one: (1 + m)¹² − 1."""
    return float((1 + rate_per_month) ** 12 - 1)


def monthly_rate(rate_per_year: float) -> float:
    """Monthly rate of an effective yearly one: (1 + y)^(1/12) − 1."""
    return float((1 + rate_per_year) ** (1 / 12) - 1)
