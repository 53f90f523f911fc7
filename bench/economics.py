"""Cost and margin of 64 servers hour by hour over a month, a Monte Carlo, a hit-ratio curve.

    python bench/economics.py

Every server and hour gets its cost lines and its margin, exactly; all hours together cost what the
month costs, up to the quantum of each line. The hit-ratio curve is that of a trace of made-up
coding sessions, or of the agentic trace where ../shared/data/traces holds it.
"""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow.parquet as pq

from metering.windows import hours, month_window
from pricing.calendar_time import ServicePeriod
from pricing.capital import Asset
from pricing.costs import ServerCosts, cost_lines
from pricing.economics import Measured, economics
from pricing.energy import PowerDraw, Tariff, TariffBand
from pricing.estimates.monte_carlo import Distribution, simulate
from pricing.hit_curve import HitCurve, RequestBlocks, hit_curve
from pricing.roi import Case

TRACE = Path(__file__).resolve().parents[2] / "shared/data/traces/kvct_agentic_requests.parquet"
ZONE = ZoneInfo("Asia/Shanghai")
MONTH = month_window(date(2026, 10, 1), ZONE)
SERVERS, PATHS, SEED = 64, 100_000, 20260822
HOUR = 3_600
HOURLY_QUANTUM_ERROR = Fraction(1, 10**9)  # 744 hours of lines, each within half of 10⁻¹⁵


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that `work` took, and its result."""
    started = perf_counter()
    result = work()
    return round(perf_counter() - started, 2), result


def server(index: int) -> ServerCosts:
    """An invented server, in service since another month each."""
    tariff = Tariff(
        price_per_kwh=Fraction("0.65"),
        zone=ZONE,
        bands=(
            TariffBand(time(8), time(12), Fraction("1.05")),
            TariffBand(time(23), time(7), Fraction("0.32")),
        ),
    )
    return ServerCosts(
        currency="CNY",
        zone=ZONE,
        in_service=date(2025, 1 + index % 12, 1),
        assets={"server": Asset(purchase=2_500_000, residual=125_000, life_months=60)},
        monthly={"hosting": 6_400, "staff": 4_000},
        power=PowerDraw(
            rated_kw=8, load_factor=Fraction("0.75"), pue=Fraction("1.25"), tariff=tariff
        ),
    )


def month_of_servers() -> int:
    """Server-hours costed; raises if the hours of a server do not add up to its month."""
    generator = np.random.Generator(np.random.PCG64(SEED))
    costed = 0
    for index in range(SERVERS):
        costs, periods = server(index), [ServicePeriod(datetime(2025, 1, 1, tzinfo=UTC))]
        wanted = list(hours(MONTH))
        energy = generator.integers(10**7, 3 * 10**7, len(wanted)).tolist()
        joules = {hour.start_at: used for hour, used in zip(wanted, energy, strict=True)}
        traffic = generator.integers(10**8, 3 * 10**8, len(wanted)).tolist()
        spent = Fraction(0)
        for hour, tokens in zip(wanted, traffic, strict=True):
            cost = sum(cost_lines(costs, hour, periods=periods, joules_by_hour=joules).values())
            economics(
                Measured(
                    seconds=HOUR,
                    input_tokens=tokens,
                    cached_tokens=tokens * 9 // 10,
                    revenue=Fraction(tokens * 26, 10**7),
                    cost=cost,
                    rated_tokens_per_second=Fraction("83670.6"),
                )
            )
            spent += Fraction(cost)
            costed += 1
        month = cost_lines(costs, MONTH, periods=periods, joules_by_hour=joules)
        if abs(spent - Fraction(sum(month.values()))) > HOURLY_QUANTUM_ERROR:
            raise ArithmeticError(f"the hours of server {index} cost {spent}, its month {month}")
    return costed


def monte_carlo() -> dict[str, float]:
    """Mean NPV and standard error of an invented case."""
    case = Case(
        name="bench", currency="CNY", start=date(2026, 9, 1), investment=2_695_000,
        residual=125_000, wacc=0.1, input_tokens_per_second=83_670.6, hit_ratio=0.9,
        utilization=0.4, ramp_months=6, price_input=8, price_cached=2,
        price_erosion_per_year=0.3, vat_rate=0.06, opex_per_month={"all": 27_243.33},
    )  # fmt: skip
    drivers = {
        "utilization": Distribution("triangular", (0.2, 0.4, 0.6)),
        "price_erosion_per_year": Distribution("uniform", (0.2, 0.4)),
        "hit_ratio": Distribution("normal", (0.9, 0.03)),
    }
    found = simulate(case, drivers, paths=PATHS, seed=SEED)
    return {"mean": round(found.mean), "standard_error": round(found.standard_error)}


def trace() -> list[RequestBlocks]:
    """Requests by time: the agentic trace's sessions started together, or made-up ones."""
    if TRACE.is_file():
        columns = pq.read_table(TRACE).to_pydict()
        order = sorted(range(len(columns["t_s"])), key=lambda i: columns["t_s"][i])
        return [
            RequestBlocks(
                columns["trace_id"][i],
                list(zip(columns["hash_run_start"][i], columns["hash_run_len"][i], strict=True)),
                columns["input_tokens"][i],
            )
            for i in order
        ]
    generator = np.random.Generator(np.random.PCG64(SEED))
    blocks = generator.integers(200, 1_000, 700)
    requests = []
    for session, growth in generator.integers((0, 1), (700, 40), (50_000, 2)).tolist():
        blocks[session] += growth
        count = int(blocks[session])
        requests.append(RequestBlocks(f"s{session}", [(0, count)], count * 64))
    return requests


def curve_figures(curve: HitCurve) -> dict[str, Any]:
    """The hit ratio at some sizes; its blocks have 64 tokens."""
    sizes = (10_000, 100_000, 1_000_000)
    return {
        "input_tokens": curve.input_tokens,
        "hit_tokens": curve.cumulative[-1],
        "hit_ratio": {str(size): round(float(curve.hit_ratio(size) or 0), 4) for size in sizes},
    }


def main() -> None:
    """Measure and print."""
    cost_seconds, server_hours = timed(month_of_servers)
    draw_seconds, simulation = timed(monte_carlo)
    requests = trace()
    curve_seconds, curve = timed(lambda: hit_curve(requests, block_tokens=64))
    print(
        json.dumps(
            {
                "cost_and_margin": {"server_hours": server_hours, "seconds": cost_seconds},
                "monte_carlo": {"paths": PATHS, "seconds": draw_seconds, **simulation},
                "hit_curve": {
                    "requests": len(requests), "seconds": curve_seconds, **curve_figures(curve),
                },
            }
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
