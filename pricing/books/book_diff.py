"""What differs between two books, and the draft that carries the newer prices from a date on."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pricing.money import plain
from pricing.price_book import Book
from pricing.price_entry import Entry, Prices, Tier, time_text


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. what: the rule that differs. before and after: its text, None where absent.

    entry: model@effective_from, in UTC, of the entry that it stands in.
    """

    kind: Literal["added", "removed", "changed"]
    entry: str
    what: str
    before: str | None
    after: str | None


def changes(old: Book, new: Book) -> tuple[Change, ...]:
    """Differences in what requests pay and in names, entry by entry; sources are not compared."""
    entries = {entry.name: entry for entry in old.entries}
    newer = {entry.name: entry for entry in new.entries}
    found: list[Change] = []
    for name in sorted(entries.keys() | newer.keys()):
        before = dict(_rules(entries[name])) if name in entries else {}
        after = dict(_rules(newer[name])) if name in newer else {}
        kind: Literal["added", "removed", "changed"] = "changed"
        if not before or not after:
            kind = "added" if after else "removed"
        found += [
            Change(kind, name, what, before.get(what), after.get(what))
            for what in sorted(before.keys() | after.keys())
            if before.get(what) != after.get(what)
        ]
    return tuple(found)


def draft(old: Book, new: Book, effective_from: datetime) -> Book:
    """`old` until `effective_from` (UTC), and from then on what `new` says, as dated entries.

    Nothing that holds before that time is touched: an entry is added only for a model whose prices
    differ then. A model that `new` lacks keeps its prices; a name keeps the model it has in `old`.
    """
    old = _with_models(old, {entry.model for entry in new.entries})
    owners, ours, theirs = _owners(old), _by_model(old), _by_model(new)
    kept = [e for e in old.entries if e.effective_from < effective_from or e.model not in theirs]
    added: list[Entry] = []
    for model, entries in theirs.items():
        now, before = _at(entries, effective_from), _at(ours.get(model, ()), effective_from)
        if now is not None and (before is None or _content(now) != _content(before)):
            added.append(replace(now, effective_from=effective_from))
        added += [entry for entry in entries if entry.effective_from > effective_from]
    return replace(old, entries=tuple(kept + [_renamed(entry, owners) for entry in added]))


def _with_models(book: Book, models: set[str]) -> Book:
    """`book`, where an alias that is one of `models` becomes a model with the same history."""
    split = {
        alias: entry.model for entry in book.entries for alias in entry.aliases if alias in models
    }
    copies = [
        replace(entry, model=alias, aliases=(), match=())
        for alias, model in split.items()
        for entry in book.entries
        if entry.model == model
    ]
    rest = [
        replace(entry, aliases=tuple(alias for alias in entry.aliases if alias not in split))
        for entry in book.entries
    ]
    return replace(book, entries=tuple(rest + copies))


def _owners(book: Book) -> dict[str, str]:
    """Name or glob → the model that it belongs to."""
    names = {name: e.model for e in book.entries for name in (*e.aliases, *e.match)}
    return names | {entry.model: entry.model for entry in book.entries}


def _renamed(entry: Entry, owners: Mapping[str, str]) -> Entry:
    """`entry` without the names that belong to another model."""
    return replace(
        entry,
        aliases=tuple(n for n in entry.aliases if owners.get(n, entry.model) == entry.model),
        match=tuple(g for g in entry.match if owners.get(g, entry.model) == entry.model),
    )


def _by_model(book: Book) -> dict[str, list[Entry]]:
    entries: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(book.entries, key=lambda entry: entry.effective_from):
        entries[entry.model].append(entry)
    return entries


def _at(entries: Sequence[Entry], at: datetime) -> Entry | None:
    """The list entry in force at the UTC time `at`."""
    begun = [entry for entry in entries if entry.effective_from <= at and not entry.promotion]
    latest = begun[-1] if begun else None
    ended = latest and latest.effective_until and latest.effective_until <= at
    return None if ended else latest


def _content(entry: Entry) -> dict[str, str]:
    """What requests pay under an entry; names and the end do not count."""
    return dict(_rules(replace(entry, aliases=(), match=(), effective_until=None)))


def _rules(entry: Entry) -> Iterator[tuple[str, str]]:
    """Everything about an entry that may change what a request pays: rule → text."""
    if entry.effective_until is not None:
        yield "effective_until", time_text(entry.effective_until)
    yield from ((f"alias {name}", "yes") for name in entry.aliases)
    yield from ((f"match {glob}", "yes") for glob in entry.match)
    yield from _prices("", entry.prices)
    yield from _tiers("", entry.tiers)
    for band in entry.bands:
        yield from _prices(f"band {band.name} ", band.prices)
        yield from _tiers(f"band {band.name} ", band.tiers)
    for service in entry.service_tiers:
        label = f"service tier {service.name} "
        if service.multiplier is not None:
            yield f"{label}multiplier", plain(service.multiplier)
        yield from _prices(label, service.prices)
        yield from _tiers(label, service.tiers)
    yield from ((f"region {name}", plain(factor)) for name, factor in entry.regions.items())


def _prices(label: str, prices: Prices) -> Iterator[tuple[str, str]]:
    for name, price in prices.items():
        yield f"{label}{name}", price if isinstance(price, str) else plain(price)


def _tiers(label: str, tiers: Sequence[Tier]) -> Iterator[tuple[str, str]]:
    for tier in tiers:
        yield from _prices(f"{label}tier {tier.name} ", tier.prices)
