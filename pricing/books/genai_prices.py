"""pydantic/genai-prices' JSON as a book: dated and time-of-day prices, tiers, variants, names.

The rules of that library which this follows: the last active condition wins; a variant replaces
single keys; a tier begins strictly above its start and moves the whole request; the first model in
the file whose clauses match owns a name.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from typing import Any, Final
from zoneinfo import ZoneInfo

from pricing.books.genai_names import Names
from pricing.books.imported import (
    IMPORT_CHARACTERS_MAX,
    Imported,
    ImportOptions,
    Sheet,
    Unsaid,
    dated_source,
    or_listed,
    replacing,
    rounded,
    with_hits,
)
from pricing.errors import BookInvalid
from pricing.money import decimal_from_text
from pricing.price_book import Book
from pricing.price_entry import SECONDS_PER_HOUR, SECONDS_PER_MINUTE, Band, Entry, ServiceTier

KEYS: Final = {
    "input_mtok": "input",
    "cache_read_mtok": "cached_input",
    "cache_write_mtok": "cache_write",
    "cache_write_5m_mtok": "cache_write",
    "cache_write_1h_mtok": "cache_write_1h",
    "output_mtok": "output",
    "output_reasoning_mtok": "reasoning",
}
SERVICE_TIER_CONTEXTS: Final = ("processing", "service_tier", "speed")
"""Keys of a variant's condition whose value is the name of a service tier."""
A_DAY: Final = date(1970, 1, 2)  # any: offsets of times are fixed
Raw = Mapping[str, Any]


def import_genai_prices(text: str, options: ImportOptions) -> Imported:
    """The models of one provider as a book; what cannot be said is listed with its reason.

    Raises BookInvalid for a text that is not genai-prices' JSON or lacks the provider.
    """
    data = _parsed(text)
    providers = {provider["id"]: provider for provider in data["providers"]}
    if options.provider not in providers:
        near = ", ".join(get_close_matches(options.provider, providers, n=3)) or "none"
        raise BookInvalid(
            f"The file has no provider {options.provider!r}; near: {near}.",
            remedy=f"Name one of: {', '.join(sorted(providers))}.",
        )
    provider = providers[options.provider]
    unsaid: list[Unsaid] = []
    origin = str(data.get("source", "genai-prices"))
    names = Names(provider["models"])
    entries: list[Entry] = []
    models = 0
    for index, model in enumerate(provider["models"]):
        reader = _Model(model, options, origin, unsaid)
        versions = or_listed(reader.id, unsaid, partial(reader.named_entries, names, index)) or []
        entries += versions
        models += bool(versions)
    for fallback in provider.get("fallback_model_providers") or ():
        reason = f"import --provider {fallback} for the models that are sold here under its prices"
        unsaid.append(Unsaid("name", "*", f"fallback provider {fallback}", reason))
    book = Book(
        name=f"genai-prices-{options.provider}",
        currency=options.currency,
        zone=ZoneInfo("UTC"),
        entries=tuple(entries),
    )
    return Imported(book=book, unsaid=tuple(dict.fromkeys(unsaid)), models=models)


def _parsed(text: str) -> Raw:
    """The JSON, its shape checked as far as the importer relies on it."""
    if len(text) > IMPORT_CHARACTERS_MAX:
        raise BookInvalid(f"The file has more than {IMPORT_CHARACTERS_MAX} characters.")
    try:
        data = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise BookInvalid(f"The file is not JSON: {error}.") from error
    if not isinstance(data, dict) or not all(map(_is_provider, data.get("providers") or [None])):
        raise BookInvalid(
            'Expected the JSON of genai-prices: {"providers": [{"id", "models"}]}.',
            remedy="Export it from the genai-prices package, or check the format's name.",
        )
    return data


def _is_provider(raw: Any) -> bool:
    """Whether `raw` has an id and a list of models with ids."""
    if not isinstance(raw, dict) or not isinstance(raw.get("id"), str):
        return False
    models = raw.get("models")
    return isinstance(models, list) and all(isinstance(m, dict) and "id" in m for m in models)


