"""One table of a TOML book, taken key by key; whatever is wrong becomes a finding with its line."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

from metering.usage import COUNT_MAX, TEXT_LENGTH_MAX
from pricing.books.findings import Finding
from pricing.books.toml_lines import Path, TomlLines
from pricing.money import decimal_from_text
from pricing.price_entry import (
    DAY_NAMES,
    EVERY_DAY,
    PRICE_NAMES,
    SAME,
    SECONDS_PER_DAY,
    SECONDS_PER_HOUR,
    SECONDS_PER_MINUTE,
    Price,
)

Value = TypeVar("Value")
YEARS: Final = range(1900, 3000)
_CLOCK: Final = re.compile(r"(\d{2}):([0-5]\d)(?::([0-5]\d))?")


@dataclass
class Reading:
    """What all tables of one text share. zone: of times written without an offset."""

    lines: TomlLines
    found: list[Finding] = field(default_factory=list)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))


class Table:
    """Keys of one table. Every method takes a key once; `finish` reports those never taken."""

    def __init__(self, raw: Mapping[str, Any], path: Path, reading: Reading) -> None:
        self._left = dict(raw)
        self._known: list[str] = []
        self._path = path
        self._reading = reading

    @property
    def line(self) -> int | None:
        """Line of the table's header."""
        return self._reading.lines.of(self._path)

    def error(self, key: str, message: str, remedy: str) -> None:
        """Add a finding about `key`."""
        line = self._reading.lines.of((*self._path, key))
        where = "".join(f"[{p + 1}]" if isinstance(p, int) else f".{p}" for p in self._path)
        place = ".".join(part for part in (where.lstrip("."), key) if part)
        self._reading.found.append(Finding("error", line, place, message, remedy))

    def take(
        self, key: str, expected: str, read: Callable[[Any], Value], *, required: bool = False
    ) -> Value | None:
        """The value of `key` as `read` makes it; None, with a finding, if it cannot."""
        self._known.append(key)
        if key not in self._left:
            if required:
                self.error(key, "is missing.", f"Write {key} = {expected}.")
            return None
        raw = self._left.pop(key)
        try:
            return read(raw)
        except ValueError as error:
            self.error(key, f"{error}.", f"Write {key} = {expected}.")
            return None

    def text(self, key: str, *, required: bool = False, expected: str = '"…"') -> str | None:
        """A text."""
        return self.take(key, expected, _text, required=required)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty if missing."""
        return self.take(key, '["…"]', lambda raw: tuple(_text(v) for v in _list(raw))) or ()

    def truth(self, key: str) -> bool:
        """A truth value; false if missing."""
        return self.take(key, "true or false", _truth) or False

    def number(self, key: str, expected: str = '"0.5"') -> Decimal | None:
        """A decimal of 0 or more."""
        return self.take(key, expected, _number)

    def numbers(self, key: str) -> dict[str, Decimal]:
        """A table of decimals of 0 or more, by name."""
        table = self.table(key)
        taken = {name: table.number(name, '"1.1"') for name in table.names()}
        return {name: number for name, number in taken.items() if number is not None}

    def tokens(self, key: str) -> int | None:
        """A count of tokens."""
        return self.take(key, "200000", _tokens)

    def time(self, key: str, *, required: bool = False) -> datetime | None:
        """A time as UTC; without an offset it is a time of the book's zone, a date its midnight."""
        zone = self._reading.zone
        expected = "2026-08-20T00:00:00+08:00"
        return self.take(key, expected, lambda raw: _time(raw, zone), required=required)

    def dates(self, key: str) -> tuple[date, ...]:
        """A list of local dates, empty if missing."""
        return self.take(key, "[2026-01-01]", lambda raw: tuple(_day(v) for v in _list(raw))) or ()

    def day(self, key: str) -> date | None:
        """A local date."""
        return self.take(key, "2026-08-20", _day)

    def clock(self, key: str) -> int | None:
        """A time of day in seconds after midnight, 24:00 included."""
        return self.take(key, '"08:30"', _clock, required=True)

    def weekdays(self, key: str) -> frozenset[int]:
        """Days of the week, Monday is 0; every day if missing."""
        return self.take(key, '["mon", "tue"]', _weekdays) or EVERY_DAY

    def prices(self, key: str, *, required: bool = False) -> dict[str, Price]:
        """A table of prices per million tokens."""
        raw = self.take(key, '{ input = "8", … }', _dict, required=required)
        table = Table(raw or {}, (*self._path, key), self._reading)
        taken = {name: table.take(name, '"8"', _price(name)) for name in PRICE_NAMES}
        table.finish()
        if required and raw is not None and not raw:
            self.error(key, "holds no price.", "Give at least one.")
        return {name: price for name, price in taken.items() if price is not None}

    def tables(self, key: str) -> "list[Table]":
        """An array of tables, empty if missing."""
        raw = self.take(key, f"[[{key}]]", lambda raw: [_dict(v) for v in _list(raw)]) or []
        return [Table(t, (*self._path, key, i), self._reading) for i, t in enumerate(raw)]

    def table(self, key: str) -> "Table":
        """A table, empty if missing."""
        raw = self.take(key, f"[{key}]", _dict) or {}
        return Table(raw, (*self._path, key), self._reading)

    def names(self) -> tuple[str, ...]:
        """Keys not yet taken, for tables whose keys are data."""
        return tuple(self._left)

    def refuse(self, key: str, message: str) -> None:
        """Report `key` if it is there."""
        if self._left.pop(key, None) is not None:
            self.error(key, message, "Remove it.")

    def finish(self) -> None:
        """Report every key that no method asked for, with the nearest one that exists."""
        for key in self._left:
            near = get_close_matches(key, self._known, n=1, cutoff=0.5)
            remedy = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(self._known)}."
            self.error(key, "unknown key.", remedy)


