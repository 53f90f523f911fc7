"""What a server costs in a window, line by line, from assumptions that stay on the page.

Capital runs from the day of service through the asset's life, also while a server pauses; every
other line runs while the server is in service. A cost line is rounded once, to 10⁻¹⁵ of the
currency unit, and from there on only split (docs/formulas.md §5).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from metering.windows import MONTHS_PER_YEAR, Window
from pricing.attribution import QUANTA_PER_UNIT
from pricing.calendar_time import ServicePeriod, length_hours, month_shares, served
from pricing.capital import Asset, capital_charge
from pricing.energy import PowerDraw, measured_cost, nameplate_cost
from pricing.formula import Exact, exact_decimal

ENERGY, RENT = "energy", "rent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rent:
    """Rented devices: GPU-hours at a price per GPU-hour, in the currency of the costs."""

    gpu_count: int
    price_per_gpu_hour: Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCosts:
    """Cost assumptions of one server in one currency.

    in_service: local day of `zone` on which the assets' life starts.
    assets: the server, its share of the network, its spares, by name.
    monthly: charges per calendar month by name: hosting, staff, software, maintenance, bandwidth.
    """

    currency: str
    zone: ZoneInfo
    in_service: date
    assets: Mapping[str, Asset] = field(default_factory=dict)
    monthly: Mapping[str, Exact] = field(default_factory=dict)
    power: PowerDraw | None = None
    rent: Rent | None = None

    def __post_init__(self) -> None:
        names = [*self.assets, *self.monthly, ENERGY, RENT]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"cost lines need distinct names, found twice: {sorted(twice)}")


def cost_lines(
    costs: ServerCosts,
    window: Window,
    *,
    periods: Sequence[ServicePeriod],
    joules_by_hour: Mapping[datetime, Exact | float] | None = None,
) -> dict[str, Decimal]:
    """Cost of one server in `window` by line, in its currency, at most 15 fraction digits.

    periods: when the server was in service, UTC. joules_by_hour: measured energy by UTC hour;
    hours without it cost their nameplate energy.
    """
    parts = served(periods, window)
    lines: dict[str, Fraction] = {
        name: capital_charge(asset, in_service=costs.in_service, window=window, zone=costs.zone)
        for name, asset in costs.assets.items()
    }
    months = sum(
        (share for part in parts for _, share in month_shares(part, costs.zone)), Fraction(0)
    )
    lines |= {name: Fraction(amount) * months for name, amount in costs.monthly.items()}
    if costs.power is not None:
        lines[ENERGY] = sum(
            (_energy(costs.power, part, joules_by_hour) for part in parts), Fraction(0)
        )
    if costs.rent is not None:
        gpu_hours = costs.rent.gpu_count * sum(map(length_hours, parts), Fraction(0))
        lines[RENT] = gpu_hours * Fraction(costs.rent.price_per_gpu_hour)
    return {name: to_quantum(amount) for name, amount in lines.items()}


def to_quantum(amount: Exact) -> Decimal:
    """`amount` to 15 fraction digits of its currency unit, halves to even."""
    return exact_decimal(Fraction(round(Fraction(amount) * QUANTA_PER_UNIT), QUANTA_PER_UNIT))


def per_server(purchases: Mapping[str, Exact], servers: int) -> Fraction:
    """One server's share of what a group buys together: 400G, 25G and management switches.

    In the currency of the purchases; put it into `ServerCosts.assets` as an asset of its own.
    """
    return sum((Fraction(price) for price in purchases.values()), Fraction(0)) / servers


def yearly_percentage(purchase: Exact, percent_per_year: Exact) -> Fraction:
    """Monthly charge of a yearly percentage of a purchase (maintenance), in its currency."""
    return Fraction(purchase) * Fraction(percent_per_year) / 100 / MONTHS_PER_YEAR


def _energy(
    draw: PowerDraw, part: Window, joules_by_hour: Mapping[datetime, Exact | float] | None
) -> Fraction:
    if joules_by_hour is None:
        return nameplate_cost(draw, part)
    return measured_cost(draw, joules_by_hour, part)
