"""Everything that is told about an investment case, as plain values for a page, a route or a file.

Planning estimates: the report carries its assumptions, conventions and findings with it.
"""

from dataclasses import asdict
from typing import Any

from pricing.cash_flow import monthly_rate
from pricing.estimates.case_file import CaseFile
from pricing.estimates.internal_rate import internal_rates
from pricing.estimates.monte_carlo import simulate
from pricing.roi import Case, cash_flows, flow_dates, outlook, steady_month
from pricing.sensitivity import heat_map, tornado

HEAT_UTILIZATION = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
HEAT_HIT_RATIO = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95)
CONVENTIONS = (
    "planning estimate, never an invoiced amount",
    "income tax and financing are left out",
    "flow 0 is not discounted; month t is discounted by (1 + WACC)^(t/12)",
    "prices include VAT, which is taken off; erosion compounds from the second month on",
    "the heat map and the bar 'traffic fixed' hold traffic fixed when the hit ratio moves",
)


def case_report(read: CaseFile) -> dict[str, Any]:
    """Figures of one case: money in its currency, rates and ratios as numbers, null unknown."""
    case = read.case
    flows, dates = cash_flows(case), flow_dates(case)
    rates = internal_rates(flows, dates, rate_per_month=monthly_rate(case.wacc))
    simulation = (
        simulate(case, read.draws.drivers, paths=read.draws.paths, seed=read.draws.seed)
        if read.draws
        else None
    )
    return {
        "name": case.name,
        "currency": case.currency,
        "hardware": read.hardware.id if read.hardware else None,
        "assumptions": _assumptions(case),
        "steady_month": asdict(steady_month(case)),
        "outlook": asdict(outlook(case)),
        "rates": asdict(rates),
        "tornado": [{**asdict(bar), "swing": bar.swing} for bar in tornado(case)],
        "heat_map": {
            "rows": {"utilization": list(HEAT_UTILIZATION)},
            "columns": {"hit_ratio": list(HEAT_HIT_RATIO)},
            "npv": heat_map(case, ("utilization", HEAT_UTILIZATION), ("hit_ratio", HEAT_HIT_RATIO)),
        },
        "monte_carlo": asdict(simulation) if simulation else None,
        "cash_flows": [
            {"date": day.isoformat(), "amount": flow}
            for day, flow in zip(dates, flows, strict=True)
        ],
        "conventions": list(CONVENTIONS),
    }


def _assumptions(case: Case) -> dict[str, Any]:
    values = asdict(case)
    values["start"] = case.start.isoformat()
    return values
