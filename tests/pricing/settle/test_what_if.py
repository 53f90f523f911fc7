"""What-if: another book on past usage, without touching anything; equal to publishing it."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from hypothesis import given, settings

from metering.windows import Window
from pricing.money import exact_sum
from pricing.price_book import Catalogue
from pricing.runs.price_cells import PriceCells
from pricing.runs.reprice import reprice_open
from pricing.runs.what_if import added_up, what_if, what_if_days
from tests.pricing.price_rows import book, entry, prices
from tests.pricing.price_strategies import books
from tests.pricing.settle.legs import START, Till, fed, leg
from tests.pricing.settle.priced_usage import DAY, SPAN, ruled, usage

SOON = DAY + timedelta(days=20)
JUNE = Window(START, START + timedelta(days=30))
DEARER = book(entry(prices=prices(input="3", cached_input="0.20", output="8")))


def tried(till, listed, span=JUNE):
    """The lines of the what-if, read in a transaction that can write nothing."""
    cells = PriceCells(Catalogue([listed], listed.name))
    with till.store.cursor() as cursor:
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        days = what_if_days(cursor, span)
        return list(added_up(each for day in days for each in what_if(cursor, cells, day)))


def by_tenant(lines, name="amount_after"):
    """Sums of a column by tenant; tenants with nothing are left out."""
    sums = {}
    for each in lines:
        sums[each.tenant_id] = sums.get(each.tenant_id, Decimal(0)) + getattr(each, name)
    return {tenant: amount for tenant, amount in sums.items() if amount}


def billed(till):
    """What each tenant is billed now."""
    return {
        tenant: amount
        for tenant, amount in till.rows(
            "tenant_id, sum(amount)", "usage_money", where="disposition = 'billed' GROUP BY 1"
        )
        if amount
    }


def test_one_line_of_one_tenant_moves():
    """Input 2 → 3 per million: 600 tokens × 1 = 0.0006 more; hits and output stay (C01)."""
    lines = {each.line: each for each in tried(fed(leg("u")), DEARER)}
    assert {name: each.difference for name, each in lines.items()} == {
        "input": Decimal("0.0006"),
        "cached_input": 0,
        "output": 0,
    }
    assert (lines["input"].tokens_before, lines["input"].amount_before) == (600, Decimal("0.0012"))


def test_a_model_without_a_price_leaves_the_bill():
    """0.00168 before, nothing after: the tokens show where the money went."""
    lines = tried(fed(leg("u")), book(entry("m-other")))
    assert exact_sum(each.amount_before for each in lines) == Decimal("0.00168")
    assert {(each.tokens_after, each.amount_after) for each in lines} == {(0, 0)}


def test_another_currency_is_never_mixed_in():
    """CNY goes, USD comes, each on lines of its own (docs/architecture.md, V5)."""
    lines = tried(fed(leg("u")), replace(DEARER, currency="USD"))
    sums = {(each.currency, each.amount_before > 0, each.amount_after > 0) for each in lines}
    assert sums == {("CNY", True, False), ("USD", False, True)}


def test_a_window_is_half_open_to_the_microsecond():
    """A request at the window's start is in, at its end out."""
    till = fed(leg("u", started_at=START + timedelta(hours=1)))
    hour = timedelta(hours=1)
    assert tried(till, DEARER, Window(START + hour, START + 2 * hour))
    assert not tried(till, DEARER, Window(START, START + hour))


def test_nothing_is_touched():
    """Every table has the rows it had."""
    till = fed(leg("u"))
    tables = ("request", "price_key", "usage_hourly", "node_hourly", "progress", "pending")
    before = [till.rows("*", name) for name in tables]
    tried(till, DEARER)
    assert [till.rows("*", name) for name in tables] == before


@settings(max_examples=20)
@given(now=books(DAY), other=books(DAY), legs=usage())
def test_it_says_what_publishing_would_do(now, other, legs):
    """By the book in force: no difference. By another: to the last digit what a re-rate makes."""
    till = Till(ruled(now))
    till.feed(*legs, now=SOON)
    same = tried(till, now, SPAN)
    assert all(each.tokens_before == each.tokens_after for each in same)
    assert not by_tenant(same, "difference")
    assert by_tenant(same) == billed(till)
    expected = by_tenant(tried(till, other, SPAN))
    list(reprice_open(till.cursor, ruled(other), now=SOON))
    assert billed(till) == expected
