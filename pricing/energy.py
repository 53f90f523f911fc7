"""Electricity: power × PUE × tariff by hour (docs/formulas.md §5.2).

Energy in kWh, power in kW, prices in currency per kWh; exact fractions of what was put in.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from functools import lru_cache
from zoneinfo import ZoneInfo

from metering.windows import Window, hours
from pricing.calendar_time import ServicePeriod, length_hours, length_seconds
from pricing.formula import Exact

JOULES_PER_KWH = 3_600_000


@dataclass(frozen=True, slots=True)
class TariffBand:
    """A daily stretch of local time [from_time, until_time) and its price per kWh.

    until_time at or before from_time: the band crosses midnight.
    """

    from_time: time
    until_time: time
    price_per_kwh: Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Tariff:
    """Price of electricity in currency per kWh, by local time of `zone`; the base outside bands."""

    price_per_kwh: Exact
    zone: ZoneInfo
    bands: tuple[TariffBand, ...] = ()

    def __post_init__(self) -> None:
        taken: set[int] = set()
        for band in self.bands:
            start, end = _minute(band.from_time), _minute(band.until_time)
            minutes = {m % 1440 for m in range(start, end if end > start else end + 1440)}
            if taken & minutes:
                raise ValueError(
                    f"tariff bands overlap in {band.from_time}..{band.until_time}: "
                    f"each minute of the day needs one price"
                )
            taken |= minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerDraw:
    """Power of one server: nameplate kW × load factor (0–1) × PUE (1 or more)."""

    rated_kw: Exact
    load_factor: Exact
    pue: Exact
    tariff: Tariff

    def __post_init__(self) -> None:
        if self.pue < 1:
            raise ValueError(f"pue must be 1 or more, got {self.pue}")
        if self.rated_kw < 0 or not 0 <= self.load_factor <= 1:
            raise ValueError("rated_kw must not be negative and load_factor must lie in 0..1")

    @property
    def site_kw(self) -> Fraction:
        """Power at the meter of the site, kW."""
        return Fraction(self.rated_kw) * Fraction(self.load_factor) * Fraction(self.pue)


@lru_cache(maxsize=65_536)
def mean_price_per_kwh(tariff: Tariff, window: Window) -> Fraction:
    """Price per kWh averaged over the seconds of `window`, in the tariff's currency."""
    base = Fraction(tariff.price_per_kwh)
    seconds = length_seconds(window)
    extra = Fraction(0)
    for band, stretch in _band_stretches(tariff, window):
        extra += length_seconds(stretch) * (Fraction(band.price_per_kwh) - base)
    return base + extra / seconds if seconds else base


def nameplate_cost(draw: PowerDraw, window: Window) -> Fraction:
    """Cost of the nameplate's energy over `window`, in the tariff's currency."""
    return draw.site_kw * length_hours(window) * mean_price_per_kwh(draw.tariff, window)


def measured_cost(
    draw: PowerDraw, joules_by_hour: Mapping[datetime, Exact | float], window: Window
) -> Fraction:
    """Cost of measured energy in `window`; an hour without a sample costs its nameplate energy.

    joules_by_hour: energy of the server in each UTC hour, before PUE; of an hour that the window
    cuts, the covered share counts.
    """
    whole = Fraction(0)
    for hour in hours(window):
        part = ServicePeriod(window.start_at, window.end_at).within(hour)
        if part is None:
            continue
        joules = joules_by_hour.get(hour.start_at)
        if joules is None:
            whole += nameplate_cost(draw, part)
            continue
        kwh = Fraction(joules) / JOULES_PER_KWH * length_hours(part) * Fraction(draw.pue)
        whole += kwh * mean_price_per_kwh(draw.tariff, part)
    return whole


def _minute(at: time) -> int:
    """Minute of the day, 0–1439; bands are cut at whole minutes."""
    if at.second or at.microsecond:
        raise ValueError(f"a tariff band starts and ends on a whole minute, got {at}")
    return at.hour * 60 + at.minute


def _band_stretches(tariff: Tariff, window: Window) -> Iterator[tuple[TariffBand, Window]]:
    """Parts of `window` that lie in a band; one that crosses midnight belongs to its first day."""
    if not tariff.bands:
        return
    day = window.start_at.astimezone(tariff.zone).date() - timedelta(days=1)
    asked = ServicePeriod(window.start_at, window.end_at)
    while _instant(day, time(0), tariff.zone) < window.end_at:
        for band in tariff.bands:
            crosses = band.until_time <= band.from_time
            start = _instant(day, band.from_time, tariff.zone)
            end = _instant(day + timedelta(days=int(crosses)), band.until_time, tariff.zone)
            part = asked.within(Window(start, max(start, end)))
            if part:
                yield band, part
        day += timedelta(days=1)


def _instant(day: date, at: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, at, zone).astimezone(UTC)
