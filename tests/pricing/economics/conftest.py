"""SYNTH-1 of facts/economics.md §4.2: an invented server; every right value there was computed
independently."""

from dataclasses import replace
from datetime import date

import pytest

from pricing.roi import Case

SYNTH_A = Case(
    name="A",
    currency="CNY",
    start=date(2026, 9, 1),
    investment=2_695_000,
    residual=125_000,
    wacc=0.1,
    input_tokens_per_second=83_670.6,
    hit_ratio=0.9,
    utilization=0.4,
    price_input=8,
    price_cached=2,
    vat_rate=0.06,
    opex_per_month={
        "energy": 3_510,
        "hosting": 6_400,
        "staff": 4_000,
        "software": 3_000,
        "maintenance": 100_000 / 12,
        "bandwidth": 2_000,
    },
)


@pytest.fixture(scope="session")
def synth() -> dict[str, Case]:
    """Cases A (flat), B (ramp and erosion), C (35 % of revenue kept), D (half the load)."""
    b = replace(SYNTH_A, name="B", ramp_months=6, price_erosion_per_year=0.3)
    return {
        "A": SYNTH_A,
        "B": b,
        "C": replace(b, name="C", revenue_kept=0.35),
        "D": replace(b, name="D", revenue_kept=0.35, utilization=0.2, price_erosion_per_year=0.5),
    }
