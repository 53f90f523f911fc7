"""A book checked as a whole: what must be corrected (errors) and what looks wrong (warnings)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations, islice, pairwise, product
from math import prod
from typing import Final

from pricing.books.findings import Finding
from pricing.books.globs import globs_meet
from pricing.money import (
    PRICE_FRACTION_DIGITS,
    PRICE_MAX,
    exact_arithmetic,
    fraction_digits,
    minor_unit,
    plain,
)
from pricing.price_book import Book
from pricing.price_entry import (
    SECONDS_PER_DAY,
    Band,
    Contract,
    Entry,
    Prices,
    ServiceTier,
    Tier,
    resolved,
    time_text,
)
from pricing.price_names import glob_prefix

PRICE_PLAUSIBLE_MIN: Final = Decimal("0.0005")  # per million tokens; below: probably per token
PRICE_PLAUSIBLE_MAX: Final = Decimal(5000)  # per million tokens, of a currency with cents
DAYS_PER_WEEK: Final = 7
GLOB_PAIRS_MAX: Final = 200_000  # compared; a tie that goes unseen is still unpriced, never guessed


def errors(book: Book) -> list[Finding]:
    """What keeps the book from being used."""
    return [finding for finding in findings(book) if finding.severity == "error"]


def findings(book: Book) -> list[Finding]:
    """Everything to correct or to look at, in the order of the file."""
    found = [
        *_names(book),
        *_dates(book),
        *_contracts(book.contracts),
        *(finding for entry in book.entries for finding in _entry(entry, book)),
    ]
    once = {(finding.line, finding.message): finding for finding in reversed(found)}
    return sorted(once.values(), key=lambda finding: finding.line or 0)


def _error(of: Entry | Tier | Band | Contract, where: str, message: str, remedy: str) -> Finding:
    return Finding("error", of.line, where, message, remedy)


def _warning(of: Entry | Tier | Band | Contract, where: str, message: str, remedy: str) -> Finding:
    return Finding("warning", of.line, where, message, remedy)


def _names(book: Book) -> Iterator[Finding]:
    """Names that could mean two models."""
    models = {entry.model: entry for entry in book.entries}
    aliases: dict[str, Entry] = {}
    globs: dict[str, Entry] = {}
    for entry in book.entries:
        named = [("alias", name, models.get(name), aliases) for name in entry.aliases]
        named += [("match", glob, None, globs) for glob in entry.match]
        for kind, name, model, owners in named:
            owner = owners.setdefault(name, entry) if model is None else model
            if owner.model != entry.model:
                message = f"{kind} {name!r} also belongs to {owner.model} (line {owner.line})."
                yield _error(entry, entry.model, message, "Keep it with one of the two.")
    yield from _glob_ties(globs)


def _glob_ties(owners: Mapping[str, Entry]) -> Iterator[Finding]:
    """Globs of two models, equally long, that one name can match."""
    for glob, other in islice(_comparable_globs(owners), GLOB_PAIRS_MAX):
        entry, owner = owners[glob], owners[other]
        if entry.model != owner.model and globs_meet(glob, other):
            message = (
                f"match {other!r} and {glob!r} of {entry.model} are equally long; a name that "
                "both match stays unpriced."
            )
            yield _warning(owner, owner.model, message, "Make one of them longer.")


def _comparable_globs(globs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of equal length of which one's literal beginning begins the other's."""
    ordered = sorted((len(glob), glob_prefix(glob), glob) for glob in globs)
    for i, (length, prefix, glob) in enumerate(ordered):
        for other_length, other_prefix, other in islice(ordered, i + 1, None):
            if other_length != length or not other_prefix.startswith(prefix):
                break
            yield glob, other


