"""The close of a month: whose, when, how much, and what keeps it from happening."""

from datetime import date
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from metering.windows import month_window
from pricing.close_report import Outcome
from pricing.errors import Conflict
from pricing.ledger.tables import TenantKind
from pricing.ledger.tenants import change_tenant
from pricing.reports.chargeback import chargeback_report
from tests.pricing.close.conftest import BOOK, time, usage

JUNE = {"t-alder": 5, "t-birch": 10, "t-cedar": 15}  # millions of tokens: 10, 20 and 30 CNY


@pytest.fixture
def june(house):
    """Case C04: three tenants that owe 10.00, 20.00 and 30.00 for June."""
    for tenant_id, millions in JUNE.items():
        house.tenant(tenant_id)
        rows = (usage(str(n), tenant_id, f"2026-06-{n + 1:02}T10:00:00Z") for n in range(millions))
        house.feed(*rows, now="2026-07-01T00:00:00Z")
    return house


def test_each_tenant_gets_one_invoice(june):
    """C04: 10.00 + 20.00 + 30.00 = 60.00, three numbers."""
    report = june.close("2026-06", "2026-07-01T01:00:00Z")
    assert june.totals(report) == {
        "t-alder": Decimal("10.00"),
        "t-birch": Decimal("20.00"),
        "t-cedar": Decimal("30.00"),
    }
    numbers = [made.number for each in report.tenants for made in each.documents]
    assert numbers == ["INV-000001", "INV-000002", "INV-000003"]


def test_a_second_run_creates_nothing(june):
    """C04: by hand, and again next day: already closed, the same numbers."""
    first = june.close("2026-06", "2026-07-01T01:00:00Z")
    for now in ("2026-07-01T02:00:00Z", "2026-07-02T02:00:00Z"):
        again = june.close("2026-06", now)
        assert {each.outcome for each in again.tenants} == {Outcome.ALREADY_CLOSED}
        assert again.is_done
        assert [e.documents for e in again.tenants] == [e.documents for e in first.tenants]


def test_lines_say_what_was_served_at_which_price(june):
    """Five requests of a million tokens: one line of 5,000,000 at 2.00."""
    june.close("2026-06", "2026-07-01T01:00:00Z")
    found, (line,) = june.document("INV-000001")
    assert (line.line, line.tokens, line.unit_price) == ("input", 5_000_000, Decimal("2.00"))
    assert (line.amount, line.entry) == (Decimal(10), "m-river@2020-01-01T00:00:00Z")
    assert found.digest_requests == 5


def edges(house, tenant_id, zone):
    """Case C07's four events at the edges of June."""
    house.tenant(tenant_id, zone)
    at = ("06-30T15:59:59Z", "06-30T16:00:00Z", "06-30T23:59:59Z", "07-01T00:00:00Z")
    return [usage(f"e{n}", tenant_id, f"2026-{when}") for n, when in enumerate(at, start=1)]


def test_months_are_cut_in_the_tenants_zone(house):
    """C07: June is 2.00 in Shanghai and 6.00 in UTC; June + July is 8.00 for both."""
    rows = edges(house, "t-shanghai", "Asia/Shanghai") + edges(house, "t-utc", "UTC")
    house.feed(*rows, now="2026-07-01T00:01:00Z")
    first = house.close("2026-06", "2026-06-30T16:05:00Z")
    assert house.totals(first) == {"t-shanghai": Decimal("2.00")}
    assert [e.tenant_id for e in first.with_outcome(Outcome.NOT_ENDED)] == ["t-utc"]
    second = house.close("2026-06", "2026-07-01T00:05:00Z")
    assert house.totals(second) == {"t-utc": Decimal("6.00")}
    assert house.totals(house.close("2026-06", "2026-07-01T00:05:00Z")) == {}
    july = house.close("2026-07", "2026-08-01T01:00:00Z")
    assert house.totals(july) == {"t-shanghai": Decimal("6.00"), "t-utc": Decimal("2.00")}


