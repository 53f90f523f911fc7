"""LiteLLM's price map as a book: thresholds, tier lists, service tiers, off-peak hours, regions.

The rules of LiteLLM which this follows: the total input picks the tier and moves the whole request;
a service tier's threshold falls back to the standard's; an off-peak price replaces every other; a
missing cache price is the input price, an explicit 0 is a price.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final
from zoneinfo import ZoneInfo

from metering.usage import TEXT_LENGTH_MAX
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
from pricing.books.litellm_fields import (
    BATCH,
    INCLUSIVE_PROVIDERS,
    OLD_HIT_NAME,
    is_about_money,
    price_field,
)
from pricing.books.litellm_hours import off_peak_hours
from pricing.errors import BookInvalid
from pricing.money import TOKENS_PER_PRICE_UNIT_EXPONENT, decimal_from_text
from pricing.price_book import Book
from pricing.price_entry import Band, Entry, Price, ServiceTier

SAMPLE: Final = "sample_spec"
ORIGIN: Final = "LiteLLM model_prices_and_context_window.json"
INPUT_NAME: Final = "input_cost_per_token"
HIT_NAME: Final = "cache_read_input_token_cost"
HOUR_FIELDS: Final = frozenset({"hours_utc", "windows", "weekday_timezone"})
GEOGRAPHIES: Final = frozenset({"us", "eu"})
REGION_FIELDS: Final = {
    "regional_processing_uplift_multiplier_eu": "eu",
    "regional_processing_uplift_multiplier_us": "us",
}
Raw = Mapping[str, Any]


def import_litellm(text: str, options: ImportOptions) -> Imported:
    """The entries of one provider as a book; what cannot be said is listed with its reason.

    Raises BookInvalid for a text that is not LiteLLM's map or lacks the provider.
    """
    data = _parsed(text)
    ours = {n: raw for n, raw in data.items() if raw.get("litellm_provider") == options.provider}
    if not ours:
        providers = {str(raw.get("litellm_provider")) for raw in data.values()}
        near = ", ".join(get_close_matches(options.provider, providers, n=3)) or "none"
        raise BookInvalid(
            f"The file has no entry of provider {options.provider!r}; near: {near}.",
            remedy="Name one of the file's litellm_provider values.",
        )
    unsaid = [*_no_models(data)]
    entries = [
        entry
        for name, raw in ours.items()
        if (entry := or_listed(name, unsaid, _Entry(name, raw, options, unsaid).entry))
    ]
    names = _names(data, {entry.model for entry in entries}, options.provider)
    book = Book(
        name=f"litellm-{options.provider}",
        currency=options.currency,
        zone=ZoneInfo("UTC"),
        entries=tuple(replace(entry, aliases=names[entry.model]) for entry in entries),
    )
    return Imported(book=book, unsaid=tuple(dict.fromkeys(unsaid)), models=len(entries))


def _parsed(text: str) -> dict[str, Raw]:
    """The JSON, its shape checked as far as the importer relies on it."""
    if len(text) > IMPORT_CHARACTERS_MAX:
        raise BookInvalid(f"The file has more than {IMPORT_CHARACTERS_MAX} characters.")
    try:
        data = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise BookInvalid(f"The file is not JSON: {error}.") from error
    if not isinstance(data, dict) or not all(isinstance(raw, dict) for raw in data.values()):
        raise BookInvalid(
            "Expected LiteLLM's map: an object of objects by model name.",
            remedy="Check the file, or the format's name.",
        )
    return data


def _no_models(data: Mapping[str, Raw]) -> Iterator[Unsaid]:
    """Entries of the file that belong to no provider: its sample, its rules, dangling aliases."""
    for name, raw in data.items():
        if name == SAMPLE:
            yield Unsaid("model", name, "the entry", "is the file's own description of its fields")
        elif "alias_of" in raw:
            if raw["alias_of"] not in data:
                reason = f"is an alias of {raw['alias_of']}, which the file lacks"
                yield Unsaid("model", name, "the entry", reason)
        elif "litellm_provider" not in raw:
            yield Unsaid("model", name, "the entry", "names no provider and has no price")


def _names(data: Mapping[str, Raw], models: set[str], provider: str) -> dict[str, tuple[str, ...]]:
    """Other names of each model: aliases of the file, and the name without the provider's prefix.

    LiteLLM asks for provider and name apart, so "zai/glm-5" answers to "glm-5" within zai.
    """
    found: dict[str, list[str]] = {model: [] for model in models}
    for name, raw in data.items():
        if raw.get("alias_of") in models:
            found[raw["alias_of"]].append(name)
    short = {
        name: name.partition("/")[2]
        for model in models
        for name in (model, *found[model])
        if "/" in name and provider.startswith(name.partition("/")[0])
    }
    taken = models | {name for names in found.values() for name in names}
    counts = Counter(short.values())
    for model in models:
        for name in (model, *found[model]):
            alias = short.get(name)
            if alias and alias not in taken and counts[alias] == 1:
                found[model].append(alias)
    return {model: tuple(names) for model, names in found.items()}


class _Entry:
    """One entry of the map on its way into a book."""

    def __init__(self, name: str, raw: Raw, options: ImportOptions, unsaid: list[Unsaid]) -> None:
        self._name = name
        self._raw = raw
        self._options = options
        self._unsaid = unsaid
        self._said: set[str] = set()
        self._inclusive = raw.get("litellm_provider") in INCLUSIVE_PROVIDERS

    def entry(self) -> Entry | None:
        """The entry; None, listed, if no token of the model has a price."""
        if self._name == SAMPLE:
            return None
        sheets = self._sheets()
        standard = self._tier_list(sheets.pop(None, Sheet()))
        if not standard.base:
            others = ", ".join(field for field in self._raw if self._matters(field))
            reason = f"only priced by {others}" if others else "has no price at all"
            self._unsaid.append(Unsaid("model", self._name, "token prices", reason))
            return None
        entry = Entry(
            model=self._name,
            effective_from=self._options.effective_from,
            source=self._source(),
            prices=with_hits(standard.base),
            tiers=standard.tiers(),
            bands=tuple(self._bands(standard)),
            service_tiers=(*self._service_tiers(standard, sheets), *self._fast()),
            regions=self._regions(),
        )
        for field in self._raw:
            if self._matters(field):
                self._note(field, "cannot be said in a book")
        return entry

    def _source(self) -> str:
        """Where the price comes from: the entry's own source, if it names one, and the list."""
        listed = dated_source(ORIGIN, self._options, dated=False)
        own = self._raw.get("source")
        return f"{own} ({listed})"[:TEXT_LENGTH_MAX] if isinstance(own, str) and own else listed

    def _sheets(self) -> dict[str | None, Sheet]:
        """Token prices by service tier, None for the standard one."""
        sheets: dict[str | None, Sheet] = {}
        for field, raw in self._raw.items():
            parsed = price_field(field)
            if parsed is None or raw is None:
                continue
            self._said.add(field)
            price = self._price(field, raw)
            if field == OLD_HIT_NAME and HIT_NAME in self._raw:
                if price != self._price(HIT_NAME, self._raw[HIT_NAME]):
                    self._note(field, f"differs from {HIT_NAME}, which is written")
                continue
            threshold = parsed.threshold_tokens
            least = 0 if threshold is None else threshold + (0 if self._inclusive else 1)
            sheets.setdefault(parsed.service_tier, Sheet()).put(parsed.name, price, least)
        return sheets

    def _tier_list(self, flat: Sheet) -> Sheet:
        """The list `tiered_pricing` over the flat prices; each tier replaces all of them."""
        tiers = [t for t in self._raw.get("tiered_pricing") or () if INPUT_NAME in t]
        if not tiers:
            return flat
        self._said.add("tiered_pricing")
        sheet = Sheet()
        names = flat.names() | {f.name for t in tiers for key in t if (f := price_field(key))}
        for tier in sorted(tiers, key=lambda tier: tier["range"][0]):
            own = self._flat_prices(tier)
            if "output" in flat.base:
                own.setdefault("output", flat.base["output"])
            for name, price in replacing(own, names).items():
                sheet.put(name, price, int(tier["range"][0]) + 1 if tier["range"][0] else 0)
        return sheet

    def _flat_prices(self, table: Raw) -> dict[str, Price]:
        """Token prices of an inner table; what else it holds is listed."""
        prices: dict[str, Price] = {}
        for field, raw in table.items():
            parsed = price_field(field)
            if parsed is not None:
                prices[parsed.name] = self._price(field, raw)
            elif is_about_money(field):
                self._note(field, "cannot be said in a book")
        return prices

    def _service_tiers(
        self, standard: Sheet, sheets: Mapping[str | None, Sheet]
    ) -> Iterator[ServiceTier]:
        """Prices with a service tier's suffix, over the standard ones."""
        for name, sheet in sheets.items():
            if name is None:
                continue
            if "reasoning" in standard.names() and "reasoning" not in sheet.names():
                _reasoning_as_output(sheet)
            # A batch price without threshold stays; other tiers fall back to the standard's step.
            yield sheet.service_tier(name, {} if name == BATCH else standard.steps)

    def _fast(self) -> Iterator[ServiceTier]:
        """The multiplier of Anthropic's fast mode."""
        factor = (self._raw.get("provider_specific_entry") or {}).get("fast")
        if isinstance(factor, Decimal | int):
            yield ServiceTier(name="fast", multiplier=Decimal(factor))

    def _regions(self) -> dict[str, Decimal]:
        """Multipliers by the region that served the request."""
        self._said |= {"provider_specific_entry", *REGION_FIELDS}
        regions: dict[str, Decimal] = {}
        for field, region in REGION_FIELDS.items():
            if field in self._raw:
                regions[region] = decimal_from_text(str(self._raw[field]))
        for region, factor in (self._raw.get("provider_specific_entry") or {}).items():
            if region in GEOGRAPHIES:
                regions[region] = decimal_from_text(str(factor))
            elif region != "fast":
                self._note(f"provider_specific_entry.{region}", "is no multiplier of prices")
        return regions

    def _bands(self, standard: Sheet) -> Iterator[Band]:
        """Off-peak hours."""
        off_peak = self._raw.get("off_peak_pricing")
        if off_peak is None:
            return
        self._said.add("off_peak_pricing")
        try:
            hours = off_peak_hours(off_peak)
        except ValueError as error:
            self._note("off_peak_pricing", str(error))
            return
        prices = self._flat_prices({k: v for k, v in off_peak.items() if k not in HOUR_FIELDS})
        if kept := {name for step in standard.steps.values() for name in step} - prices.keys():
            self._note("off_peak_pricing", f"leaves {', '.join(sorted(kept))} to the tiers")
        for (from_second, until_second), days in hours.items():
            yield Band(from_second=from_second, until_second=until_second, days=days, prices=prices)

    def _price(self, field: str, raw: Any) -> Decimal:
        """USD per token as a price per million."""
        per_token = decimal_from_text(str(raw))
        per_million = per_token.scaleb(TOKENS_PER_PRICE_UNIT_EXPONENT)
        return rounded(self._name, field, per_million, self._unsaid)

    def _matters(self, field: str) -> bool:
        """Whether a field about money has not been said and is not plainly zero."""
        return is_about_money(field) and field not in self._said and bool(self._raw[field])

    def _note(self, what: str, reason: str) -> None:
        self._unsaid.append(Unsaid("part", self._name, what, reason))


def _reasoning_as_output(sheet: Sheet) -> None:
    """Reasoning follows the service tier's own output price, not the standard reasoning price."""
    for prices in (sheet.base, *sheet.steps.values()):
        if "output" in prices:
            prices["reasoning"] = prices["output"]
