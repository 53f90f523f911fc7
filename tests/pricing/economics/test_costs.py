"""Cost lines of a server: SYNTH-1 of facts/economics.md §4.2, real months, published rents."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from metering.windows import Window, month_window
from pricing.calendar_time import ServicePeriod
from pricing.capital import Asset
from pricing.costs import Rent, ServerCosts, cost_lines, per_server, to_quantum, yearly_percentage
from pricing.energy import PowerDraw, Tariff

SHANGHAI = ZoneInfo("Asia/Shanghai")
SEPTEMBER = month_window(date(2026, 9, 1), SHANGHAI)
FOREVER = [ServicePeriod(SEPTEMBER.start_at)]


def bought(purchase: int, residual: int = 0) -> Asset:
    """An asset of 60 months, straight line."""
    return Asset(purchase=purchase, residual=residual, life_months=60)


SYNTH = ServerCosts(
    currency="CNY",
    zone=SHANGHAI,
    in_service=date(2026, 9, 1),
    assets={
        "server": bought(2_500_000, 125_000),
        "network": bought(120_000),
        "spares": bought(75_000),
    },
    monthly={
        "hosting": 6_400,
        "staff": 4_000,
        "software": 3_000,
        "maintenance": yearly_percentage(2_500_000, 4),
        "bandwidth": 2_000,
    },
    power=PowerDraw(
        rated_kw=8,
        load_factor=Fraction("0.75"),
        pue=Fraction("1.25"),
        tariff=Tariff(price_per_kwh=Fraction("0.65"), zone=SHANGHAI),
    ),
)


def test_synth_1_accounting_cost():
    """70,076.67 a month: 42,833.33 depreciation + 27,243.33 operation; energy 3,510.00."""
    lines = cost_lines(SYNTH, SEPTEMBER, periods=FOREVER)
    assert lines["energy"] == 3510
    assert float(sum(lines.values())) == pytest.approx(70_076.67, abs=0.005)
    capital = float(lines["server"] + lines["network"] + lines["spares"])
    assert capital == pytest.approx(42_833.33, abs=0.005)


def test_rent_of_the_deepseek_fleet():
    """226.75 nodes · 8 GPUs · 24 h · $2 = $87,072.00 exactly (economics.md §2a)."""
    rented = ServerCosts(
        currency="USD",
        zone=SHANGHAI,
        in_service=date(2025, 2, 27),
        rent=Rent(gpu_count=8, price_per_gpu_hour=2),
    )
    start = datetime(2025, 2, 27, 4, tzinfo=UTC)
    node_hours = Window(start, start + timedelta(hours=5442))
    lines = cost_lines(rented, node_hours, periods=[ServicePeriod(start)])
    assert lines == {"rent": Decimal(87_072)}


def test_a_pause_stops_everything_but_capital():
    """Half of September in service: half of the monthly charges, all of the depreciation."""
    half = [ServicePeriod(SEPTEMBER.start_at, SEPTEMBER.start_at + timedelta(days=15))]
    lines = cost_lines(SYNTH, SEPTEMBER, periods=half)
    whole = cost_lines(SYNTH, SEPTEMBER, periods=FOREVER)
    assert lines["staff"] == 2_000
    assert lines["energy"] == Decimal(1755)
    assert lines["server"] == whole["server"]


def test_measured_energy_replaces_the_nameplate():
    """720 measured hours of 1 kWh: 720 · 1.25 · 0.65 = 585."""
    joules = {SEPTEMBER.start_at + timedelta(hours=h): 3_600_000 for h in range(720)}
    lines = cost_lines(SYNTH, SEPTEMBER, periods=FOREVER, joules_by_hour=joules)
    assert lines["energy"] == 585


def test_leap_february_costs_one_month():
    """29 days: monthly charges once; energy follows the hours: 3,510 · 29/30."""
    february = month_window(date(2028, 2, 1), SHANGHAI)
    lines = cost_lines(SYNTH, february, periods=FOREVER)
    assert lines["staff"] == 4_000
    assert lines["energy"] == Decimal(3393)


def test_network_share():
    """By hand: switches of 240,000 + 40,000 + 8,000 for six servers: 48,000 each."""
    assert per_server({"400G": 240_000, "25G": 40_000, "management": 8_000}, 6) == 48_000


def test_lines_need_distinct_names():
    """Two lines called energy could not be told apart."""
    with pytest.raises(ValueError, match="energy"):
        ServerCosts(
            currency="CNY", zone=SHANGHAI, in_service=date(2026, 1, 1), monthly={"energy": 1}
        )


def test_lines_are_rounded_to_15_digits():
    """A third of a yuan becomes 0.333333333333333, once."""
    assert to_quantum(Fraction(1, 3)) == Decimal("0.333333333333333")
