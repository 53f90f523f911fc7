"""Books and the one place of the price rules: `Catalogue.quote`.

Order: base, tier, band, service tier, region, contract percent (docs/prices/format.md). The settler
asks through pricing/price_grid.py, people through `tokentill prices show`; both end here.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import zip_longest
from typing import Final
from zoneinfo import ZoneInfo

from pricing.errors import BookInvalid
from pricing.money import exact_arithmetic
from pricing.price_entry import (
    STANDARD_SERVICE_TIERS,
    Band,
    Contract,
    Entry,
    Prices,
    highest_tier,
    resolved,
    times,
)
from pricing.price_key import PriceKey
from pricing.price_names import NameIndex

NO_PRICE: Final = "no_price"
AMBIGUOUS_NAME: Final = "ambiguous_name"
UNKNOWN_SERVICE_TIER: Final = "unknown_service_tier"
HOLIDAYS_UNKNOWN: Final = "holidays_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A price list in one currency.

    zone: of dates and bands. holidays: calendar → its days, for the years in which it lists any.
    revision: of this text; two texts never share one.
    """

    name: str
    currency: str
    zone: ZoneInfo
    entries: tuple[Entry, ...]
    contracts: tuple[Contract, ...] = ()
    holidays: Mapping[str, frozenset[date]] = field(default_factory=dict)
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceQuery:
    """One request as the price sees it. at: its billing instant, UTC. Counts: totals, in tokens."""

    model_id: str
    at: datetime
    input_tokens: int = 0
    output_tokens: int = 0
    service_tier: str | None = None
    region: str | None = None
    tenant_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One rule that applied. rule: the column of PriceKey. prices: per million, after it."""

    rule: str
    name: str
    prices: Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What a request pays, or the reason why nothing can be said.

    reason: no_price or ambiguous_name where price is None; detail says it to a person. findings:
    unknown_service_tier, holidays_unknown. steps: how the prices came about.
    """

    price: PriceKey | None
    reason: str | None = None
    findings: frozenset[str] = frozenset()
    detail: str | None = None
    steps: tuple[Step, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """An entry and the UTC times between which it stands: [from_at, until_at), None: open."""

    from_at: datetime
    until_at: datetime | None
    entry: Entry

    def contains(self, at: datetime) -> bool:
        """Whether the UTC time `at` lies inside."""
        return self.from_at <= at and (self.until_at is None or at < self.until_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What decides a request: book, contract and entry, or why there is no entry."""

    book: Book
    contract: Contract | None
    entry: Entry | None
    reason: str | None = None
    detail: str | None = None


class _BookIndex:
    """A book, arranged for look-ups: names → model, model → periods, tenant → contracts."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.names = NameIndex(book.entries)
        by_model: dict[str, list[Entry]] = defaultdict(list)
        for entry in sorted(book.entries, key=lambda entry: entry.effective_from):
            by_model[entry.model].append(entry)
        self.listed = {m: _periods(e for e in es if not e.promotion) for m, es in by_model.items()}
        self.promoted = {m: _periods(e for e in es if e.promotion) for m, es in by_model.items()}
        self.contracts: dict[str | None, list[Contract]] = defaultdict(list)
        for contract in sorted(book.contracts, key=lambda contract: contract.effective_from):
            self.contracts[contract.tenant].append(contract)

    def entry_at(self, model: str, at: datetime) -> Entry | None:
        """The entry of `model` in force at the UTC time `at`; a promotion wins."""
        for periods in (self.promoted[model], self.listed[model]):
            i = bisect_right(periods, at, key=lambda period: period.from_at)
            if i and periods[i - 1].contains(at):
                return periods[i - 1].entry
        return None

    def contract_at(self, tenant_id: str | None, at: datetime) -> Contract | None:
        """The latest contract of the tenant that has begun; None if that one has ended."""
        begun = [c for c in self.contracts.get(tenant_id, ()) if c.effective_from <= at]
        if not begun or (begun[-1].effective_until is not None and begun[-1].effective_until <= at):
            return None
        return begun[-1]


def _periods(entries: Iterable[Entry]) -> tuple[Period, ...]:
    """Entries in order of start; the next one ends the one before."""
    ordered = tuple(entries)
    return tuple(
        Period(
            from_at=entry.effective_from,
            until_at=min(
                (at for at in (entry.effective_until, after and after.effective_from) if at),
                default=None,
            ),
            entry=entry,
        )
        for entry, after in zip_longest(ordered, ordered[1:])
    )


class Catalogue:
    """Published books; those without a contract pay the default book.

    Contracts are those of the default book. A contract that names another book moves its tenant to
    that book as it stands: a model that the other book lacks has no price there.
    """

    def __init__(self, books: Iterable[Book], default: str) -> None:
        self._indexes = {book.name: _BookIndex(book) for book in books}
        if default not in self._indexes:
            raise BookInvalid(
                f"The default book {default!r} is not among the books: {sorted(self._indexes)}.",
                remedy="Publish it, or name another one.",
            )
        self._default = self._indexes[default]
        for contract in self._default.book.contracts:
            if contract.book is not None and contract.book not in self._indexes:
                raise BookInvalid(
                    f"The contract {contract.name} of book {default!r} names a book that is not "
                    f"among the books: {sorted(self._indexes)}.",
                    remedy="Publish that book first, or correct the contract.",
                )

    def trying(self, book: Book) -> "Catalogue":
        """The same books with `book` in the place of the one of its name, else of the default."""
        others = [each.book for name, each in self._indexes.items() if name != book.name]
        replaces = len(others) < len(self._indexes)
        return Catalogue([*others, book], self._default.book.name if replaces else book.name)

    def contract_tenants(self) -> frozenset[str]:
        """Tenants with prices of their own."""
        tenants = self._default.contracts
        return frozenset(tenant for tenant in tenants if tenant is not None)

    def quote(self, query: PriceQuery) -> Quote:
        """What `query` pays per million tokens, in the currency of the book that decides."""
        force = self.in_force(query)
        if force.entry is None:
            return Quote(price=None, reason=force.reason, detail=force.detail)
        band, findings = _band_at(force.book, force.entry, query.at)
        if _is_unknown_service_tier(force.entry, query.service_tier):
            findings |= {UNKNOWN_SERVICE_TIER}
        with exact_arithmetic():
            steps = tuple(price_steps(force.entry, band, force.contract, query))
        price = _price_key(force.book, steps)
        return Quote(price=price, findings=findings, steps=steps)

    def in_force(self, query: PriceQuery) -> InForce:
        """Book, contract and entry that decide at query.at (UTC), whatever the sizes."""
        contract = self._default.contract_at(query.tenant_id, query.at)
        index = self._indexes[contract.book] if contract and contract.book else self._default
        models = index.names.resolve(query.model_id)
        entry = index.entry_at(models[0], query.at) if len(models) == 1 else None
        reason = detail = None
        if len(models) > 1:
            reason = AMBIGUOUS_NAME
            detail = f"{query.model_id!r} may be any of {', '.join(models)}"
        elif entry is None:
            reason = NO_PRICE
            detail = f"book {index.book.name!r} has no entry for {query.model_id!r}" + (
                f" ({models[0]}) at this time" if models else ""
            )
        return InForce(
            book=index.book, contract=contract, entry=entry, reason=reason, detail=detail
        )

    def periods(self, model_id: str, tenant_id: str | None) -> Iterator[tuple[Book, Period]]:
        """Every period that may decide a request of this model and tenant, promotions included."""
        contracts = self.contracts(tenant_id)
        names = {self._default.book.name, *(c.book for c in contracts if c.book)}
        for index in (self._indexes[name] for name in sorted(names)):
            for model in index.names.resolve(model_id):
                for period in (*index.listed[model], *index.promoted[model]):
                    yield index.book, period

    def contracts(self, tenant_id: str | None) -> tuple[Contract, ...]:
        """Contracts of the tenant, at any time."""
        return tuple(self._default.contracts.get(tenant_id, ()))


def _price_key(book: Book, steps: Sequence[Step]) -> PriceKey:
    """The prices after the last step, and what decided them."""
    rules = {step.rule: step.name for step in steps}
    prices = resolved(steps[-1].prices)
    return PriceKey(
        currency=book.currency,
        book=book.name,
        book_revision=book.revision,
        entry=rules["entry"],
        context_tier=rules.get("context_tier"),
        band=rules.get("band"),
        service_tier=rules.get("service_tier"),
        region=rules.get("region"),
        contract=rules.get("contract"),
        input_price=prices["input"],
        cached_price=prices["cached_input"],
        cached_explicit_price=prices["cached_input_explicit"],
        cache_write_price=prices["cache_write"],
        cache_write_1h_price=prices["cache_write_1h"],
        output_price=prices["output"],
        reasoning_price=prices["reasoning"],
    )


def price_steps(
    entry: Entry, band: Band | None, contract: Contract | None, query: PriceQuery
) -> Iterator[Step]:
    """The rules that apply to `query`, in order, each with its prices per million."""
    prices, counts = entry.prices, (query.input_tokens, query.output_tokens)
    yield Step(rule="entry", name=entry.name, prices=prices)
    if band is not None:  # a band replaces the tiers unless it has its own
        prices = {**prices, **band.prices}
        yield Step(rule="band", name=band.name, prices=prices)
    if tier := highest_tier(band.tiers if band else entry.tiers, *counts):
        prices = {**prices, **tier.prices}
        yield Step(rule="context_tier", name=tier.name, prices=prices)
    if service := entry.service_tier(query.service_tier):
        prices = service.apply(prices)
        yield Step(rule="service_tier", name=service.name, prices=prices)
        if tier := highest_tier(service.tiers, *counts):
            prices = {**prices, **tier.prices}
            yield Step(rule="context_tier", name=tier.name, prices=prices)
    if query.region is not None and (factor := entry.regions.get(query.region)) is not None:
        prices = times(prices, factor)
        yield Step(rule="region", name=query.region, prices=prices)
    if contract is not None:
        prices = times(prices, contract.factor)
        yield Step(rule="contract", name=contract.name, prices=prices)


def _band_at(book: Book, entry: Entry, at: datetime) -> tuple[Band | None, frozenset[str]]:
    """The band that holds at the UTC time `at`, and whether its holidays are unknown then."""
    if not entry.bands:
        return None, frozenset()
    local = at.astimezone(book.zone)
    for band in entry.bands:
        day = band.start_day(local)
        if day is None:
            continue
        if band.holidays is None:
            return band, frozenset()
        days = book.holidays.get(band.holidays, frozenset())
        if day in days:
            continue
        known = any(listed.year == day.year for listed in days)
        return band, frozenset() if known else frozenset({HOLIDAYS_UNKNOWN})
    return None, frozenset()


def _is_unknown_service_tier(entry: Entry, name: str | None) -> bool:
    """Whether a request asked for a service tier that the entry does not have."""
    return (
        name is not None and name not in STANDARD_SERVICE_TIERS and entry.service_tier(name) is None
    )
