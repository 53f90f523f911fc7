"""List prices behind a contract: found by the rules that made the contract's price."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.invoices import NAMING, InvoiceLine
from pricing.list_prices import list_unit_price
from pricing.price_entry import Contract
from pricing.rating import LINE_PRICES
from tests.pricing.price_rows import START, book, entry, prices, quote
from tests.pricing.price_strategies import books, small_counts

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)
FREE = Contract(tenant="t1", effective_from=START, percent_off=Decimal(100))


def lines_of(price):
    """A line of a million tokens for each price of a key."""
    for _, line, column in LINE_PRICES:
        if (unit_price := getattr(price, column)) is not None:
            yield (
                column,
                InvoiceLine(
                    kind="usage",
                    service_month=date(2026, 3, 1),
                    line=line,
                    tokens=1_000_000,
                    unit_price=unit_price,
                    amount=unit_price,
                    rounded_amount=unit_price,
                    **{name: getattr(price, name) for name in NAMING},
                ),
            )


@given(
    of=books(NOON),
    hours=st.integers(-60, 160),
    sizes=st.tuples(small_counts, small_counts),
    service_tier=st.sampled_from([None, "batch", "unknown"]),
    region=st.sampled_from([None, "us", "eu"]),
)
def test_the_list_price_is_what_others_pay(of, hours, sizes, service_tier, region):
    """The quote of the same request without the contract, for every line of random books.

    Two bands or contracts of one name may hide it (such a book is refused); it is never wrong.
    """
    request = {"at": NOON + timedelta(hours=hours), "service_tier": service_tier, "region": region}
    request |= dict(zip(("input_tokens", "output_tokens"), sizes, strict=True))
    paid, listed = (quote(of, tenant_id=who, **request).price for who in ("t1", None))
    if paid is None or paid.contract is None:
        return
    named = [each.name for e in of.entries for each in (e, *e.bands)]
    for column, line in lines_of(paid):
        told = list_unit_price(of, line)
        assert told == getattr(listed, column) or (told is None and len(set(named)) < len(named))


def free_line(**listed):
    """The cached line of a tenant that pays nothing."""
    of = book(entry(prices=prices(input="2", **listed)), contracts=(FREE,))
    lines = dict(lines_of(quote(of, tenant_id="t1").price))
    return of, lines["cached_price"]


def test_a_price_of_nothing_is_told_by_the_entry():
    """100 percent off 0.20 is 0, from which no division leads back; the entry says 0.20."""
    of, line = free_line(cached_input="0.20")
    assert (line.unit_price, list_unit_price(of, line)) == (0, Decimal("0.20"))


def test_two_list_prices_behind_nothing_are_not_guessed():
    """Implicit and explicit cache reads share one line of the bill, and both are free."""
    of, line = free_line(cached_input="0.20", cached_input_explicit="0.10")
    assert list_unit_price(of, line) is None


@pytest.mark.parametrize("change", [{"percent_off": None, "book": "own"}, {"tenant": "t2"}])
def test_without_a_percent_of_this_book_nothing_is_told(change):
    """A tenant's own book is its list; a contract that the book does not hold says nothing."""
    terms = {"tenant": "t1", "effective_from": START, "percent_off": Decimal(100)} | change
    (line, *_) = dict(
        lines_of(quote(book(entry(), contracts=(FREE,)), tenant_id="t1").price)
    ).values()
    assert list_unit_price(book(entry(), contracts=(Contract(**terms),)), line) is None