def test_a_month_of_half_hours_off(house):
    """Asia/Kolkata's July begins at 18:30 UTC; the buckets of its tenants are quarter hours."""
    house.tenant("t-pune", "Asia/Kolkata")
    rows = [
        usage("a", "t-pune", "2026-06-30T18:29:59Z"),
        usage("b", "t-pune", "2026-06-30T18:30:00Z"),
    ]
    house.feed(*rows, now="2026-07-01T00:01:00Z")
    assert house.totals(house.close("2026-06", "2026-07-01T01:00:00Z")) == {
        "t-pune": Decimal("2.00")
    }


def test_a_tenant_of_a_half_hour_zone_that_is_registered_late(house):
    """Its usage was kept by UTC hours until then: June ends at 18:30 UTC all the same."""
    rows = [
        usage("a", "t-pune", "2026-06-30T18:29:59Z"),
        usage("b", "t-pune", "2026-06-30T18:30:00Z"),
        usage("nobody", None, "2026-06-30T18:30:00Z"),
    ]
    house.feed(*rows, now="2026-07-01T00:01:00Z")
    house.tenant("t-pune", "Asia/Kolkata")
    report = house.close("2026-06", "2026-07-01T01:00:00Z", house_zone=ZoneInfo("Asia/Kolkata"))
    assert house.totals(report) == {"t-pune": Decimal("2.00")}
    assert report.not_invoiced == []
    july = house.close("2026-07", "2026-08-01T01:00:00Z", house_zone=ZoneInfo("Asia/Kolkata"))
    assert house.totals(july) == {"t-pune": Decimal("2.00")}
    assert [(each.reason, each.requests) for each in july.not_invoiced] == [("unattributed", 1)]


def test_who_pays_what_is_cut_at_the_half_hour_too(house):
    """Chargeback of Kolkata's June, of nobody's usage in an hourly bucket: a alone."""
    rows = [usage(name, None, f"2026-06-30T18:{at}:00Z") for name, at in (("a", 29), ("b", 30))]
    house.feed(*rows, now="2026-07-01T00:01:00Z")
    window = month_window(date(2026, 6, 1), ZoneInfo("Asia/Kolkata"))
    (row,) = chargeback_report(house.till.cursor, window, tenant_id=None)
    assert (row["requests"], row["amount"]) == (1, 2)


def test_the_zone_stays_once_a_month_was_closed_in_it(june):
    """C07: June of another zone would overlap July, and its usage be billed twice or never."""
    change_zone(june, "t-alder", "Asia/Shanghai")
    june.close("2026-06", "2026-07-01T01:00:00Z")
    with pytest.raises(Conflict, match="closed in Asia/Shanghai"):
        change_zone(june, "t-alder", "UTC")


def change_zone(house, tenant_id, zone):
    """Change the billing zone."""
    with house.ledger.write(actor="test", at=time("2026-07-02T00:00:00Z")) as change:
        change_tenant(change, tenant_id, {"billing_zone": zone})


VERSIONS = (
    BOOK.replace("2020-01-01", "2026-05-01")
    + """
[[price]]
model = "m-river"
effective_from = 2026-06-16T00:00:00Z
per_million_tokens = { input = "1.60", cached_input = "0.16", output = "6.00" }
"""
)
LATER = (
    VERSIONS
    + """
[[price]]
model = "m-river"
effective_from = 2026-07-01T00:00:00Z
published_at = 2026-07-03T02:00:00Z
per_million_tokens = { input = "1.00", cached_input = "0.10", output = "4.00" }
"""
)


def test_a_later_price_leaves_a_closed_month_alone(house):
    """C08: 2.80 + 2.20 = 5.00, before and after v3 is published."""
    house.publish(VERSIONS)
    house.tenant("t-alder")
    rows = [
        usage("e1", "t-alder", "2026-06-15T23:59:59.999Z", output_tokens=100_000),
        usage("e2", "t-alder", "2026-06-16T00:00:00Z", output_tokens=100_000),
    ]
    house.feed(*rows, now="2026-06-20T00:00:00Z")
    house.close("2026-06", "2026-07-01T00:10:00Z")
    before = house.document("INV-000001")
    house.publish(LATER, time("2026-07-03T02:00:00Z"))
    again = house.close("2026-06", "2026-07-03T03:00:00Z")
    assert house.document("INV-000001") == before
    assert house.totals(again, Outcome.ALREADY_CLOSED) == {"t-alder": Decimal("5.00")}


