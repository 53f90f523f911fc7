"""The quotes of a window as a partition, so that SQL can join requests to prices.

Cells are found by collecting every edge at which a price can change and asking `Catalogue.quote`
at the lower corner of each piece; no rule is stated twice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby, pairwise
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from metering.windows import Window
from pricing.price_book import Catalogue, PriceQuery, Quote
from pricing.price_entry import ONE_DAY, SECONDS_PER_DAY, Band
from pricing.price_key import PriceKey

MICROSECOND: Final = timedelta(microseconds=1)
MIDNIGHT: Final = datetime(1970, 1, 1, tzinfo=UTC)
Sizes = tuple[int, int | None]  # half-open, in tokens; None: no upper end
Low = TypeVar("Low")
High = TypeVar("High")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Requests that pay the same: a box of UTC times × input tokens × output tokens.

    Lower ends are inclusive, upper ends exclusive; None: no upper end. price, reason, findings and
    detail are those of the quote.
    """

    from_at: datetime
    until_at: datetime
    input_from: int
    input_until: int | None
    output_from: int
    output_until: int | None
    price: PriceKey | None
    reason: str | None
    findings: frozenset[str]
    detail: str | None

    def contains(self, at: datetime, input_tokens: int, output_tokens: int) -> bool:
        """Whether a request at the UTC time `at` with these total tokens lies inside."""
        return (
            self.from_at <= at < self.until_at
            and _within(input_tokens, (self.input_from, self.input_until))
            and _within(output_tokens, (self.output_from, self.output_until))
        )


def grid(
    catalogue: Catalogue,
    *,
    model_id: str,
    tenant_id: str | None,
    service_tier: str | None,
    region: str | None,
    window: Window,
) -> tuple[Cell, ...]:
    """Cells that partition `window` (UTC) × input tokens × output tokens of such requests."""

    def query_at(at: datetime) -> PriceQuery:
        return PriceQuery(
            model_id=model_id,
            at=at,
            service_tier=service_tier,
            region=region,
            tenant_id=tenant_id,
        )

    pieces = pairwise(sorted(_time_edges(catalogue, model_id, tenant_id, window)))
    return tuple(
        Cell(
            from_at=from_at,
            until_at=until_at,
            input_from=inputs[0],
            input_until=inputs[1],
            output_from=outputs[0],
            output_until=outputs[1],
            price=quote.price,
            reason=quote.reason,
            findings=quote.findings,
            detail=quote.detail,
        )
        for (from_at, until_at), rows in _merged(
            (piece, _quotes_by_size(catalogue, query_at(piece[0]))) for piece in pieces
        )
        for inputs, row in rows
        for outputs, quote in row
    )


def _quotes_by_size(
    catalogue: Catalogue, query: PriceQuery
) -> tuple[tuple[Sizes, tuple[tuple[Sizes, Quote], ...]], ...]:
    """Quotes at query.at, by input and then by output size in tokens."""
    entry = catalogue.in_force(query).entry
    tiers = entry.all_tiers() if entry else ()
    output_sizes = _size_edges(tier.output_from for tier in tiers)

    def quotes(input_tokens: int) -> Iterator[tuple[Sizes, Quote]]:
        for sizes in output_sizes:
            sized = replace(query, input_tokens=input_tokens, output_tokens=sizes[0])
            yield sizes, catalogue.quote(sized)

    input_sizes = _size_edges(tier.input_from for tier in tiers)
    return _merged((sizes, _merged(quotes(sizes[0]))) for sizes in input_sizes)


def _merged(
    pieces: Iterable[tuple[tuple[Low, High], Value]],
) -> tuple[tuple[tuple[Low, High], Value], ...]:
    """Adjacent intervals with equal values as one."""
    merged = []
    for value, run in groupby(pieces, key=lambda piece: piece[1]):
        intervals = [interval for interval, _ in run]
        merged.append(((intervals[0][0], intervals[-1][1]), value))
    return tuple(merged)


def _within(count: int, sizes: Sizes) -> bool:
    return sizes[0] <= count and (sizes[1] is None or count < sizes[1])


def _size_edges(bounds: Iterable[int]) -> tuple[Sizes, ...]:
    """Half-open intervals between the bounds, from 0 to no end."""
    lower = sorted({0, *bounds})
    return tuple(zip(lower, [*lower[1:], None], strict=True))


def _time_edges(
    catalogue: Catalogue, model_id: str, tenant_id: str | None, window: Window
) -> set[datetime]:
    """UTC times inside `window`, its ends included, at which a quote may change."""
    times: set[datetime | None] = set()
    for contract in catalogue.contracts(tenant_id):
        times |= {contract.effective_from, contract.effective_until}
    for book, period in catalogue.periods(model_id, tenant_id):
        times |= {period.from_at, period.until_at}
        start_at = max(window.start_at, period.from_at)
        end_at = min(window.end_at, period.until_at or window.end_at)
        if period.entry.bands and start_at < end_at:
            times |= set(_clock_changes(book.zone, Window(start_at, end_at)))
            for band in period.entry.bands:
                times |= set(_band_edges(band, book.zone, Window(start_at, end_at)))
    inside = {at for at in times if at is not None and window.contains(at)}
    return inside | {window.start_at, window.end_at}


def _band_edges(band: Band, zone: ZoneInfo, window: Window) -> Iterator[datetime]:
    """UTC times at which the wall clock of `zone` shows the band's ends, around `window`."""
    day = window.start_at.astimezone(zone).date() - ONE_DAY
    last = window.end_at.astimezone(zone).date() + ONE_DAY
    while day <= last:
        for second in (band.from_second, band.until_second):
            overflow, second_of_day = divmod(second, SECONDS_PER_DAY)
            clock = (MIDNIGHT + timedelta(seconds=second_of_day)).time()
            for fold in (0, 1):  # both where the clock shows a time twice
                yield _utc(day + overflow * ONE_DAY, clock.replace(fold=fold), zone)
        day += ONE_DAY


def _clock_changes(zone: ZoneInfo, window: Window) -> Iterator[datetime]:
    """UTC times inside `window` at which the offset of `zone` changes, found day by day."""
    low_at = window.start_at
    while low_at < window.end_at:
        high_at = next_at = min(low_at + ONE_DAY, window.end_at)
        before = low_at.astimezone(zone).utcoffset()
        if high_at.astimezone(zone).utcoffset() != before:
            while high_at - low_at > MICROSECOND:
                middle_at = low_at + (high_at - low_at) // 2
                if middle_at.astimezone(zone).utcoffset() == before:
                    low_at = middle_at
                else:
                    high_at = middle_at
            yield high_at
        low_at = next_at


def _utc(day: date, clock: time, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)
