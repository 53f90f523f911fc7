"""A closed month at other prices: its documents stay, the difference is billed later (V8)."""

import shutil
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metering.windows import parse_month
from pricing.errors import Conflict
from pricing.ledger.connect import Ledger
from pricing.ledger.invoices import lines_of, list_invoices
from pricing.ledger.rows import Page
from pricing.runs.rerate import RerateOrder, rerate_month
from pricing.runs.verify import verify_invoice, verify_ledger
from pricing.scope import Scope
from tests.pricing.close.conftest import BOOK, CloseHouse, time, usage

JUNE = date(2026, 6, 1)
CHEAPER = BOOK.replace("2.00", "1.60")
DEARER = BOOK.replace("2.00", "2.50")


def rerate(house, now, month="2026-06", **order):
    """Rate a closed month by the books in force at `now`."""
    asked = RerateOrder(month=parse_month(month), **{"reason": "the list was wrong"} | order)
    rules = house.rules.at(time(now))
    return rerate_month(house.till.cursor, house.ledger, rules, asked, now=time(now))


def corrected(house, toml, now="2026-07-10T00:00:00Z", **order):
    """Publish the book and re-rate June by it."""
    house.publish(toml, time(now))
    return rerate(house, now, **order)


def faults(house):
    """What is wrong with any document, derived again."""
    with house.ledger.read() as connection:
        found = list_invoices(connection, Scope.house(), month=None, page=Page(1000))
        checks = [
            check
            for each in found
            for check in verify_invoice(house.till.cursor, connection, Scope.house(), each.number)
        ]
        checks += verify_ledger(connection)
    return [fault for check in checks for fault in check.faults]


@pytest.fixture
def closed(house):
    """June of t-alder, closed: 5 million tokens at 2.00, 10.00 CNY, INV-000001."""
    house.tenant("t-alder")
    rows = (usage(str(n), "t-alder", f"2026-06-{n + 1:02}T10:00:00Z") for n in range(5))
    house.feed(*rows, now="2026-06-30T00:00:00Z")
    house.close("2026-06", "2026-07-01T01:00:00Z")
    return house


def july(house):
    """July's invoice and its lines, closed on August 1."""
    house.close("2026-07", "2026-08-01T01:00:00Z")
    return house.document("INV-000002")


def test_a_lower_price_gives_back(closed):
    """5M × 1.60 = 8.00 instead of 10.00: the next invoice gives 2.00 back; June's stays."""
    before = closed.document("INV-000001")
    (change,) = corrected(closed, CHEAPER).changes
    found, (back, anew) = july(closed)
    assert (change.tenant_id, change.requests, change.difference) == ("t-alder", 5, -2)
    assert (back.rounded_amount, anew.rounded_amount, found.net_amount) == (-10, 8, -2)
    assert closed.document("INV-000001") == before
    assert faults(closed) == []


def test_a_higher_price_charges(closed):
    """5M × 2.50 = 12.50: 2.50 more."""
    corrected(closed, DEARER)
    assert july(closed)[0].net_amount == Decimal("2.50")


def test_the_lines_say_what_they_correct_and_why(closed):
    """Both point at line 1 of INV-000001, with the reason that was given."""
    corrected(closed, CHEAPER, reason="list of 06-01 came on 07-10")
    for line in july(closed)[1]:
        assert (line.kind, line.service_month) == ("rerate", JUNE)
        assert (line.corrects_number, line.corrects_position) == ("INV-000001", 1)
        assert line.reason == "list of 06-01 came on 07-10"


def test_what_stayed_is_no_line(house):
    """Input 2.00 → 1.60 of 1M tokens; the million at 8.00 of output is neither back nor charged."""
    house.tenant("t-alder")
    row = usage("o", "t-alder", "2026-06-10T10:00:00Z", output_tokens=1_000_000)
    house.feed(row, now="2026-06-30T00:00:00Z")
    house.close("2026-06", "2026-07-01T01:00:00Z")
    (change,) = corrected(house, CHEAPER).changes
    found, lines = july(house)
    assert [(line.line, line.rounded_amount) for line in lines] == [
        ("input", Decimal(-2)),
        ("input", Decimal("1.60")),
    ]
    assert found.exact_amount == change.difference == Decimal("-0.4")
    assert faults(house) == []


def test_a_price_that_was_missing_charges_what_was_accepted_as_unpriced(closed):
    """C03 after the close: a million tokens of m-new at 3.00; nothing is given back."""
    closed.feed(
        usage("x", "t-alder", "2026-07-02T00:00:00Z", model_id="m-new"), now="2026-07-03T00:00:00Z"
    )
    closed.close("2026-07", "2026-08-01T01:00:00Z", accept=["t-alder:unpriced"])
    entry = BOOK[BOOK.index("[[price]]") :].replace("m-river", "m-new").replace("2.00", "3.00")
    closed.publish(BOOK + entry, time("2026-08-02T00:00:00Z"))
    rerate(closed, "2026-08-02T00:00:00Z", month="2026-07")
    closed.close("2026-08", "2026-09-01T01:00:00Z")
    found, (line,) = closed.document("INV-000002")
    assert (found.net_amount, line.kind, line.corrects_number) == (3, "rerate", None)
    assert faults(closed) == []


def test_publishing_alone_changes_no_closed_month(closed):
    """C08: nothing is owed for June until somebody asks for it."""
    closed.publish(CHEAPER, time("2026-07-10T00:00:00Z"))
    report = closed.close("2026-07", "2026-08-01T01:00:00Z")
    assert [each.documents for each in report.tenants] == [[]]


