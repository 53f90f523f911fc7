"""What the filter bar says, in the URL: every view is a link."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from dashboard.periods import PRESETS, Period, period_before, period_of

NAMES: Final = ("window", "from", "to", "compare", "model", "pool", "tenant", "lang", "zone")
DEFAULTS: Final = {"window": "month", "compare": "before"}
TEXT_MAX: Final = 200
WINDOW_MAX: Final = timedelta(days=1095)
YEARS: Final = (2000, 2100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """A window and what is shown of it. None lets everything through."""

    period: Period
    before: Period | None
    preset: str
    zone: ZoneInfo
    model: str | None = None
    pool: str | None = None
    tenant: str | None = None


def view_of(params: Mapping[str, str]) -> dict[str, str]:
    """The filters named in `params`, without nonsense and defaults."""
    view = {name: params[name][:TEXT_MAX] for name in NAMES if params.get(name)}
    if view.get("window") not in PRESETS:
        view.pop("window", None)
    if view.get("window") == "custom" and chosen_days(view) is None:
        view.pop("window")
    if view.get("window") != "custom":
        view.pop("from", None)
        view.pop("to", None)
    return {name: value for name, value in view.items() if DEFAULTS.get(name) != value}


def chosen_days(view: Mapping[str, str]) -> tuple[date, date] | None:
    """First and last day of a custom window; None for one that the API would refuse."""
    try:
        first, last = date.fromisoformat(view["from"]), date.fromisoformat(view["to"])
    except (KeyError, ValueError):
        return None
    if first > last or last - first >= WINDOW_MAX or not YEARS[0] <= first.year <= YEARS[1]:
        return None
    return first, last


def filters_of(view: Mapping[str, str], *, now: datetime, zone: ZoneInfo) -> Filters:
    """The filters that `view` means at `now`."""
    preset = view.get("window", DEFAULTS["window"])
    period = period_of(preset, now=now, zone=zone, chosen=chosen_days(view))
    compared = view.get("compare", DEFAULTS["compare"]) != "none"
    return Filters(
        period=period,
        before=period_before(period, preset, zone) if compared else None,
        preset=preset,
        zone=zone,
        model=view.get("model"),
        pool=view.get("pool"),
        tenant=view.get("tenant"),
    )
