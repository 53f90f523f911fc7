"""What one entry of a price book says: line prices, tiers, bands, service tiers, regions.

The order in which they act is in pricing/price_book.py; the TOML form in pricing/books/.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, TypeAlias

Price: TypeAlias = (
    Decimal | Literal["same"]
)  # per million tokens; same: as the input price in force
Prices: TypeAlias = Mapping[str, Price]  # keys of PRICE_NAMES; a missing key is a missing price

SAME: Final = "same"
PRICE_NAMES: Final = (
    "input",
    "cached_input",
    "cached_input_explicit",
    "cache_write",
    "cache_write_1h",
    "output",
    "reasoning",
)
EVERY_DAY: Final = frozenset(range(7))  # Monday is 0
DAY_NAMES: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SECONDS_PER_DAY: Final = 86_400
SECONDS_PER_HOUR: Final = 3_600
SECONDS_PER_MINUTE: Final = 60
ONE_DAY: Final = timedelta(days=1)
# What engines and gateways call "no service tier"; a book may still define a tier of that name.
STANDARD_SERVICE_TIERS: Final = frozenset({"", "auto", "default", "standard"})


def times(prices: Prices, factor: Decimal) -> Prices:
    """Every price times `factor`, in the same unit; "same" follows the input price by itself."""
    return {
        name: price if isinstance(price, str) else price * factor for name, price in prices.items()
    }


def resolved(prices: Prices) -> dict[str, Decimal | None]:
    """Price of every key per million tokens, the rules for missing ones applied.

    cached_input "same" and a missing cache_write are the input price in force; explicit cache
    reads follow cached_input, one-hour writes cache_write, reasoning output. None: no such price.
    """
    own = {name: price for name, price in prices.items() if not isinstance(price, str)}
    input_price, output_price = own.get("input"), own.get("output")
    same = prices.get("cached_input") == SAME
    cached = input_price if same else own.get("cached_input")
    write = own.get("cache_write", input_price)
    return {
        "input": input_price,
        "cached_input": cached,
        "cached_input_explicit": own.get("cached_input_explicit", cached),
        "cache_write": write,
        "cache_write_1h": own.get("cache_write_1h", write),
        "output": output_price,
        "reasoning": own.get("reasoning", output_price),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """Prices of a request whose total counts, in tokens, reach both bounds (inclusive).

    The whole request moves. "Above N" is a bound of N + 1, because counts are integers.
    """

    prices: Prices
    input_from: int = 0
    output_from: int = 0
    line: int | None = field(default=None, compare=False)

    @property
    def bounds(self) -> tuple[int, int]:
        """Least input and output tokens; the greatest pair that holds wins, input first."""
        return self.input_from, self.output_from

    @property
    def name(self) -> str:
        """The condition as a person writes it, in tokens: input>200000, output>=200."""
        named = (("input", self.input_from), ("output", self.output_from))
        return ", ".join(f"{side}{bound_text(least)}" for side, least in named if least)


def written_above(least_tokens: int) -> bool:
    """Whether a bound reads better as "above N" than as "from N + 1" (N a multiple of ten)."""
    return least_tokens % 10 == 1 and least_tokens > 1


def bound_text(least_tokens: int) -> str:
    """An inclusive lower bound in tokens as `>200000` or `>=32000`."""
    return f">{least_tokens - 1}" if written_above(least_tokens) else f">={least_tokens}"


def highest_tier(tiers: Iterable[Tier], input_tokens: int, output_tokens: int) -> Tier | None:
    """The tier with the highest bounds that holds for a request's total counts, in tokens."""
    holding = [
        tier
        for tier in tiers
        if input_tokens >= tier.input_from and output_tokens >= tier.output_from
    ]
    return max(holding, key=lambda tier: tier.bounds, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Prices at certain local times of the book's timezone; replaces the entry's tiers.

    from_second, until_second: wall-clock seconds of the local day, half-open; until <= from
    crosses midnight. days and holidays are asked of the day on which the band starts.
    """

    prices: Prices
    from_second: int
    until_second: int
    days: frozenset[int] = EVERY_DAY
    holidays: str | None = None  # calendar on whose days the band does not apply
    tiers: tuple[Tier, ...] = ()
    line: int | None = field(default=None, compare=False)

    @property
    def crosses_midnight(self) -> bool:
        """Whether the band ends on the day after it starts."""
        return self.until_second <= self.from_second

    def start_day(self, local: datetime) -> date | None:
        """The day on which the band that holds at this local time started; None: none holds.

        Holidays are not asked here.
        """
        second = local.hour * SECONDS_PER_HOUR + local.minute * SECONDS_PER_MINUTE + local.second
        day = local.date()
        if self.crosses_midnight and second < self.until_second:
            day -= ONE_DAY
        elif second < self.from_second or (
            not self.crosses_midnight and second >= self.until_second
        ):
            return None
        return day if day.weekday() in self.days else None

    @property
    def name(self) -> str:
        """The band as a person writes it: 00:30-08:30 mon,tue not on holidays of CN."""
        parts = [f"{clock_text(self.from_second)}-{clock_text(self.until_second)}"]
        if self.days != EVERY_DAY:
            parts.append(",".join(DAY_NAMES[day] for day in sorted(self.days)))
        if self.holidays:
            parts.append(f"not on holidays of {self.holidays}")
        return " ".join(parts)


def clock_text(second_of_day: int) -> str:
    """A second of the day as HH:MM, with :SS where needed; 86,400 is 24:00."""
    minutes, seconds = divmod(second_of_day, SECONDS_PER_MINUTE)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceTier:
    """What a service tier pays: all prices times `multiplier`, or prices of its own."""

    name: str
    multiplier: Decimal | None = None
    prices: Prices = field(default_factory=dict)
    tiers: tuple[Tier, ...] = ()  # context tiers of this service tier, over the entry's own
    line: int | None = field(default=None, compare=False)

    def apply(self, prices: Prices) -> Prices:
        """`prices` per million tokens as this service tier pays them."""
        if self.multiplier is not None:
            return times(prices, self.multiplier)
        return {**prices, **self.prices}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Prices of one model from `effective_from` (UTC, inclusive).

    effective_until: UTC, exclusive; None: until the next entry of the model. line: where the entry
    stands in its file.
    """

    model: str
    effective_from: datetime
    prices: Prices
    effective_until: datetime | None = None
    promotion: bool = False
    aliases: tuple[str, ...] = ()
    match: tuple[str, ...] = ()
    published_at: datetime | None = None
    source: str | None = None
    checked_on: date | None = None
    tiers: tuple[Tier, ...] = ()
    bands: tuple[Band, ...] = ()
    service_tiers: tuple[ServiceTier, ...] = ()
    regions: Mapping[str, Decimal] = field(default_factory=dict)
    line: int | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """model@effective_from in UTC, and whether it is a promotion."""
        return f"{self.model}@{time_text(self.effective_from)}" + (
            " promotion" if self.promotion else ""
        )

    def service_tier(self, name: str | None) -> ServiceTier | None:
        """The service tier called `name`, None if the entry has none."""
        return next((tier for tier in self.service_tiers if tier.name == name), None)

    def all_tiers(self) -> tuple[Tier, ...]:
        """Every context tier: the entry's, its bands' and its service tiers'."""
        of_bands = (tier for band in self.bands for tier in band.tiers)
        of_services = (tier for service in self.service_tiers for tier in service.tiers)
        return (*self.tiers, *of_bands, *of_services)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What one tenant agreed on: percent off the list, or another book, between UTC instants.

    effective_until: exclusive; None: until the tenant's next contract in the book.
    """

    tenant: str
    effective_from: datetime
    effective_until: datetime | None = None
    percent_off: Decimal | None = None
    book: str | None = None
    line: int | None = field(default=None, compare=False)

    @property
    def factor(self) -> Decimal:
        """What is left of a price of 1: 0.9 for 10 percent off."""
        return (100 - (self.percent_off or Decimal(0))).scaleb(-2)

    @property
    def name(self) -> str:
        """tenant@effective_from in UTC, and the term."""
        term = f"book {self.book}" if self.book else f"-{self.percent_off}%"
        return f"{self.tenant}@{time_text(self.effective_from)} {term}"


def time_text(at: datetime) -> str:
    """A UTC time as ISO 8601 with Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