def test_a_trial_changes_nothing(closed):
    """It says the 2.00, and leaves no row, no record and no price behind."""
    closed.publish(CHEAPER, time("2026-07-10T00:00:00Z"))
    before = closed.till.rows("count(*)", "request"), closed.till.rows("count(*)", "price_key")
    report = rerate(closed, "2026-07-10T00:00:00Z", is_trial=True)
    assert ([each.difference for each in report.changes], report.rerate) == ([-2], None)
    after = closed.till.rows("count(*)", "request"), closed.till.rows("count(*)", "price_key")
    assert after == before


def test_again_adds_nothing_and_back_again_takes_it_back(closed):
    """Once more: no change. By the first price again, after July's close: the 2.00 are charged."""
    corrected(closed, CHEAPER)
    assert rerate(closed, "2026-07-11T00:00:00Z").changes == []
    july(closed)
    corrected(closed, BOOK.replace("timezone", "# again\ntimezone"), "2026-08-10T00:00:00Z")
    closed.close("2026-08", "2026-09-01T01:00:00Z")
    found, (back, anew) = closed.document("INV-000003")
    assert (found.net_amount, back.tokens, anew.tokens) == (2, -5_000_000, 5_000_000)
    assert (back.corrects_number, anew.corrects_number) == ("INV-000002", "INV-000001")
    assert faults(closed) == []


def test_only_the_tenants_that_are_asked_for(closed):
    """t-birch's June is closed too, and stays as it is."""
    closed.tenant("t-birch")
    closed.feed(usage("b", "t-birch", "2026-06-05T00:00:00Z"), now="2026-07-01T02:00:00Z")
    closed.close("2026-06", "2026-07-01T03:00:00Z")
    report = corrected(closed, CHEAPER, tenants=frozenset({"t-birch"}))
    assert [(each.tenant_id, each.difference) for each in report.changes] == [
        ("t-birch", Decimal("-0.4"))
    ]


def test_an_open_month_and_an_empty_reason_are_refused(closed):
    """Open months are rated anew by themselves; the audit log needs a reason."""
    with pytest.raises(Conflict, match="closed for none"):
        rerate(closed, "2026-07-10T00:00:00Z", month="2026-07")
    with pytest.raises(Exception, match="reason"):
        rerate(closed, "2026-07-10T00:00:00Z", reason=" ")


def test_another_name_for_the_same_price_corrects_nothing(closed):
    """The entry is dated anew and costs the same: no request is written."""
    report = corrected(closed, BOOK.replace("2020-01-01", "2021-01-01"))
    assert report.changes == []


PRICES = ("0.10", "1.60", "2.00", "7.77")
steps = st.lists(
    st.tuples(st.sampled_from(PRICES), st.booleans(), st.booleans()), min_size=1, max_size=4
)
amounts = st.lists(st.integers(1, 10**9), min_size=1, max_size=6)


class CrashError(Exception):
    """A process that ends between two days."""


def play(house, tokens, steps):
    """June closed, then each step: a price, a re-rate that may be killed, and maybe a close."""
    house.tenant("t-alder")
    start = datetime(2026, 6, 1, 12, tzinfo=UTC)
    rows = [
        usage(str(n), "t-alder", (start + timedelta(days=3 * n)).isoformat(), count)
        for n, count in enumerate(tokens)
    ]
    house.feed(*rows, now="2026-06-30T00:00:00Z")
    house.close("2026-06", "2026-07-01T01:00:00Z")
    for n, (price, is_killed, is_closed) in enumerate(steps):
        at = datetime(2026, 7 + n, 10, tzinfo=UTC)
        house.publish(BOOK.replace("2.00", price) + f"# {n}", at)
        rules, order = house.rules.at(at), RerateOrder(month=JUNE, reason="corrected")
        if is_killed:
            with pytest.raises(CrashError):
                rerate_month(house.till.cursor, house.ledger, rules, order, now=at, progress=crash)
        rerate_month(house.till.cursor, house.ledger, rules, order, now=at)
        if is_closed:
            house.close(f"2026-{7 + n:02}", f"2026-{8 + n:02}-02T00:00:00Z")
    house.close("2026-11", "2026-12-02T00:00:00Z")
    house.close("2026-12", "2027-01-02T00:00:00Z")


def crash(_done, _all):
    raise CrashError


def billed(house):
    """The exact sum of every line of every document."""
    with house.ledger.read() as connection:
        found = list_invoices(connection, Scope.house(), month=None, page=Page(1000))
        return sum(
            (line.amount for each in found for line in lines_of(connection, each.number)),
            Decimal(0),
        )


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tokens=amounts, steps=steps)
def test_documents_sum_to_the_requests_under_the_last_price(tokens, steps, empty_ledger, tmp_path):
    """Invoices + corrections = Σ tokens × the last price / 10^6, whatever happened on the way."""
    shutil.copy(empty_ledger, tmp_path / "ledger.sqlite")
    house = CloseHouse(Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}"))
    house.publish()
    play(house, tokens, steps)
    assert billed(house) == sum(tokens) * Decimal(steps[-1][0]).scaleb(-6)
    assert house.till.amount() == house.till.amount("request_money") == billed(house)
    assert faults(house) == []
    house.ledger.close()
    house.till.store.close()
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"ledger.sqlite{end}").unlink(missing_ok=True)
