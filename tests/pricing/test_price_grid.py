"""The grid says what `quote` says, everywhere, and nothing twice."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from metering.windows import Window
from pricing.price_book import Catalogue, PriceQuery
from pricing.price_entry import Band, Tier
from pricing.price_grid import grid
from tests.pricing.price_rows import START, book, entry, prices, utc
from tests.pricing.price_strategies import books, small_counts

MICROSECOND = timedelta(microseconds=1)
# Clocks change inside these windows in three of the strategies' zones.
WINDOW_STARTS = ("2026-03-07T11:17:00Z", "2026-10-24T00:00:00Z", "2026-04-03T05:00:00Z")


def grid_of(catalogue: Catalogue, window: Window, **change: str | None):
    """Cells of requests for m-river by tenant t1."""
    base = {"model_id": "m-river", "tenant_id": "t1", "service_tier": None, "region": None}
    return grid(catalogue, window=window, **(base | change))


@given(st.data())
def test_every_query_lies_in_one_cell_and_pays_what_quote_says(data):
    """Property: cells partition times and sizes, and each holds the quote of all its points."""
    start_at = utc(data.draw(st.sampled_from(WINDOW_STARTS)))
    catalogue = Catalogue([data.draw(books(start_at))], "list")
    window = Window(start_at, start_at + timedelta(hours=data.draw(st.integers(1, 60))))
    tier, region = data.draw(st.sampled_from([(None, None), ("batch", "us"), ("odd", None)]))
    cells = grid_of(catalogue, window, service_tier=tier, region=region)
    edges = sorted({cell.from_at for cell in cells} | {start_at + MICROSECOND})
    instants = st.sampled_from([*edges, *(at - MICROSECOND for at in edges[1:])]) | st.integers(
        0, window.microseconds() - 1
    ).map(lambda n: start_at + n * MICROSECOND)
    for _ in range(10):
        at, sizes = data.draw(instants), (data.draw(small_counts), data.draw(small_counts))
        (cell,) = [cell for cell in cells if cell.contains(at, *sizes)]
        quote = catalogue.quote(
            PriceQuery(
                model_id="m-river",
                at=at,
                input_tokens=sizes[0],
                output_tokens=sizes[1],
                service_tier=tier,
                region=region,
                tenant_id="t1",
            )
        )
        assert (cell.price, cell.reason, cell.findings, cell.detail) == (
            quote.price,
            quote.reason,
            quote.findings,
            quote.detail,
        )


def test_one_price_is_one_cell():
    """A flat price over a month is one box without upper ends in size."""
    window = Window(START, START + timedelta(days=31))
    (cell,) = grid_of(Catalogue([book(entry())], "list"), window)
    assert (cell.from_at, cell.until_at) == (window.start_at, window.end_at)
    assert (cell.input_from, cell.input_until, cell.output_from, cell.output_until) == (
        0,
        None,
        0,
        None,
    )


def test_a_tier_cuts_the_input_sizes_only():
    """Case C18: strictly above 200,000 is another cell, starting at 200,001."""
    long = Tier(prices=prices(input="5.00"), input_from=200_001)
    window = Window(START, START + timedelta(hours=1))
    cells = grid_of(Catalogue([book(entry(tiers=(long,)))], "list"), window)
    assert [(c.input_from, c.input_until, c.output_until) for c in cells] == [
        (0, 200_001, None),
        (200_001, None, None),
    ]


def test_no_price_is_a_cell_too():
    """Before the first entry nothing is known; the cell says so."""
    window = Window(START - timedelta(hours=1), START + timedelta(hours=1))
    before, after = grid_of(Catalogue([book(entry())], "list"), window)
    assert (before.price, before.reason, before.until_at) == (None, "no_price", START)
    assert after.price is not None


def test_a_wall_clock_hour_that_comes_twice_is_in_the_band_twice():
    """New York, 2026-11-01: 01:00-02:00 is 05:00Z to 06:00Z and again 06:00Z to 07:00Z."""
    band = Band(prices=prices(output="1"), from_second=3600, until_second=7200)
    of = book(entry(bands=(band,)), zone=ZoneInfo("America/New_York"))
    day = Window(datetime(2026, 11, 1, 4, tzinfo=UTC), datetime(2026, 11, 1, 12, tzinfo=UTC))
    cells = grid_of(Catalogue([of], "list"), day)
    assert [(c.from_at.hour, c.price.band) for c in cells] == [
        (4, None),
        (5, "01:00-02:00"),
        (7, None),
    ]


def test_a_band_that_begins_in_a_skipped_hour_begins_when_the_clock_jumps():
    """New York, 2026-03-08: 02:30 does not exist; the clock jumps to 03:00 EDT at 07:00Z."""
    band = Band(prices=prices(output="1"), from_second=9000, until_second=14_400)
    of = book(entry(bands=(band,)), zone=ZoneInfo("America/New_York"))
    day = Window(datetime(2026, 3, 8, 4, tzinfo=UTC), datetime(2026, 3, 8, 12, tzinfo=UTC))
    cells = grid_of(Catalogue([of], "list"), day)
    assert [(f"{c.from_at:%H:%M}", c.price.band) for c in cells] == [
        ("04:00", None),
        ("07:00", "02:30-04:00"),
        ("08:00", None),
    ]
