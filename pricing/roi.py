"""An investment case: cash flows month by month, break-evens, and what they are worth.

Planning estimates in float: they carry the word estimate to the page and never feed an invoice
(docs/decisions/0010-economics.md). Income tax and financing are left out. VAT is inside the prices
and taken off; price erosion compounds monthly from the second month on (docs/roi.md).
"""

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from metering.windows import MONTHS_PER_YEAR
from pricing.calendar_time import months_after
from pricing.cash_flow import (
    discounted_payback,
    monthly_rate,
    npv,
    payback,
    profitability_index,
)
from pricing.formula import SECONDS_PER_DAY, TOKENS_PER_PRICE_UNIT

DAYS_PER_PLANNING_MONTH = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Assumptions of one server, or of a pool taken as one, in one currency.

    Traffic at full load in tokens/s, ratios 0–1; prices per million tokens, VAT inside;
    investment at the start, residual at the end of `months`; opex per month by name.
    ramp_months: utilisation grows linearly to its value in this month. revenue_kept: share of the
    revenue that is the case's own (licence, decode side). calendar_months: real days of each
    month from `start`; else months of 30 days. kappa: server time of a cached ÷ an uncached token.
    """

    name: str
    currency: str
    start: date
    months: int = 60
    calendar_months: bool = False
    investment: float
    residual: float = 0.0
    wacc: float
    input_tokens_per_second: float
    hit_ratio: float
    output_tokens_per_second: float = 0.0
    utilization: float
    ramp_months: int = 1
    kappa: float | None = None
    price_input: float
    price_cached: float
    price_output: float = 0.0
    price_erosion_per_year: float = 0.0
    vat_rate: float = 0.0
    revenue_kept: float = 1.0
    opex_per_month: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("hit_ratio", "utilization", "price_erosion_per_year", "revenue_kept"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in 0..1, got {getattr(self, name)}")
        if self.investment < 0:
            raise ValueError(f"investment must not be negative, got {self.investment}")
        for name in ("months", "ramp_months", "input_tokens_per_second"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0, got {getattr(self, name)}")

    @property
    def opex(self) -> float:
        """Running cost per month, in the case's currency."""
        return sum(self.opex_per_month.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyMonth:
    """One month at the case's utilisation and today's prices; estimates in its currency.

    accounting: straight-line depreciation + opex; economic: annuity at WACC + opex. Break-even
    utilisations are ratios, None where none exists; prices per million input tokens, VAT inside.
    """

    gross_revenue: float
    net_revenue: float
    accounting_cost: float
    economic_cost: float
    profit: float
    economic_profit: float
    gross_margin: float | None
    margin_on_cost: float | None
    simple_payback_months: float | None
    cost_per_million_input: float | None
    break_even_utilization_gross: float | None
    break_even_utilization: float | None
    break_even_utilization_economic: float | None
    break_even_input_price: float | None
    break_even_cached_price: float | None
    break_even_hit_ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What the case's cash flows are worth; estimates in its currency, payback in months.

    break_even_*: value at which NPV is 0, all else equal; utilisation above 1 cannot be reached.
    """

    npv: float
    payback_months: float | None
    discounted_payback_months: float | None
    profitability_index: float | None
    cash_total: float
    break_even_utilization: float | None
    break_even_price_factor: float | None
    break_even_input_price: float | None


def blended_price(case: Case) -> float:
    """Price per million input tokens at the case's hit ratio, VAT inside."""
    return (1 - case.hit_ratio) * case.price_input + case.hit_ratio * case.price_cached


def full_load_revenue(case: Case, seconds: float) -> float:
    """Gross revenue of `seconds` seconds at utilisation 1 and today's prices, in its currency."""
    per_second = (
        case.input_tokens_per_second * blended_price(case)
        + case.output_tokens_per_second * case.price_output
    )
    return seconds / TOKENS_PER_PRICE_UNIT * per_second


def month_seconds(case: Case, index: int) -> int:
    """Seconds of month `index` (1-based): 30 days, or the real days from the case's start."""
    if not case.calendar_months:
        return DAYS_PER_PLANNING_MONTH * SECONDS_PER_DAY
    month = months_after(case.start.replace(day=1), index - 1)
    return monthrange(month.year, month.month)[1] * SECONDS_PER_DAY


def revenue_factor(case: Case, index: int) -> float:
    """Share of today's full-load gross revenue that month `index` (1-based) keeps, net of VAT."""
    ramp = min(1.0, index / case.ramp_months)
    erosion: float = (1 - case.price_erosion_per_year) ** ((index - 1) / MONTHS_PER_YEAR)
    return case.utilization * ramp * erosion * case.revenue_kept / (1 + case.vat_rate)


def monthly_revenues(case: Case) -> list[float]:
    """Net revenue of each month, first to last, in the case's currency."""
    return [
        full_load_revenue(case, month_seconds(case, index)) * revenue_factor(case, index)
        for index in range(1, case.months + 1)
    ]


def cash_flows(case: Case) -> list[float]:
    """Flow 0: the investment; flow t: month t's net revenue − opex, the last with the residual.

    In the case's currency.
    """
    flows = [-case.investment, *(revenue - case.opex for revenue in monthly_revenues(case))]
    flows[-1] += case.residual
    return flows


def flow_dates(case: Case) -> list[date]:
    """Dates of the flows: the first day of each month from the case's start."""
    return [months_after(case.start, index) for index in range(case.months + 1)]


def outlook(case: Case) -> Outlook:
    """NPV, payback and break-evens of the case's cash flows."""
    flows, rate = cash_flows(case), monthly_rate(case.wacc)
    value = npv(rate, flows)
    earned = npv(rate, [0.0, *monthly_revenues(case)])
    # NPV is linear in revenue, so the factor that makes it 0 needs no search
    factor = (earned - value) / earned if earned > 0 else None
    return Outlook(
        npv=value,
        payback_months=payback(flows),
        discounted_payback_months=discounted_payback(rate, flows),
        profitability_index=profitability_index(rate, flows),
        cash_total=sum(flows),
        break_even_utilization=None if factor is None else factor * case.utilization,
        break_even_price_factor=factor,
        break_even_input_price=None if factor is None else factor * blended_price(case),
    )


def steady_month(case: Case) -> SteadyMonth:
    """A 30-day month at the case's utilisation, without ramp and erosion."""
    seconds = DAYS_PER_PLANNING_MONTH * SECONDS_PER_DAY
    gross_full = full_load_revenue(case, seconds) * case.revenue_kept
    net_full = gross_full / (1 + case.vat_rate)
    gross, net = gross_full * case.utilization, net_full * case.utilization
    accounting = (case.investment - case.residual) / case.months + case.opex
    economic = capital_charge(case) + case.opex
    tokens = case.input_tokens_per_second * seconds * case.utilization
    output_revenue = (
        case.output_tokens_per_second * seconds * case.utilization * case.price_output
    ) / TOKENS_PER_PRICE_UNIT
    # what input must earn, VAT inside, after what output earns already
    needed = _over(economic * (1 + case.vat_rate), case.revenue_kept)
    input_price = (
        None if needed is None else _over((needed - output_revenue) * TOKENS_PER_PRICE_UNIT, tokens)
    )
    return SteadyMonth(
        gross_revenue=gross,
        net_revenue=net,
        accounting_cost=accounting,
        economic_cost=economic,
        profit=net - accounting,
        economic_profit=net - economic,
        gross_margin=None if not net else 1 - accounting / net,
        margin_on_cost=None if not accounting else net / accounting - 1,
        simple_payback_months=_over(case.investment, max(net - case.opex, 0.0)),
        cost_per_million_input=_over(accounting * TOKENS_PER_PRICE_UNIT, tokens),
        break_even_utilization_gross=_over(accounting, gross_full),
        break_even_utilization=_over(accounting, net_full),
        break_even_utilization_economic=_over(economic, net_full),
        break_even_input_price=input_price,
        break_even_cached_price=_cached_price(case, input_price),
        break_even_hit_ratio=_hit_ratio(case, input_price),
    )


def capital_charge(case: Case) -> float:
    """Annuity per month that repays the investment net of the residual at WACC, in its currency."""
    rate = monthly_rate(case.wacc)
    recovery = rate / (1 - (1 + rate) ** -case.months) if rate else 1 / case.months
    return (case.investment - _present_residual(case, rate)) * recovery


def _cached_price(case: Case, input_price: float | None) -> float | None:
    """p_h at which the blended price is `input_price`, p_m as it is."""
    if input_price is None or not case.hit_ratio:
        return None
    return (input_price - (1 - case.hit_ratio) * case.price_input) / case.hit_ratio


def _hit_ratio(case: Case, input_price: float | None) -> float | None:
    """R at which the blended price is `input_price`, traffic fixed; None outside 0..1."""
    discount = case.price_input - case.price_cached
    if input_price is None or not discount:
        return None
    ratio = (case.price_input - input_price) / discount
    return ratio if 0 <= ratio <= 1 else None


def _present_residual(case: Case, rate: float) -> float:
    return float(case.residual * (1 + rate) ** -case.months)


def _over(part: float, whole: float) -> float | None:
    return part / whole if whole else None