def _unexpected(expected: str, raw: Any) -> ValueError:
    return ValueError(f"expected {expected}, got {raw!r:.80}")


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw.strip() or len(raw) > TEXT_LENGTH_MAX:
        raise _unexpected(f"a text of 1 to {TEXT_LENGTH_MAX} characters", raw)
    return raw


def _list(raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise _unexpected("a list", raw)
    return raw


def _dict(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _unexpected("a table", raw)
    return raw


def _truth(raw: Any) -> bool:
    if not isinstance(raw, bool):
        raise _unexpected("true or false", raw)
    return raw


def _number(raw: Any) -> Decimal:
    if isinstance(raw, bool) or not isinstance(raw, str | int | Decimal):
        raise _unexpected('a number such as "0.5"', raw)
    return decimal_from_text(str(raw))


def _price(name: str) -> Callable[[Any], Price]:
    def read(raw: Any) -> Price:
        return SAME if name == "cached_input" and raw == SAME else _number(raw)

    return read


def _tokens(raw: Any) -> int:
    if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw <= COUNT_MAX:
        raise _unexpected(f"a count of tokens, 0 to {COUNT_MAX}", raw)
    return raw


def _time(raw: Any, zone: ZoneInfo) -> datetime:
    if not isinstance(raw, date):
        raise _unexpected("a time", raw)
    if raw.year not in YEARS:
        raise _unexpected(f"a year of {YEARS[0]} to {YEARS[-1]}", raw)
    if not isinstance(raw, datetime):
        return datetime(raw.year, raw.month, raw.day, tzinfo=zone).astimezone(UTC)
    if raw.tzinfo is not None:
        return raw.astimezone(UTC)
    at = raw.replace(tzinfo=zone).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) != raw:
        raise ValueError(f"the clocks of {zone.key} skip {raw}")
    return at


def _day(raw: Any) -> date:
    if not isinstance(raw, date) or isinstance(raw, datetime):
        raise _unexpected("a date", raw)
    return raw


def _clock(raw: Any) -> int:
    if isinstance(raw, time) and raw.microsecond == 0:
        raw = raw.isoformat()
    parts = _CLOCK.fullmatch(raw) if isinstance(raw, str) else None
    if parts is None:
        raise _unexpected('a time of day such as "08:30"', raw)
    hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    second = hours * SECONDS_PER_HOUR + minutes * SECONDS_PER_MINUTE + seconds
    if second > SECONDS_PER_DAY:
        raise _unexpected("a time of day up to 24:00", raw)
    return second


def _weekdays(raw: Any) -> frozenset[int]:
    named = _list(raw)
    if not named or not set(map(str, named)) <= set(DAY_NAMES):
        raise _unexpected(f"days out of {', '.join(DAY_NAMES)}", raw)
    return frozenset(DAY_NAMES.index(day) for day in named)