def test_late_usage_is_billed_once_on_the_next_invoice(house):
    """C20: June stays 6.00, July is 1.00 + 0.50 of June's price; sending z1 twice adds nothing."""
    house.publish(
        BOOK
        + BOOK[BOOK.index("[[price]]") :]
        .replace("2020-01-01", "2026-07-01")
        .replace("2.00", "1.00")
    )
    house.tenant("t-alder")
    house.feed(usage("e", "t-alder", "2026-06-10T10:00:00Z", 3_000_000), now="2026-06-10T11:00:00Z")
    house.close("2026-06", "2026-07-05T00:00:00Z")
    june = house.document("INV-000001")
    late = usage("z1", "t-alder", "2026-06-28T10:00:00Z", 250_000)
    for now in ("2026-07-08T09:00:00Z", "2026-07-09T09:00:00Z"):
        house.feed(late, now=now)
    house.feed(usage("j", "t-alder", "2026-07-10T10:00:00Z"), now="2026-07-10T11:00:00Z")
    house.close("2026-07", "2026-08-01T00:10:00Z")
    july, (own, adjustment) = house.document("INV-000002")
    assert (own.amount, adjustment.amount, july.net_amount) == (1, Decimal("0.5"), Decimal("1.50"))
    assert (adjustment.kind, adjustment.service_month) == ("adjustment", date(2026, 6, 1))
    assert house.document("INV-000001") == june
    assert house.close("2026-08", "2026-09-02T00:00:00Z").tenants[0].documents == []


def test_unpriced_usage_blocks_its_tenant_only(june):
    """t-birch used a model without a price; the others close."""
    june.feed(
        usage("x", "t-birch", "2026-06-20T00:00:00Z", model_id="m-new"), now="2026-07-01T00:10:00Z"
    )
    report = june.close("2026-06", "2026-07-01T01:00:00Z")
    assert set(june.totals(report)) == {"t-alder", "t-cedar"}
    (blocked,) = report.with_outcome(Outcome.BLOCKED)
    assert [(each.name, each.reason, each.count) for each in blocked.blockers] == [
        ("t-birch:unpriced", "no_price", 1)
    ]
    listed = {(each.reason, each.tenant_id): each.amount_min for each in report.not_invoiced}
    assert listed == {("no_price", "t-birch"): None, ("not_closed", "t-birch"): Decimal(20)}


def test_what_is_accepted_by_name_no_longer_blocks(june):
    """Accepted with a reason: closed, listed, not billed."""
    june.feed(
        usage("x", "t-birch", "2026-06-20T00:00:00Z", model_id="m-new"), now="2026-07-01T00:10:00Z"
    )
    report = june.close("2026-06", "2026-07-01T01:00:00Z", accept=["t-birch:unpriced"])
    assert june.totals(report)["t-birch"] == Decimal("20.00")
    assert [each.reason for each in report.not_invoiced] == ["no_price"]


def test_internal_and_test_tenants(house):
    """A statement with its own numbers; a listed sum; an unregistered one listed too."""
    house.tenant("t-own", kind=TenantKind.INTERNAL)
    house.tenant("t-test", kind=TenantKind.TEST)
    rows = [usage("a", name, "2026-06-10T10:00:00Z") for name in ("t-own", "t-test", "t-new", None)]
    house.feed(*rows, now="2026-06-10T11:00:00Z")
    report = house.close("2026-06", "2026-07-05T00:00:00Z")
    made = {each.tenant_id: [d.number for d in each.documents] for each in report.tenants}
    assert made == {"t-own": ["ST-000001"], "t-test": []}
    assert {(each.reason, each.tenant_id, each.amount_max) for each in report.not_invoiced} == {
        ("test_tenant", "t-test", Decimal(2)),
        ("unregistered", "t-new", Decimal(2)),
        ("unattributed", None, Decimal(2)),
    }
