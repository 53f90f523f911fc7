"""A book as TOML text: the same book gives the same text, and reading it gives the same book."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from pricing.money import plain
from pricing.price_book import Book
from pricing.price_entry import (
    DAY_NAMES,
    EVERY_DAY,
    PRICE_NAMES,
    Band,
    Contract,
    Entry,
    Prices,
    ServiceTier,
    Tier,
    clock_text,
    written_above,
)

BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
MINUTE: Final = timedelta(minutes=1)
NOTHING: Final = timedelta(0)


def write_book(book: Book) -> str:
    """The book in the form of docs/prices/format.md. Prices per million tokens as text."""
    header = [f"book = {_text(book.name)}", f"currency = {_text(book.currency)}"]
    header.append(f"timezone = {_text(book.zone.key)}")
    blocks: list[Iterable[str]] = [header]
    blocks += [_entry(entry, book.zone) for entry in book.entries]
    blocks += [_contract(contract, book.zone) for contract in book.contracts]
    if book.holidays:
        blocks.append(_holidays(book.holidays))
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _text(value: str) -> str:
    """A TOML basic string; JSON's escapes are a part of TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    """A TOML key, quoted only where it must be."""
    return name if BARE_KEY.fullmatch(name) else _text(name)


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(_text(value) for value in values)}]"


def _time(at: datetime, zone: ZoneInfo) -> str:
    """Local time with its offset; UTC where the offset of old has seconds, which TOML lacks."""
    local = at.astimezone(zone)
    return (at if (local.utcoffset() or NOTHING) % MINUTE else local).isoformat()


def _prices(prices: Prices) -> str:
    named = ((name, prices[name]) for name in PRICE_NAMES if name in prices)
    pairs = (f'{name} = "{p if isinstance(p, str) else plain(p)}"' for name, p in named)
    return f"per_million_tokens = {{ {', '.join(pairs)} }}"


def _numbers(numbers: Mapping[str, Decimal]) -> Iterator[str]:
    return (f'{_key(name)} = "{plain(number)}"' for name, number in sorted(numbers.items()))


def _entry(entry: Entry, zone: ZoneInfo) -> Iterator[str]:
    stated = {
        "model": _text(entry.model),
        "aliases": _texts(entry.aliases) if entry.aliases else None,
        "match": _texts(entry.match) if entry.match else None,
        "effective_from": _time(entry.effective_from, zone),
        "effective_until": entry.effective_until and _time(entry.effective_until, zone),
        "published_at": entry.published_at and _time(entry.published_at, zone),
        "source": entry.source and _text(entry.source),
        "checked_on": entry.checked_on and entry.checked_on.isoformat(),
        "promotion": "true" if entry.promotion else None,
    }
    yield "[[price]]"
    yield from (f"{key} = {text}" for key, text in stated.items() if text is not None)
    yield _prices(entry.prices)
    yield from _tiers("price", entry.tiers)
    for band in entry.bands:
        yield from _band(band)
    for service_tier in entry.service_tiers:
        yield from _service_tier(service_tier)
    if entry.regions:
        yield "\n[price.region]"
        yield from _numbers(entry.regions)


def _tiers(owner: str, tiers: Iterable[Tier]) -> Iterator[str]:
    for tier in tiers:
        yield f"\n[[{owner}.tier]]"
        for side, least in (("input", tier.input_from), ("output", tier.output_from)):
            if written_above(least):
                yield f"{side}_tokens_above = {least - 1}"
            elif least:
                yield f"{side}_tokens_from = {least}"
        yield _prices(tier.prices)


def _band(band: Band) -> Iterator[str]:
    yield "\n[[price.band]]"
    yield f'from = "{clock_text(band.from_second)}"'
    yield f'until = "{clock_text(band.until_second)}"'
    if band.days != EVERY_DAY:
        yield f"days = {_texts(DAY_NAMES[day] for day in sorted(band.days))}"
    if band.holidays is not None:
        yield f"holidays = {_text(band.holidays)}"
    yield _prices(band.prices)
    yield from _tiers("price.band", band.tiers)


def _service_tier(service_tier: ServiceTier) -> Iterator[str]:
    yield "\n[[price.service_tier]]"
    yield f"name = {_text(service_tier.name)}"
    if service_tier.multiplier is not None:
        yield f'multiplier = "{plain(service_tier.multiplier)}"'
    else:
        yield _prices(service_tier.prices)
    yield from _tiers("price.service_tier", service_tier.tiers)


def _contract(contract: Contract, zone: ZoneInfo) -> Iterator[str]:
    yield "[[contract]]"
    yield f"tenant = {_text(contract.tenant)}"
    yield f"effective_from = {_time(contract.effective_from, zone)}"
    if contract.effective_until is not None:
        yield f"effective_until = {_time(contract.effective_until, zone)}"
    if contract.percent_off is not None:
        yield f'percent_off = "{plain(contract.percent_off)}"'
    if contract.book is not None:
        yield f"book = {_text(contract.book)}"


def _holidays(holidays: Mapping[str, frozenset[date]]) -> Iterator[str]:
    yield "[holidays]"
    for calendar, days in sorted(holidays.items()):
        yield f"{_key(calendar)} = ["
        for year in sorted({day.year for day in days}):
            listed = sorted(day.isoformat() for day in days if day.year == year)
            yield f"  {', '.join(listed)},"
        yield "]"
