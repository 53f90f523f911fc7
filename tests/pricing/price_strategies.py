"""Random books: everything that can move a price, around a given time."""

from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from pricing.price_book import Book
from pricing.price_entry import Band, Contract, Entry, ServiceTier, Tier
from tests.pricing.price_rows import book, prices

# Clocks change around the test's times in three of the zones, by an hour or by half an hour.
ZONES = ("Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Europe/London", "UTC")

small_counts = st.integers(0, 12)
seconds_of_day = st.integers(0, 95).map(lambda quarter: quarter * 900)
some_prices = st.integers(1, 9).map(lambda n: prices(input=str(n), cached_input="same", output="3"))
tiers = st.lists(
    st.builds(Tier, prices=some_prices, input_from=small_counts, output_from=small_counts),
    max_size=3,
).map(tuple)
bands = st.builds(
    Band,
    prices=some_prices,
    from_second=seconds_of_day,
    until_second=seconds_of_day.map(lambda second: second + 900),
    days=st.frozensets(st.integers(0, 6), min_size=3),
    holidays=st.sampled_from([None, "X", "Y"]),
    tiers=tiers,
).filter(lambda band: band.from_second != band.until_second)


def entries(start_at: datetime) -> st.SearchStrategy[Entry]:
    """Entries of one model that begin or end within a week of `start_at`."""
    instants = st.integers(-50, 150).map(lambda hours: start_at + timedelta(hours=hours))
    return st.builds(
        Entry,
        model=st.just("m-river"),
        effective_from=instants,
        effective_until=st.none() | instants,
        promotion=st.booleans(),
        prices=some_prices,
        tiers=tiers,
        bands=st.lists(bands, max_size=2).map(tuple),
        service_tiers=tiers.map(
            lambda own: (ServiceTier(name="batch", prices=prices(output="1"), tiers=own),)
        ),
        regions=st.just({"us": Decimal("1.1")}),
    )


@st.composite
def books(draw: st.DrawFn, start_at: datetime) -> Book:
    """A book of one model; it need not be valid, quote and grid must agree all the same."""
    instants = st.integers(-50, 150).map(lambda hours: start_at + timedelta(hours=hours))
    contracts = st.builds(
        Contract,
        tenant=st.just("t1"),
        effective_from=instants,
        effective_until=st.none() | instants,
        percent_off=st.just(Decimal(10)),
    )
    day = start_at.date() + timedelta(days=1)
    return book(
        *draw(st.lists(entries(start_at), min_size=1, max_size=3)),
        zone=ZoneInfo(draw(st.sampled_from(ZONES))),
        contracts=tuple(draw(st.lists(contracts, max_size=2))),
        holidays={"X": frozenset({day}), "Y": frozenset({day - timedelta(days=400)})},
    )
