"""What every importer shares: prices by context size, rounding, the list of what was left out."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final, Literal, TypeVar

from pricing.money import PRICE_FRACTION_DIGITS, fraction_digits, plain
from pricing.price_book import Book
from pricing.price_entry import SAME, Price, Prices, ServiceTier, Tier, resolved

SIGNIFICANT_DIGITS_MAX: Final = 12  # a float carries 15 to 17; what follows is its noise
THE_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)  # for prices that the source does not date
IMPORT_CHARACTERS_MAX: Final = 64 * 1024 * 1024
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Unsaid:
    """Something of the source that the book does not say, and why.

    kind: model (not imported), part (imported without it), name (not matched by it), rounded.
    """

    kind: Literal["model", "part", "name", "rounded"]
    model: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A book made from a foreign price list. models: how many of the source's it holds."""

    book: Book
    unsaid: tuple[Unsaid, ...]
    models: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the source does not say. effective_from: UTC, of every price without a date."""

    provider: str
    currency: str
    effective_from: datetime = THE_BEGINNING


@dataclass(slots=True)
class Sheet:
    """Prices per million tokens by total input: from 0, and from each step (tokens) on."""

    base: dict[str, Price] = field(default_factory=dict)
    steps: dict[int, dict[str, Price]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.base or self.steps)

    def names(self) -> set[str]:
        """Every key that has a price somewhere."""
        return {*self.base, *(name for step in self.steps.values() for name in step)}

    def put(self, name: str, price: Price, least_input_tokens: int = 0) -> None:
        """Set one price from a step on."""
        at = self.steps.setdefault(least_input_tokens, {}) if least_input_tokens else self.base
        at[name] = price

    def tiers(self) -> tuple[Tier, ...]:
        """The steps as tiers; each repeats what the lower ones changed, since only one holds."""
        return self.tiers_beside({})

    def tiers_beside(self, standard: Mapping[int, Prices]) -> tuple[Tier, ...]:
        """The same, where a key without a price at a step takes the standard's price of it."""
        tiers, named = [], self.names()
        in_force: dict[str, Price] = {}
        for least in sorted({*self.steps, *standard}):
            fallback = {n: p for n, p in standard.get(least, {}).items() if n in named}
            in_force = {**in_force, **fallback, **self.steps.get(least, {})}
            if in_force:
                tiers.append(Tier(input_from=least, prices=in_force))
        return tuple(tiers)

    def service_tier(self, name: str, standard: Mapping[int, Prices]) -> ServiceTier:
        """This sheet as what a service tier pays over the standard prices."""
        return ServiceTier(name=name, prices=self.base, tiers=self.tiers_beside(standard))


def or_listed(model: str, unsaid: list[Unsaid], read: Callable[[], Value]) -> Value | None:
    """What `read` makes of one model; None, listed, if the source's entry is malformed."""
    try:
        return read()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"cannot be read: {type(error).__name__} {error}"
        unsaid.append(Unsaid("model", model, "the entry", reason))
        return None


def with_hits(prices: Mapping[str, Price]) -> dict[str, Price]:
    """`prices` with cached_input as "same" where input stands without it."""
    if "input" in prices and "cached_input" not in prices:
        return {**prices, "cached_input": SAME}
    return dict(prices)


def replacing(own: Mapping[str, Price], replaced: Iterable[str]) -> dict[str, Price]:
    """`own` so that it replaces prices of the keys `replaced` rather than keeping them.

    A key that `own` lacks gets the price that the rules for missing keys give it.
    """
    full = with_hits(own)
    missing = {n: p for n, p in resolved(full).items() if n in set(replaced) and n not in full}
    return full | {name: price for name, price in missing.items() if price is not None}


def rounded(model: str, what: str, price: Decimal, unsaid: list[Unsaid]) -> Decimal:
    """A price per million tokens with at most 12 significant and 9 fraction digits; listed if cut.

    The source's own float noise is cut, never a digit that somebody wrote.
    """
    context = Context(prec=SIGNIFICANT_DIGITS_MAX, rounding=ROUND_HALF_EVEN)
    kept = context.plus(price)
    if fraction_digits(kept) > PRICE_FRACTION_DIGITS:
        kept = kept.quantize(Decimal(1).scaleb(-PRICE_FRACTION_DIGITS), rounding=ROUND_HALF_EVEN)
    if kept != price:
        reason = f"{plain(price)} per million tokens has too many digits; {plain(kept)} is written"
        unsaid.append(Unsaid("rounded", model, what, reason))
    return kept


def dated_source(origin: str, options: ImportOptions, *, dated: bool) -> str:
    """Text for `source`: the list, the provider, and where the date came from."""
    if dated:
        return f"{origin}, provider {options.provider}"
    day = options.effective_from.isoformat().replace("+00:00", "Z")
    return f"{origin}, provider {options.provider}; no date in the source, {day} assumed"
