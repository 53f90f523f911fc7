"""The book's TOML form (docs/prices/format.md), read with every mistake named at once."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pricing.books.findings import BookRefused, Finding
from pricing.books.holiday_dates import FIRST_YEAR, LAST_YEAR, holiday_dates
from pricing.books.toml_lines import TomlLines
from pricing.books.toml_table import Reading, Table
from pricing.books.toml_text import write_book
from pricing.books.validate import errors
from pricing.money import minor_unit
from pricing.price_book import Book
from pricing.price_entry import SECONDS_PER_DAY, Band, Contract, Entry, ServiceTier, Tier

__all__ = ["read_book", "write_book"]

BOOK_CHARACTERS_MAX: Final = 32 * 1024 * 1024
REVISION_DIGITS: Final = 12  # hex digits of SHA-256 over the text
GLOB_LENGTH_MAX: Final = 200
PERCENT_MAX: Final = 100
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)  # stands in until the finding is raised
RESERVED: Final = "is reserved: prices over a whole period cannot be said yet."


def read_book(text: str, *, name_of_file: str = "book") -> Book:
    """The book that `text` says, valid as a whole; its revision is a digest of the text.

    Raises BookRefused with all errors, each with its line and what to do. Holidays come from the
    text's own [holidays] table, or else from the `holidays` library.
    """
    book, found = parse_book(text)
    if book is None or found:
        raise BookRefused(found, name_of_file)
    return book


def parse_book(text: str) -> tuple[Book | None, list[Finding]]:
    """The book, and every error in it; None if it cannot be read at all."""
    if len(text) > BOOK_CHARACTERS_MAX:
        message = f"the book has more than {BOOK_CHARACTERS_MAX} characters."
        return None, [Finding("error", None, "book", message, "Split it.")]
    try:
        raw = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        return None, [Finding("error", None, "TOML", f"{error}.", "Correct the syntax.")]
    reading = Reading(TomlLines(text))
    book = _book(Table(raw, (), reading), reading)
    if book is None or reading.found:
        return None, reading.found
    revision = sha256(text.encode()).hexdigest()[:REVISION_DIGITS]
    return replace(book, revision=revision), errors(book)


def _book(root: Table, reading: Reading) -> Book | None:
    """The whole file; None if a part that everything needs is missing."""
    reading.zone = root.take("timezone", '"Asia/Shanghai"', _zone) or reading.zone
    name = root.text("book", required=True)
    currency = root.take("currency", '"CNY"', _currency, required=True)
    root.refuse("volume", RESERVED)
    tables = root.tables("price")
    if not tables:
        root.error("price", "the book has no [[price]].", "Add one for each model.")
    entries = tuple(entry for table in tables if (entry := _entry(table)))
    contracts = tuple(c for table in root.tables("contract") if (c := _contract(table)))
    listed = _own_holidays(root.table("holidays"))
    root.finish()
    if name is None or currency is None:
        return None
    return Book(
        name=name,
        currency=currency,
        zone=reading.zone,
        entries=entries,
        contracts=contracts,
        holidays=_holidays(entries, listed, root),
    )


def _zone(raw: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(raw))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"expected a time zone such as Asia/Shanghai, got {raw!r:.80}") from None


def _currency(raw: object) -> str:
    minor_unit(str(raw))
    return str(raw)


def _entry(table: Table) -> Entry | None:
    """One [[price]]."""
    model = table.text("model", required=True)
    aliases, globs = table.texts("aliases"), table.texts("match")
    if any(len(glob) > GLOB_LENGTH_MAX for glob in globs):
        table.error("match", f"a glob exceeds {GLOB_LENGTH_MAX} characters.", "Shorten it.")
    effective_from = table.time("effective_from", required=True)
    entry = Entry(
        model=model or "",
        aliases=aliases,
        match=globs,
        effective_from=effective_from or EPOCH,
        effective_until=table.time("effective_until"),
        published_at=table.time("published_at"),
        source=table.text("source"),
        checked_on=table.day("checked_on"),
        prices=table.prices("per_million_tokens", required=True),
        promotion=table.truth("promotion"),
        tiers=_tiers(table),
        bands=tuple(band for inner in table.tables("band") if (band := _band(inner))),
        service_tiers=tuple(t for inner in table.tables("service_tier") if (t := _service(inner))),
        regions=table.numbers("region"),
        line=table.line,
    )
    table.finish()
    return entry if model and effective_from else None


def _tiers(owner: Table) -> tuple[Tier, ...]:
    """The [[….tier]] of an entry, a band or a service tier."""
    return tuple(_tier(table) for table in owner.tables("tier"))


def _tier(table: Table) -> Tier:
    tier = Tier(
        input_from=_bound(table, "input"),
        output_from=_bound(table, "output"),
        prices=table.prices("per_million_tokens", required=True),
        line=table.line,
    )
    table.finish()
    return tier


def _bound(table: Table, side: str) -> int:
    """The least count that reaches the tier, in tokens; 0 where nothing is said."""
    above, at_or_above = table.tokens(f"{side}_tokens_above"), table.tokens(f"{side}_tokens_from")
    if above is not None and at_or_above is not None:
        table.error(f"{side}_tokens_above", f"stands beside {side}_tokens_from.", "Keep one.")
    return above + 1 if above is not None else at_or_above or 0


def _band(table: Table) -> Band | None:
    """One [[price.band]]."""
    from_second, until_second = table.clock("from"), table.clock("until")
    band = Band(
        from_second=(from_second or 0) % SECONDS_PER_DAY,
        until_second=until_second or 0,
        days=table.weekdays("days"),
        holidays=table.text("holidays", expected='"CN"'),
        prices=table.prices("per_million_tokens", required=True),
        tiers=_tiers(table),
        line=table.line,
    )
    table.finish()
    if from_second is None or until_second is None:
        return None
    if from_second == until_second:
        table.error("until", "equals from.", 'For the whole day: from = "00:00", until = "24:00".')
    return band


def _service(table: Table) -> ServiceTier | None:
    """One [[price.service_tier]]."""
    name, multiplier = table.text("name", required=True), table.number("multiplier")
    prices, tiers = table.prices("per_million_tokens"), _tiers(table)
    if (multiplier is None) == (not prices):
        table.error("name", "needs a multiplier or per_million_tokens.", "Give one of the two.")
    if multiplier is not None and tiers:
        table.error("tier", "stands beside a multiplier.", "The multiplier acts on every tier.")
    table.finish()
    if name is None:
        return None
    return ServiceTier(
        name=name, multiplier=multiplier, prices=prices, tiers=tiers, line=table.line
    )


def _contract(table: Table) -> Contract | None:
    """One [[contract]]."""
    tenant = table.text("tenant", required=True)
    effective_from = table.time("effective_from", required=True)
    percent_off, book = table.number("percent_off", '"10"'), table.text("book")
    for key in ("minimum", "allowance"):
        table.refuse(key, RESERVED)
    if (percent_off is None) == (book is None):
        table.error("tenant", "needs percent_off or book.", "Give one of the two.")
    if percent_off is not None and percent_off > PERCENT_MAX:
        table.error("percent_off", f"{percent_off} is more than 100.", "Nothing can be owed back.")
    contract = Contract(
        tenant=tenant or "",
        effective_from=effective_from or EPOCH,
        effective_until=table.time("effective_until"),
        percent_off=percent_off,
        book=book,
        line=table.line,
    )
    table.finish()
    return contract if tenant and effective_from else None


def _own_holidays(table: Table) -> dict[str, frozenset[date]]:
    """The [holidays] table: calendar → the days that the book itself lists."""
    return {calendar: frozenset(table.dates(calendar)) for calendar in table.names()}


def _holidays(
    entries: tuple[Entry, ...], listed: Mapping[str, frozenset[date]], root: Table
) -> dict[str, frozenset[date]]:
    """The days of every calendar that a band names."""
    found = dict(listed)
    first_years: dict[str, int] = {}
    for entry in entries:
        for calendar in {band.holidays for band in entry.bands if band.holidays}:
            year = max(entry.effective_from.year, FIRST_YEAR)
            first_years[calendar] = min(year, first_years.get(calendar, year))
    for calendar, year in sorted(first_years.items()):
        if calendar not in listed:
            try:
                found[calendar] = holiday_dates(calendar, range(year, LAST_YEAR + 1))
            except ValueError as error:
                root.error("holidays", f"{error}.", f"List its days: [holidays] {calendar} = […].")
    return found