class _Model:
    """One model of the file on its way to entries."""

    def __init__(self, raw: Raw, options: ImportOptions, origin: str, unsaid: list[Unsaid]) -> None:
        self._raw = raw
        self.id = str(raw["id"])
        self._options = options
        self._origin = origin
        self._unsaid = unsaid
        prices = raw.get("prices") or {}
        self._conditions: Sequence[Raw] = (
            prices if isinstance(prices, list) else [{"prices": prices}]
        )
        self._variants: Sequence[Raw] = raw.get("price_variants") or ()
        self._noted: set[tuple[str, str]] = set()

    def named_entries(self, names: Names, index: int) -> list[Entry]:
        """The entries of the model, its aliases and globs on the first."""
        versions = self.entries()
        if versions:
            aliases, globs = names.of(index, self._unsaid)
            versions[0] = replace(versions[0], aliases=aliases, match=globs)
        return versions

    def entries(self) -> list[Entry]:
        """One entry per date at which a price changes; none if no token has a price."""
        if not any(self._sheet(c["prices"]) for c in self._conditions):
            others = sorted({key for c in self._conditions for key in _priced(c["prices"])})
            reason = f"only priced by {', '.join(others)}" if others else "has no price at all"
            self._unsaid.append(Unsaid("model", self.id, "token prices", reason))
            return []
        found: list[Entry] = []
        for at in self._starts():
            entry = self._entry(at)
            if entry is None:
                continue
            unchanged = found and entry == replace(
                found[-1], effective_from=entry.effective_from, source=entry.source
            )
            if not unchanged:
                found.append(entry)
        return found

    def _starts(self) -> list[datetime]:
        """The times (UTC) from which prices differ, the assumed beginning first."""
        begin = self._options.effective_from
        dates = {
            _start_of(part["constraint"])
            for part in (*self._conditions, *self._variants)
            if "start_date" in (part.get("constraint") or {})
        }
        return [begin, *sorted(at for at in dates if at > begin)]

    def _entry(self, at: datetime) -> Entry | None:
        """The prices in force from `at` (UTC) on."""
        active = [part for part in self._conditions if _has_begun(part, at)]
        lasting = [i for i, part in enumerate(active) if not _is_time_of_day(part)]
        standard = active[lasting[-1]] if lasting else self._conditions[0]
        bands = active[lasting[-1] + 1 :] if lasting else active
        sheet = self._sheet(standard["prices"])
        if not sheet:
            self._note("part", f"prices from {at:%Y-%m-%d}", "hold no token price")
            return None
        return Entry(
            model=self.id,
            effective_from=at,
            source=dated_source(
                self._origin, self._options, dated=at != self._options.effective_from
            ),
            prices=with_hits(sheet.base),
            tiers=sheet.tiers(),
            bands=tuple(self._band(part, sheet) for part in bands),
            service_tiers=tuple(self._service_tiers(at)),
        )

    def _band(self, part: Raw, standard: Sheet) -> Band:
        """A time-of-day condition; its prices replace all others while it holds."""
        sheet = self._sheet(part["prices"])
        constraint = part["constraint"]
        return Band(
            from_second=_second_of_day(constraint["start_time"]),
            until_second=_second_of_day(constraint["end_time"]) or 24 * SECONDS_PER_HOUR,
            prices=replacing(sheet.base, standard.names()),
            tiers=sheet.tiers(),
        )

    def _service_tiers(self, at: datetime) -> Iterator[ServiceTier]:
        """Variants that hold at `at` (UTC) and depend on nothing but a service tier."""
        sheets: dict[str, Sheet] = {}
        for variant in self._variants:
            condition = variant["when"]
            key, value = next(iter(condition.items()))
            if len(condition) > 1 or key not in SERVICE_TIER_CONTEXTS:
                self._note("part", f"variant {json.dumps(condition)}", "is no service tier")
            elif _has_begun(variant, at):
                sheet = self._sheet(variant["prices"])
                merged = sheets.setdefault(value, Sheet())
                _fill(merged, sheet)
        for name, sheet in sheets.items():
            if sheet:
                yield sheet.service_tier(name, {})

    def _sheet(self, prices: Raw) -> Sheet:
        """The token prices of one set; other units are listed."""
        sheet = Sheet()
        for key, raw in _priced(prices).items():
            name = KEYS.get(key)
            if name is None:
                self._note("part", key, "cannot be said in a book")
            elif isinstance(raw, dict):
                sheet.put(name, self._price(key, raw["base"]))
                for tier in raw["tiers"]:
                    sheet.put(name, self._price(key, tier["price"]), int(tier["start"]) + 1)
            else:
                sheet.put(name, self._price(key, raw))
        return sheet

    def _price(self, key: str, raw: Any) -> Decimal:
        return rounded(self.id, key, decimal_from_text(str(raw)), self._unsaid)

    def _note(self, kind: Any, what: str, reason: str) -> None:
        """List something once per model."""
        if (what, reason) not in self._noted:
            self._noted.add((what, reason))
            self._unsaid.append(Unsaid(kind, self.id, what, reason))


def _priced(prices: Raw) -> dict[str, Any]:
    """Keys of a price set that have a price."""
    return {key: raw for key, raw in prices.items() if key != "_type" and raw is not None}


def _fill(merged: Sheet, later: Sheet) -> None:
    """Add what `merged` lacks: of two variants the first one to price a key decides."""
    new = later.names() - merged.names()
    merged.base |= {name: price for name, price in later.base.items() if name in new}
    for least, step in later.steps.items():
        for name in new & step.keys():
            merged.put(name, step[name], least)


def _is_time_of_day(part: Raw) -> bool:
    return "start_time" in (part.get("constraint") or {})


def _has_begun(part: Raw, at: datetime) -> bool:
    """Whether the part's start date, if it has one, is not after `at` (UTC)."""
    constraint = part.get("constraint") or {}
    return "start_date" not in constraint or _start_of(constraint) <= at


def _start_of(constraint: Raw) -> datetime:
    day = date.fromisoformat(constraint["start_date"])
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _second_of_day(text: str) -> int:
    """A time of day with offset as seconds after midnight UTC."""
    clock = time.fromisoformat(text)
    at = datetime.combine(A_DAY, clock, tzinfo=clock.tzinfo or UTC).astimezone(UTC)
    return at.hour * SECONDS_PER_HOUR + at.minute * SECONDS_PER_MINUTE + at.second
