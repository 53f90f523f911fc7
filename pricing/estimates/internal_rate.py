"""Internal rates of return, by pyxirr; estimates in float (docs/roi.md).

A series whose sign changes more than once may have several rates that all solve it. It is flagged;
where it does have several, the rate is withheld and the modified rate says what the flows earn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyxirr

from pricing.cash_flow import sign_changes, yearly_rate

RATE_MIN, RATE_MAX = -0.95, 99.0  # per month; where roots are looked for
GRID_POINTS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalRates:
    """Rates of a series of monthly flows, as ratios (0.1 is 10 %); None where none can be given.

    irr_month per month; irr_year its effective yearly rate; xirr from the dates, actual/365;
    mirr_year: financed and reinvested at the cost of capital; finding: what to know about them.
    """

    irr_month: float | None
    irr_year: float | None
    xirr: float | None
    mirr_year: float | None
    finding: str | None


def internal_rates(
    flows: Sequence[float], dates: Sequence[date], *, rate_per_month: float
) -> InternalRates:
    """Rates of monthly `flows` on `dates`; rate_per_month: cost of capital for the MIRR."""
    changes = sign_changes(flows)
    roots = 1 if changes == 1 else count_roots(flows)
    month = pyxirr.irr(list(flows), silent=True) if roots == 1 else None
    modified = pyxirr.mirr(list(flows), rate_per_month, rate_per_month, silent=True)
    return InternalRates(
        irr_month=month,
        irr_year=None if month is None else yearly_rate(month),
        xirr=pyxirr.xirr(list(dates), list(flows), silent=True) if roots == 1 else None,
        mirr_year=None if modified is None else yearly_rate(modified),
        finding=_finding(changes, roots),
    )


def count_roots(flows: Sequence[float]) -> int:
    """Rates per month between RATE_MIN and RATE_MAX at which the present value crosses 0."""
    growth = np.geomspace(1 + RATE_MIN, 1 + RATE_MAX, GRID_POINTS)
    values = np.polynomial.polynomial.polyval(1 / growth, np.asarray(flows, dtype=np.float64))
    signs = np.sign(values)
    return int(np.count_nonzero(np.diff(signs[signs != 0])))


def _finding(changes: int, roots: int) -> str | None:
    if changes == 1:
        return None
    if changes == 0:
        return "no internal rate: the flows never change sign"
    if roots == 1:
        return f"the flows change sign {changes} times; one rate solves them, compare NPV and MIRR"
    return f"the flows change sign {changes} times and {roots} rates solve them: use NPV or MIRR"
