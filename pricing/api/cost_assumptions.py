"""What a server costs, as its owner states it: the typed `cost_assumptions` of /v1/servers.

docs/economics.md lists every field with its unit. Nothing is filled in: a server whose price no
public source gives is asked for (`missing_costs`).
"""

from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, StringConstraints, WithJsonSchema, model_validator

from pricing.api.shapes import Currency, DecimalText, Shape, Text
from pricing.capital import Asset, Method
from pricing.costs import Rent, ServerCosts
from pricing.energy import PowerDraw, Tariff, TariffBand
from pricing.estimates.case_file import packaged_catalogue
from pricing.hardware_catalogue import FigureUnknown
from pricing.ledger.servers import Server

AMOUNT_MAX: Final = 10**12  # currency units of one line; above this it is a slip of the keyboard
LINES_MAX: Final = 50
ZONES: Final = 64  # characters of a zone's name
ANY_DAY: Final = date(2000, 1, 1)
_catalogue = cache(packaged_catalogue)


def _bounded(value: Decimal) -> Decimal:
    if value > AMOUNT_MAX:
        raise ValueError(f"expected at most {AMOUNT_MAX}, got {value}")
    return value


def _ratio(value: Decimal) -> Decimal:
    if value > 1:
        raise ValueError(f'expected a ratio from 0 to 1, such as "0.75", got {value}')
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ValueError, OSError, LookupError) as error:
        raise ValueError(f"expected an IANA name such as Asia/Shanghai, got {value!r}") from error
    return value


Money = Annotated[DecimalText, AfterValidator(_bounded)]
Ratio = Annotated[DecimalText, AfterValidator(_ratio)]
Zone = Annotated[str, StringConstraints(min_length=1, max_length=ZONES), AfterValidator(_zone)]
LocalTime = Annotated[
    time, WithJsonSchema({"type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})
]


class AssetStated(Shape):
    """Something bought: the server, its share of switches, its spares."""

    purchase: Money = Field(examples=["2500000"], description="currency, all taxes paid")
    residual: Money = Field(Decimal(0), description="currency, at the end of the life")
    life_months: Annotated[int, Field(ge=1, le=600)] = Field(examples=[60])
    method: Method = Method.STRAIGHT_LINE
    wacc: Ratio | None = Field(
        None, description="yearly cost of capital, 0–1; the annuity needs it"
    )

    def to_core(self) -> Asset:
        """The core's value."""
        return Asset(**self.model_dump())


class BandStated(Shape):
    """A daily stretch of local time with its own price of electricity."""

    from_time: LocalTime = Field(examples=["23:00"])
    until_time: LocalTime = Field(examples=["07:00"], description="exclusive; may cross midnight")
    price_per_kwh: Money = Field(examples=["0.32"])


class PowerStated(Shape):
    """Power of one server: nameplate × load, or what its samples measured, times PUE."""

    rated_kw: Money = Field(examples=["8"], description="kW; of hours without a sample")
    load_factor: Ratio = Field(Decimal(1), examples=["0.75"])
    pue: Money = Field(examples=["1.25"], description="power usage effectiveness, 1 or more")
    price_per_kwh: Money = Field(examples=["0.65"], description="outside the bands")
    bands: list[BandStated] = Field([], max_length=24)
    measured: bool = Field(default=True, description="energy of hours with samples comes from them")


class RentStated(Shape):
    """Rented devices."""

    gpu_count: Annotated[int, Field(ge=1, le=10_000)] = Field(examples=[8])
    price_per_gpu_hour: Money = Field(examples=["2"])


class CostAssumptions(Shape):
    """What one server costs, in one currency; each field is the owner's own figure."""

    currency: Currency
    timezone: Zone = Field("UTC", examples=["Asia/Shanghai"], description="of months and bands")
    in_service: date | None = Field(
        None, description="local day from which assets age; left out: the day of in_service_from"
    )
    assets: dict[Text, AssetStated] = Field({}, max_length=LINES_MAX)
    monthly: dict[Text, Money] = Field(
        {},
        max_length=LINES_MAX,
        description="currency per calendar month: hosting, staff, software, maintenance, bandwidth",
        examples=[{"hosting": "6400", "staff": "4000", "software": "3000"}],
    )
    power: PowerStated | None = None
    rent: RentStated | None = None
    reserved: dict[Text, Ratio] = Field(
        {}, max_length=LINES_MAX, description="tenant → share of the capacity kept for it, 0–1"
    )
    shared: list[Text] = Field(
        [], max_length=LINES_MAX, description="names of lines that all need, such as network"
    )

    @model_validator(mode="after")
    def _consistent(self) -> "CostAssumptions":
        lines = {*self.assets, *self.monthly, "energy", "rent"}
        if unknown := sorted(set(self.shared) - lines):
            raise ValueError(f"shared names a line that is not there: {unknown[0]!r}")
        if sum(self.reserved.values(), Decimal(0)) > 1:
            raise ValueError("reserved shares add up to more than 1")
        self.to_costs(ANY_DAY)  # the core refuses what cannot be: overlapping bands, a residual
        return self

    def to_costs(self, in_service: date) -> ServerCosts:
        """The core's value; in_service: local day where the assumptions name none."""
        zone = ZoneInfo(self.timezone)
        return ServerCosts(
            currency=self.currency,
            zone=zone,
            in_service=self.in_service or in_service,
            assets={name: asset.to_core() for name, asset in self.assets.items()},
            monthly=dict(self.monthly),
            power=None if self.power is None else _draw(self.power, zone),
            rent=None if self.rent is None else Rent(**self.rent.model_dump()),
        )


def _draw(power: PowerStated, zone: ZoneInfo) -> PowerDraw:
    bands = tuple(
        TariffBand(band.from_time, band.until_time, band.price_per_kwh) for band in power.bands
    )
    return PowerDraw(
        rated_kw=power.rated_kw,
        load_factor=power.load_factor,
        pue=power.pue,
        tariff=Tariff(price_per_kwh=power.price_per_kwh, zone=zone, bands=bands),
    )


def costs_of(server: Server) -> tuple[CostAssumptions | None, tuple[str, ...]]:
    """The server's assumptions, and what is missing in them; None: its cost is not known."""
    stated = server.cost_assumptions
    if stated is None:
        return None, missing_costs(server, {})
    read = CostAssumptions.model_validate(stated)
    return read, missing_costs(server, stated)


def missing_costs(server: Server, stated: Mapping[str, Any]) -> tuple[str, ...]:
    """What to ask the owner for, with what the hardware catalogue knows of it."""
    missing = []
    if not stated.get("assets") and not stated.get("rent"):
        missing.append(f"assets or rent{_known(server.hardware, 'server_price')}")
    if not stated.get("power") and not stated.get("rent"):
        missing.append(f"power{_known(server.hardware, 'power_watts')}")
    return tuple(missing)


def _known(hardware: str | None, figure: str) -> str:
    """What the catalogue says of `figure`; a list price is shown, never used as the owner's."""
    device = _catalogue().get(hardware or "")
    if device is None:
        return ""
    try:
        found = device.figure(figure)
    except FigureUnknown as unknown:
        return f": {unknown}"
    return f": the catalogue knows {figure} {found.value} {found.currency or ''} ({found.source})"
