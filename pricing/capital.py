"""What a bought asset costs over its life: depreciation schedules and the economic charge.

Amounts are in the currency of the purchase, exact fractions except the annuity, whose twelfth root
is computed to 40 digits (docs/formulas.md §5.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, localcontext
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from zoneinfo import ZoneInfo

from metering.windows import MONTHS_PER_YEAR, Window
from pricing.calendar_time import ServicePeriod, asset_month, length_seconds, months_between
from pricing.formula import Exact

ROOT_DIGITS = 40
STRAIGHT_LINE_YEARS = 2  # double-declining changes to straight line for the last two years (PRC)


class Method(StrEnum):
    """How the purchase is spread over the life."""

    STRAIGHT_LINE = "straight_line"
    SUM_OF_YEARS = "sum_of_years"
    DOUBLE_DECLINING = "double_declining"
    ANNUITY = "annuity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A purchase. Amounts in one currency; life in months.

    residual: what it is sold for at the end of the life.
    wacc: yearly cost of capital, 0–1; the annuity method needs it.
    """

    purchase: Exact
    residual: Exact = 0
    life_months: int
    method: Method = Method.STRAIGHT_LINE
    wacc: Exact | None = None

    def __post_init__(self) -> None:
        if self.life_months < 1:
            raise ValueError(f"life_months must be 1 or more, got {self.life_months}")
        if not 0 <= self.residual <= self.purchase:
            raise ValueError(
                f"residual must lie in 0..purchase ({self.purchase}), got {self.residual}"
            )
        if self.method is Method.ANNUITY and self.wacc is None:
            raise ValueError("the annuity method needs wacc, the yearly cost of capital")
        if self.method in YEARLY and self.life_months % MONTHS_PER_YEAR:
            raise ValueError(f"{self.method} needs a life of whole years, got {self.life_months}")


def straight_line(asset: Asset) -> Fraction:
    """Charge per month: (purchase − residual) / months, in the currency of the asset."""
    return (Fraction(asset.purchase) - Fraction(asset.residual)) / asset.life_months


def sum_of_years(asset: Asset) -> list[Fraction]:
    """Charge per year: (purchase − residual) · years left / (1 + 2 + … + years)."""
    years = asset.life_months // MONTHS_PER_YEAR
    whole = Fraction(asset.purchase) - Fraction(asset.residual)
    return [whole * (years - year) / (years * (years + 1) // 2) for year in range(years)]


def double_declining(asset: Asset) -> list[Fraction]:
    """Charge per year: 2/years of the book value, straight line to the residual in the last two.

    The rule of PRC accounting (双倍余额递减法). No year goes below the residual.
    """
    years = asset.life_months // MONTHS_PER_YEAR
    book, residual = Fraction(asset.purchase), Fraction(asset.residual)
    charges: list[Fraction] = []
    for left in range(years, 0, -1):
        falling = book * 2 / years
        charge = (book - residual) / left if left <= STRAIGHT_LINE_YEARS else falling
        charges.append(min(charge, book - residual))
        book -= charges[-1]
    return charges


def monthly_rate(yearly_rate: Exact) -> Decimal:
    """Monthly rate m = (1 + yearly rate)^(1/12) − 1, to 40 digits."""
    with localcontext(prec=ROOT_DIGITS) as context:
        growth = Decimal(1) + _decimal(yearly_rate)
        return context.power(growth, Decimal(1) / MONTHS_PER_YEAR) - 1


def capital_recovery_factor(rate: Decimal, periods: int) -> Decimal:
    """CRF = m / (1 − (1 + m)^−n): the level charge per period that repays 1, per period."""
    with localcontext(prec=ROOT_DIGITS):
        return rate / (1 - (1 + rate) ** -periods) if rate else Decimal(1) / periods


def annuity(asset: Asset) -> Decimal:
    """Economic charge per month: (purchase − residual/(1+m)ⁿ) · CRF, in the asset's currency."""
    if asset.wacc is None:
        raise ValueError("an annuity needs wacc, the yearly cost of capital")
    rate = monthly_rate(asset.wacc)
    with localcontext(prec=ROOT_DIGITS):
        present = _decimal(asset.purchase) - _decimal(asset.residual) / (
            (1 + rate) ** asset.life_months
        )
        return present * capital_recovery_factor(rate, asset.life_months)


@lru_cache(maxsize=1024)
def monthly_charges(asset: Asset) -> Sequence[Fraction]:
    """Charge of each month of the life, first to last, in the currency of the asset."""
    if asset.method is Method.ANNUITY:
        return [Fraction(annuity(asset))] * asset.life_months
    if asset.method is Method.STRAIGHT_LINE:
        return [straight_line(asset)] * asset.life_months
    yearly = YEARLY[asset.method](asset)
    return [charge / MONTHS_PER_YEAR for charge in yearly for _ in range(MONTHS_PER_YEAR)]


def capital_charge(asset: Asset, *, in_service: date, window: Window, zone: ZoneInfo) -> Fraction:
    """The asset's charge in `window`, in its currency, exact and additive over windows.

    in_service: the local day in `zone` on which its life starts. Each month of age carries its
    charge evenly over its real seconds; before and after the life the charge is 0.
    """
    charges = monthly_charges(asset)
    asked = ServicePeriod(window.start_at, window.end_at)
    first_day, last_day = (at.astimezone(zone).date() for at in (window.start_at, window.end_at))
    whole = Fraction(0)
    for index in range(
        max(months_between(in_service, first_day) - 1, 0),
        min(months_between(in_service, last_day) + 1, len(charges)),
    ):
        month = asset_month(in_service, index, zone)
        part = asked.within(month)
        if part:
            whole += charges[index] * length_seconds(part) / length_seconds(month)
    return whole


def _decimal(value: Exact) -> Decimal:
    """`value` in the current context's precision."""
    fraction = Fraction(value)
    return Decimal(fraction.numerator) / Decimal(fraction.denominator)


YEARLY = {Method.SUM_OF_YEARS: sum_of_years, Method.DOUBLE_DECLINING: double_declining}
