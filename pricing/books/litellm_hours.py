"""LiteLLM's off-peak windows as bands of the UTC day.

A window is "HH:MM-HH:MM" in UTC, may pass midnight, and is the whole day where both ends are equal.
Weekdays (1 is Monday) are asked of each instant, on the calendar of weekday_timezone.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from pricing.price_entry import (
    EVERY_DAY,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    SECONDS_PER_MINUTE,
)

DAYS_PER_WEEK: Final = 7
Seconds = tuple[int, int]  # of the UTC day, half-open


def off_peak_hours(off_peak: Mapping[str, Any]) -> dict[Seconds, frozenset[int]]:
    """Seconds of the UTC day → days (Monday is 0) on which they are off-peak; none overlap.

    Raises ValueError where the calendar of the weekdays changes its offset.
    """
    zone = ZoneInfo(str(off_peak.get("weekday_timezone", "UTC")))
    offset = _offset_seconds(zone)
    rules = [{"hours_utc": off_peak.get("hours_utc", [])}, *(off_peak.get("windows") or ())]
    by_day: dict[int, list[Seconds]] = defaultdict(list)
    for rule in rules:
        days = frozenset(int(day) - 1 for day in rule.get("weekdays", ())) or EVERY_DAY
        hours = rule["hours_utc"]
        for window in [hours] if isinstance(hours, str) else hours:
            for seconds in _pieces(window, -offset % SECONDS_PER_DAY):
                days_later = (seconds[0] + offset) // SECONDS_PER_DAY
                for day in days:
                    by_day[(day - days_later) % DAYS_PER_WEEK].append(seconds)
    found: dict[Seconds, set[int]] = defaultdict(set)
    for day, pieces in by_day.items():
        for seconds in _joined(pieces):
            found[seconds].add(day)
    return {seconds: frozenset(days) for seconds, days in sorted(found.items())}


def _offset_seconds(zone: ZoneInfo) -> int:
    """The zone's offset from UTC in seconds."""
    offsets = {
        datetime(2026, month, 1, tzinfo=UTC).astimezone(zone).utcoffset() for month in (1, 7)
    }
    offset = offsets.pop()
    if offsets or offset is None:
        raise ValueError(f"asks weekdays in {zone.key}, whose clocks change")
    return int(offset.total_seconds())


def _pieces(window: str, cut: int) -> Iterator[Seconds]:
    """A window of the UTC day in pieces that pass neither midnight nor the second `cut`."""
    start, end = (_second(text) for text in window.split("-"))
    spans = [(start, end)] if start < end else [(start, SECONDS_PER_DAY), (0, end)]
    for low, high in spans:
        for piece in ((low, min(high, cut)), (max(low, cut), high)):
            if piece[0] < piece[1]:
                yield piece


def _second(text: str) -> int:
    hours, minutes = text.strip().split(":")
    return int(hours) * SECONDS_PER_HOUR + int(minutes) * SECONDS_PER_MINUTE


def _joined(pieces: list[Seconds]) -> list[Seconds]:
    """Pieces of one day, those that touch or overlap as one."""
    joined: list[Seconds] = []
    for start, end in sorted(pieces):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