def _dates(book: Book) -> Iterator[Finding]:
    """Overlaps and gaps of the entries of each model."""
    groups: dict[tuple[str, bool], list[Entry]] = defaultdict(list)
    for entry in book.entries:
        groups[entry.model, entry.promotion].append(entry)
        if entry.effective_until is not None and entry.effective_until <= entry.effective_from:
            message = "effective_until is not after effective_from."
            yield _error(entry, entry.model, message, "An entry holds from (inclusive) to until.")
        if entry.promotion and entry.effective_until is None:
            message = "a promotion has no effective_until."
            yield _error(entry, entry.model, message, "Say when it ends, or set promotion = false.")
    for (model, is_promotion), entries in groups.items():
        for first, then in pairwise(sorted(entries, key=lambda e: e.effective_from)):
            starts = time_text(then.effective_from)
            if first.effective_from == then.effective_from:
                message = f"two entries begin at {starts} (the other on line {first.line})."
                yield _error(then, model, message, "Remove one, or date it later.")
            elif first.effective_until is None:
                continue
            elif first.effective_until > then.effective_from:
                message = f"the entry of line {first.line} still holds when this begins, {starts}."
                yield _error(then, model, message, "Set its effective_until to that time.")
            elif first.effective_until < then.effective_from and not is_promotion:
                message = f"no price from {time_text(first.effective_until)} to {starts}."
                yield _warning(
                    then, model, message, "Close the gap, or leave usage unpriced there."
                )


def _contracts(contracts: Iterable[Contract]) -> Iterator[Finding]:
    """Contracts of one tenant that hold at once."""
    by_tenant: dict[str, list[Contract]] = defaultdict(list)
    for contract in contracts:
        by_tenant[contract.tenant].append(contract)
        until_at = contract.effective_until
        if until_at is not None and until_at <= contract.effective_from:
            message = "effective_until is not after effective_from."
            yield _error(contract, contract.tenant, message, "A contract needs time to hold.")
    for tenant, ours in by_tenant.items():
        for first, then in pairwise(sorted(ours, key=lambda c: c.effective_from)):
            begins_at, ends_at = then.effective_from, first.effective_until
            if first.effective_from == begins_at or (ends_at is not None and ends_at > begins_at):
                message = f"the contract of line {first.line} holds at the same time."
                yield _error(then, tenant, message, "End the earlier one when this begins.")


def _entry(entry: Entry, book: Book) -> Iterator[Finding]:
    """What one entry gets wrong by itself."""
    yield from _tiers(entry.model, entry.tiers)
    for band in entry.bands:
        yield from _tiers(f"{entry.model} band {band.name}", band.tiers)
    for service in entry.service_tiers:
        yield from _tiers(f"{entry.model} service tier {service.name}", service.tiers)
    names = [service.name for service in entry.service_tiers]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield _error(entry, entry.model, f"service tier {name!r} is given twice.", "Keep one.")
    for first, second in combinations(entry.bands, 2):
        if _bands_meet(first, second):
            message = f"bands {first.name} (line {first.line}) and {second.name} overlap."
            yield _error(second, entry.model, message, "Shorten one, or give them other days.")
    for where, prices in _price_tables(entry):
        yield from _prices(entry, where, prices, book.currency)
    yield from _products(entry, book)


def _tiers(where: str, tiers: Sequence[Tier]) -> Iterator[Finding]:
    """Tiers without bounds or with equal ones."""
    seen: dict[tuple[int, int], Tier] = {}
    for tier in tiers:
        if tier.bounds == (0, 0):
            message = "a tier holds for every request."
            yield _error(tier, where, message, "Give it a bound, such as input_tokens_above.")
        elif (first := seen.setdefault(tier.bounds, tier)) is not tier:
            message = f"this tier has the bounds of the one on line {first.line}: {tier.name}."
            yield _error(tier, where, message, "Keep one of them.")


def _bands_meet(first: Band, second: Band) -> bool:
    """Whether two bands hold at one time of the week, holidays aside."""
    return any(
        start < other_end and other_start < end
        for start, end in _week_seconds(first)
        for other_start, other_end in _week_seconds(second)
    )


