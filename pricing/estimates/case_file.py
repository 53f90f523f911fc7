"""Reads an investment case (TOML) and checks it at the door; docs/roi.md lists every key."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pricing.errors import ConfigInvalid
from pricing.estimates.monte_carlo import DRAWN, PATHS_MAX, Distribution
from pricing.hardware_catalogue import Accelerator, FigureUnknown, read_catalogue
from pricing.money import minor_unit
from pricing.roi import Case

CASE_LENGTH_MAX = 1_000_000  # characters
HOURS_PER_PLANNING_MONTH = 720
CATALOGUE_FILE = Path(__file__).parents[1] / "data" / "hardware.toml"
RENT = "rent"  # the opex line that stands for bought hardware
REMEDY = "docs/roi.md lists every key with an example."

LARGEST = 1e15  # of an amount or a rate: beyond it no sum of a case could be shown
Ratio = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, le=LARGEST)]
Positive = Annotated[float, Field(gt=0, ge=1e-9, le=LARGEST)]
Drawn = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Capital(_Table):
    assets: dict[str, Amount] = Field(default_factory=dict)
    residual: Amount = 0.0
    wacc: Annotated[float, Field(ge=-0.9, le=10)]


class _Traffic(_Table):
    input_tokens_per_second: Positive
    hit_ratio: Ratio
    output_tokens_per_second: Amount = 0.0
    utilization: Ratio
    ramp_months: Annotated[int, Field(ge=1, le=600)] = 1
    kappa: Ratio | None = None


class _Prices(_Table):
    input: Amount
    cached_input: Amount
    output: Amount = 0.0
    erosion_per_year: Ratio = 0.0
    vat_rate: Amount = 0.0
    revenue_kept: Ratio = 1.0


class _Energy(_Table):
    rated_kw: Amount | None = None
    load_factor: Ratio
    pue: Annotated[float, Field(ge=1, le=100)]
    price_per_kwh: Amount


class _Distribution(_Table):
    triangular: tuple[Drawn, Drawn, Drawn] | None = None
    uniform: tuple[Drawn, Drawn] | None = None
    normal: tuple[Drawn, Drawn] | None = None


class _MonteCarlo(_Table):
    paths: Annotated[int, Field(ge=2, le=PATHS_MAX)] = 10_000
    seed: Annotated[int, Field(ge=0)] = 1
    drivers: dict[str, _Distribution]


class CaseStated(_Table):
    """A case as it is stated, in a file or over HTTP; docs/roi.md lists every key."""

    name: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")]
    start: date
    months: Annotated[int, Field(ge=1, le=600)] = 60
    calendar_months: bool = False
    hardware: str | None = None
    capital: _Capital
    traffic: _Traffic
    prices: _Prices
    opex_per_month: dict[str, Amount] = Field(default_factory=dict)
    energy: _Energy | None = None
    monte_carlo: _MonteCarlo | None = None


@dataclass(frozen=True, slots=True)
class Draws:
    """A case's Monte Carlo: distribution of each driver, number of paths and seed."""

    drivers: Mapping[str, Distribution]
    paths: int
    seed: int


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case, its Monte Carlo if it asks for one, and the hardware that it names."""

    case: Case
    draws: Draws | None
    hardware: Accelerator | None


def packaged_catalogue() -> dict[str, Accelerator]:
    """The hardware catalogue that comes with tokentill."""
    return read_catalogue(CATALOGUE_FILE.read_text(encoding="utf-8"))


def read_case(text: str, *, name_of_file: str) -> CaseFile:
    """The case in TOML `text`. Raises ConfigInvalid with every wrong key, its place and remedy."""
    if len(text) > CASE_LENGTH_MAX:
        raise ConfigInvalid(f"{name_of_file} is longer than {CASE_LENGTH_MAX} characters.")
    try:
        read = CaseStated.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(f"{name_of_file} is no TOML: {error}.", remedy=REMEDY) from error
    except ValidationError as error:
        raise ConfigInvalid(f"{name_of_file}: {reasons(error)}.", remedy=REMEDY) from error
    return case_of(read, named=name_of_file)


def case_of(read: CaseStated, *, named: str) -> CaseFile:
    """The case that was stated. Raises ConfigInvalid, naming `named`, for what cannot be."""
    hardware = _hardware(read, named)
    try:
        minor_unit(read.currency)
        _ask_for_unknown(read, hardware)
        return CaseFile(_case(read), _draws(read.monte_carlo), hardware)
    except (ValueError, LookupError) as error:
        raise ConfigInvalid(f"{named}: {error}.", remedy=REMEDY) from error


def _case(read: CaseStated) -> Case:
    opex = dict(read.opex_per_month)
    if read.energy is not None:
        if "energy" in opex:
            raise ValueError("give energy either as [energy] or under [opex_per_month], not both")
        drawn = (read.energy.rated_kw or 0.0) * read.energy.load_factor * read.energy.pue
        opex["energy"] = drawn * read.energy.price_per_kwh * HOURS_PER_PLANNING_MONTH
    return Case(
        name=read.name,
        currency=read.currency,
        start=read.start,
        months=read.months,
        calendar_months=read.calendar_months,
        investment=sum(read.capital.assets.values()),
        residual=read.capital.residual,
        wacc=read.capital.wacc,
        price_input=read.prices.input,
        price_cached=read.prices.cached_input,
        price_output=read.prices.output,
        price_erosion_per_year=read.prices.erosion_per_year,
        vat_rate=read.prices.vat_rate,
        revenue_kept=read.prices.revenue_kept,
        opex_per_month=opex,
        **read.traffic.model_dump(),
    )


def _draws(read: _MonteCarlo | None) -> Draws | None:
    if read is None:
        return None
    unknown = sorted(set(read.drivers) - set(DRAWN))
    if unknown:
        raise ValueError(
            f"monte_carlo.drivers: {unknown[0]!r} cannot vary; choose from {', '.join(DRAWN)}"
        )
    drivers = {name: _distribution(name, shape) for name, shape in read.drivers.items()}
    return Draws(drivers, read.paths, read.seed)


def _distribution(name: str, read: _Distribution) -> Distribution:
    given: dict[str, Any] = read.model_dump(exclude_none=True)
    if len(given) != 1:
        raise ValueError(
            f"monte_carlo.drivers.{name}: give one of triangular, uniform, normal; got "
            f"{sorted(given) or 'none'}"
        )
    shape, parameters = next(iter(given.items()))
    return Distribution(shape, parameters)


def _hardware(read: CaseStated, name_of_file: str) -> Accelerator | None:
    if read.hardware is None:
        return None
    catalogue = packaged_catalogue()
    if read.hardware not in catalogue:
        raise ConfigInvalid(
            f"{name_of_file}: hardware {read.hardware!r} is not in the catalogue; it knows "
            f"{', '.join(sorted(catalogue))}.",
            remedy=REMEDY,
        )
    return catalogue[read.hardware]


def _ask_for_unknown(read: CaseStated, hardware: Accelerator | None) -> None:
    """Raises for a price or power that the file leaves out; a catalogue figure is shown, not used.

    A list price or a device's power is not what this operator pays or what a server draws. Rented
    hardware needs no asset, only opex_per_month.rent.
    """
    missing = []
    if not any(read.capital.assets.values()) and RENT not in read.opex_per_month:
        missing.append(("capital.assets.server", "server_price"))
    if read.energy is not None and read.energy.rated_kw is None:
        missing.append(("energy.rated_kw", "power_watts"))
    for key, figure in missing:
        raise ValueError(f"{key} is missing{_hint(hardware, figure)}")


def _hint(hardware: Accelerator | None, figure: str) -> str:
    if hardware is None:
        return ""
    try:
        known = hardware.figure(figure)
    except FigureUnknown as unknown:
        return f"; {unknown}"
    unit = f" {known.currency}" if known.currency else ""
    return f"; the catalogue knows {figure} {known.value}{unit} ({known.source})"


def reasons(error: ValidationError) -> str:
    """Every wrong key of a file with its place and what was expected."""
    return "; ".join(
        f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors()
    )
