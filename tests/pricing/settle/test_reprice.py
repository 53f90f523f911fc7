"""Prices published late: open requests are rated anew by reversals, closed months never (V6)."""

from datetime import UTC, date, datetime
from decimal import Decimal

from metering.windows import Window
from pricing.directory import ClosedPeriod, Directory
from pricing.price_book import Catalogue
from pricing.runs.reprice import needs_repricing, reprice_open
from tests.pricing.price_rows import book, entry, prices
from tests.pricing.settle.legs import NOW, at, fed, leg, prefill, rules

OLD = entry()
CHEAPER = entry(prices=prices(input="1", cached_input="0.1", output="4"))
OTHER = entry("m-river-xl")
JUNE = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))


def repriced(till, *entries, directory=None):
    """Rate the till's open requests by a book of these entries."""
    used = rules(Catalogue([book(*entries)], "list"), directory)
    changes = list(reprice_open(till.cursor, used, now=NOW))
    return {change.tenant_id: change.amount.normalize() for change in changes}


def test_case_c03_a_price_added_later_rates_what_was_unpriced():
    """Before: 0.00168 and one unpriced; after: both 0.00168; the change is e2's 0.00168."""
    till = fed(leg("e1"), leg("e2", model_id="m-river-xl"))
    assert till.requests()[leg("e2")["event_id"]][:2] == ("unpriced", "no_price")
    assert repriced(till, OLD, OTHER) == {"t-alder": Decimal("0.00168")}
    assert till.amount() == till.amount("node_money") == Decimal("0.00336")


def test_a_correction_reverses_and_writes_anew():
    """Half the price: 0.00084; the old row stays, reversed; a second run changes nothing."""
    till = fed(leg("u"))
    assert repriced(till, CHEAPER) == {"t-alder": Decimal("-0.00084")}
    assert till.amount() == till.amount("request_money") == Decimal("0.00084")
    assert repriced(till, CHEAPER) == {}
    assert till.rows("sign, cause", "request") == [
        (-1, "repriced"),
        (1, "repriced"),
        (1, "settled"),
    ]


def test_a_stop_between_two_days_is_taken_up_again():
    """Two days, stopped after the first: half is rated anew, the mark stays; then the rest."""
    till = fed(leg("a"), leg("b", started_at=at(86_400), finished_at=at(86_409)))
    used = rules(Catalogue([book(CHEAPER)], "list"))
    used.prices.catalogue_id = "list@2"
    answers = iter([False, True])
    list(reprice_open(till.cursor, used, now=NOW, stopped=lambda: next(answers)))
    assert (till.amount(), needs_repricing(till.cursor, used)) == (Decimal("0.00252"), True)
    list(reprice_open(till.cursor, used, now=NOW))
    assert (till.amount(), needs_repricing(till.cursor, used)) == (Decimal("0.00168"), False)


def test_a_closed_month_is_not_rated_anew():
    """Closed for t-alder only: t-birch's request moves, t-alder's stays (V8)."""
    till = fed(leg("a"), leg("b", tenant_id="t-birch"))
    closed = (ClosedPeriod("t-alder", date(2026, 6, 1), JUNE.start_at, JUNE.end_at),)
    changed = repriced(till, CHEAPER, directory=Directory(closed=closed))
    assert changed == {"t-birch": Decimal("-0.00084")}
    assert till.amount() == Decimal("0.00252")


def test_unsplit_input_becomes_known_money_and_back():
    """Cached unknown: billed where both prices are 2 (0.0024), unpriced again where they differ."""
    till = fed(leg("u", cached_input_tokens=None))
    assert till.requests()[leg("u")["event_id"]][1] == "cached_unknown"
    repriced(till, entry(prices=prices(input="2", cached_input="same", output="8")))
    assert till.amount() == Decimal("0.0024")
    repriced(till, OLD)
    assert till.amount() == 0
    assert till.requests()[leg("u")["event_id"]][1] == "cached_unknown"


def test_money_at_risk_follows_the_price_too():
    """An undelivered prefill is not billed, but what is at stake is said in today's prices."""
    till = fed(prefill("p"))
    till.give_up()
    repriced(till, CHEAPER)
    risk = till.rows("sum(amount)", "usage_money", where="disposition = 'undelivered'")
    assert risk == [(Decimal("0.00064"),)]