def _week_seconds(band: Band) -> Iterator[tuple[int, int]]:
    """The band's intervals in seconds of the week; what runs over Sunday night comes in two."""
    week = DAYS_PER_WEEK * SECONDS_PER_DAY
    for day in band.days:
        start = day * SECONDS_PER_DAY + band.from_second
        end = day * SECONDS_PER_DAY + band.until_second
        end += SECONDS_PER_DAY if band.crosses_midnight else 0
        yield start, min(end, week)
        if end > week:
            yield 0, end - week


def _price_tables(entry: Entry) -> Iterator[tuple[str, Prices]]:
    """Every table of prices of an entry as it stands in force, with its place."""
    yield entry.model, entry.prices
    for tier in entry.tiers:
        yield f"{entry.model} tier {tier.name}", {**entry.prices, **tier.prices}
    parts: tuple[Band | ServiceTier, ...] = (*entry.bands, *entry.service_tiers)
    for part in parts:
        prices = {**entry.prices, **part.prices}
        yield f"{entry.model} {part.name}", prices
        for tier in part.tiers:
            yield f"{entry.model} {part.name} tier {tier.name}", {**prices, **tier.prices}


def _prices(entry: Entry, where: str, prices: Prices, currency: str) -> Iterator[Finding]:
    """Missing, zero, contradictory and implausible prices of one table."""
    if "input" in prices and "cached_input" not in prices:
        remedy = 'Write cached_input = "same" if a hit costs as much as any input.'
        yield _error(entry, where, "input has no cached_input beside it.", remedy)
    if "input" in prices and "output" not in prices:
        message = "output has no price: a request with output stays unpriced."
        yield _warning(entry, where, message, 'Give it, or write output = "0" if it is free.')
    in_force = {name: price for name, price in resolved(prices).items() if price is not None}
    if in_force and not any(in_force.values()):
        message = "every price is 0: each request is free."
        yield _warning(entry, where, message, "Remove the entry if the price is not known.")
    if in_force.get("cached_input", Decimal(0)) > in_force.get("input", PRICE_MAX):
        message = f"a hit ({in_force['cached_input']}) costs more than input ({in_force['input']})."
        yield _warning(entry, where, message, "Check which is which.")
    ceiling = PRICE_PLAUSIBLE_MAX * (1000 if minor_unit(currency) == 1 else 1)
    for name, price in sorted(prices.items()):
        if isinstance(price, str):
            continue
        if price >= PRICE_MAX:
            yield _error(entry, where, f"{name} {price} is too large.", "Prices are per million.")
        elif price > ceiling:
            message = f"{name} = {price} {currency} per million tokens is implausibly high."
            yield _warning(entry, where, message, "Check the unit and the currency.")
        elif 0 < price < PRICE_PLAUSIBLE_MIN:
            message = f"{name} = {plain(price)} looks like a price per token or per thousand."
            yield _warning(entry, where, message, "Prices are per million tokens: multiply it.")


def _products(entry: Entry, book: Book) -> Iterator[Finding]:
    """The first price that needs more than 9 fraction digits once all multipliers have acted."""
    services = {f" × {tier.name}": tier.multiplier for tier in entry.service_tiers}
    regions = {f" × {name}": factor for name, factor in entry.regions.items()}
    contracts = {f" × {c.name}": c.factor for c in book.contracts if c.percent_off is not None}
    listed = {
        price
        for _, prices in _price_tables(entry)
        for price in prices.values()
        if not isinstance(price, str)
    }
    choices = ([("", None), *factors.items()] for factors in (services, regions, contracts))
    for chosen in product(*choices):
        with exact_arithmetic():
            factor = prod((factor for _, factor in chosen if factor is not None), start=Decimal(1))
            paid = {price: price * factor for price in listed}
        for price, amount in paid.items():
            if fraction_digits(amount) > PRICE_FRACTION_DIGITS:
                rules = "".join(label for label, _ in chosen)
                message = (
                    f"{plain(price)}{rules} = {plain(amount)} has more than 9 fraction digits."
                )
                yield _error(entry, entry.model, message, "Write a price with fewer digits.")
                return
