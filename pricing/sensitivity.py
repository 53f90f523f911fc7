"""What moves a case's NPV: a tornado of single drivers and a grid of two (docs/roi.md).

Estimates in float, in the case's currency.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from pricing.cash_flow import monthly_rate, npv
from pricing.roi import Case, cash_flows

DEFAULT_SPREAD = 0.2  # every driver ±20 %, the ramp halved and doubled
DEFAULT_RATIO_STEP = 0.1  # the hit ratio ±10 %, as far as 1 allows


@dataclass(frozen=True, slots=True)
class Bar:
    """NPV at a driver's low and high value; note: what the bar holds fixed."""

    driver: str
    low: float
    high: float
    note: str | None = None

    @property
    def swing(self) -> float:
        """Distance of the two NPVs, in the case's currency."""
        return abs(self.high - self.low)


def case_npv(case: Case) -> float:
    """NPV of the case's cash flows at its cost of capital, in its currency."""
    return npv(monthly_rate(case.wacc), cash_flows(case))


def tornado(case: Case, *, spread: float = DEFAULT_SPREAD) -> list[Bar]:
    """One bar per driver at (1 − spread) and (1 + spread) of its value, widest first.

    Prices are left out: they scale revenue as utilisation does, so their bar is the same one.
    """
    low, high = 1 - spread, 1 + spread
    opex = case.opex_per_month
    bars = [
        _bar("utilization", _scaled(case, low, "utilization"), _scaled(case, high, "utilization")),
        _bar(
            "price_erosion_per_year",
            _scaled(case, low, "price_erosion_per_year"),
            _scaled(case, high, "price_erosion_per_year"),
        ),
        _bar(
            "capital",
            _scaled(case, low, "investment", "residual"),
            _scaled(case, high, "investment", "residual"),
        ),
        _bar(
            "ramp_months",
            replace(case, ramp_months=max(1, case.ramp_months // 2)),
            replace(case, ramp_months=case.ramp_months * 2),
        ),
        _bar(
            "opex",
            *(
                replace(case, opex_per_month={k: v * factor for k, v in opex.items()})
                for factor in (low, high)
            ),
        ),
        _bar("wacc", _scaled(case, low, "wacc"), _scaled(case, high, "wacc")),
        _bar("residual", _scaled(case, low, "residual"), _scaled(case, high, "residual")),
        *hit_ratio_bars(case),
    ]
    return sorted(bars, key=lambda bar: -bar.swing)


def hit_ratio_bars(case: Case, *, step: float = DEFAULT_RATIO_STEP) -> list[Bar]:
    """The hit ratio at (1 ± step) of its value, with traffic fixed and, if κ is known, compute.

    The two answer different questions and may point in opposite directions.
    """
    low = case.hit_ratio * (1 - step)
    high = min(1.0, case.hit_ratio * (1 + step))
    traffic = [case_npv(replace(case, hit_ratio=ratio)) for ratio in (low, high)]
    bars = [Bar("hit_ratio", traffic[0], traffic[1], "traffic fixed")]
    if case.kappa is not None:
        compute = [case_npv(with_hit_ratio(case, ratio)) for ratio in (low, high)]
        bars.append(Bar("hit_ratio", compute[0], compute[1], "compute fixed"))
    return bars


def with_hit_ratio(case: Case, hit_ratio: float) -> Case:
    """The case at another hit ratio with its compute fixed: T follows 1 / (1 − r + κ·r)."""
    if case.kappa is None:
        raise ValueError("kappa is not known: measure it, or hold traffic fixed")
    time_before = 1 - case.hit_ratio + case.kappa * case.hit_ratio
    time_after = 1 - hit_ratio + case.kappa * hit_ratio
    if not time_after:
        raise ValueError("with kappa 0 and every token a hit, throughput has no bound")
    rate = case.input_tokens_per_second * time_before / time_after
    return replace(case, hit_ratio=hit_ratio, input_tokens_per_second=rate)


def heat_map(
    case: Case, rows: tuple[str, Sequence[float]], columns: tuple[str, Sequence[float]]
) -> list[list[float]]:
    """NPV for each pair of values of two fields of the case, a list per row value."""
    (row_field, row_values), (column_field, column_values) = rows, columns
    values = [
        case_npv(_with(_with(case, row_field, row), column_field, column))
        for row, column in product(row_values, column_values)
    ]
    width = len(column_values)
    return [values[start : start + width] for start in range(0, len(values), width)]


def _scaled(case: Case, factor: float, *names: str) -> Case:
    changed = case
    for name in names:
        changed = _with(changed, name, getattr(case, name) * factor)
    return changed


def _with(case: Case, name: str, value: float) -> Case:
    if name not in {field for field in Case.__dataclass_fields__ if field not in _NOT_NUMBERS}:
        raise ValueError(f"{name!r} is no number of a case; choose one of its numeric fields")
    return replace(case, **{name: value})  # type: ignore[arg-type] # checked above


def _bar(driver: str, low: Case, high: Case) -> Bar:
    return Bar(driver, case_npv(low), case_npv(high))


_NOT_NUMBERS = {"name", "currency", "start", "months", "calendar_months", "opex_per_month"}
