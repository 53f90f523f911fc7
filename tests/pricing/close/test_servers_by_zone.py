"""What servers earned in a month that cuts hours is what was invoiced, to the last digit.

Right values: the invoices, whose edges are cut request by request (test_close.py), and the requests
themselves. One server's prefill and decode; their requests lie around both edges of June in each
zone: Asia/Kolkata is UTC+5:30, Asia/Kathmandu UTC+5:45.
"""

from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from metering.windows import Window, month_window
from pricing.money import exact_sum
from pricing.reports.revenue_groups import RevenueGroup, revenue_groups
from pricing.reports.revenue_servers import servers_report, unbilled_report
from pricing.runs.export_month import gather_month
from tests.pricing.settle.legs import decode, prefill

ZONES = ("Asia/Kolkata", "Asia/Kathmandu", "Asia/Shanghai")
JUNE, NOW = date(2026, 6, 1), "2026-07-02T00:00:00Z"
MINUTES = (-61, -46, -31, -16, -1, 0, 14, 29, 44, 59)  # from each edge of the month


def served(window):
    """A pair for each minute around both edges, and a failed one; 1 to 20 tokens of output."""
    edges = (window.start_at, window.end_at)
    starts = [edge + timedelta(minutes=n) for edge in edges for n in MINUTES]
    for number, start in enumerate(starts, 1):
        times = {"started_at": start, "finished_at": start + timedelta(seconds=9)}
        own = {"join_key": f"k{number}", "tenant_id": "t-pune"} | times
        yield prefill(f"p{number}", **own)
        yield decode(f"d{number}", **own, output_tokens=number)
    for start in (edge + timedelta(minutes=n) for edge in edges for n in (-1, 0)):
        times = {"started_at": start, "finished_at": start}
        own = {"join_key": str(start), "tenant_id": "t-pune", "status": "error"}
        yield decode(f"failed-{start}", **own | times)


@pytest.fixture(params=[(zone, early) for zone in ZONES for early in (True, False)], ids=str)
def june(request, house):
    """The house after June's close, and June; its tenant registered before the usage or after."""
    zone, is_early = request.param
    window = month_window(JUNE, ZoneInfo(zone))
    if is_early:
        house.tenant("t-pune", zone)
    house.feed(*served(window), now=NOW)
    if not is_early:
        house.tenant("t-pune", zone)
    return house, window, zone


def test_servers_earned_what_is_invoiced(june):
    """Ten of the twenty pairs; formula and ledger agree for each server."""
    house, window, zone = june
    (made,) = house.close("2026-06", NOW).tenants[0].documents
    rows = servers_report(house.till.cursor, window)
    assert exact_sum(row.amount for row in rows) == made.exact_amount > 0
    assert {(row.node_id, row.requests, row.difference) for row in rows} == {
        ("p1", 10, 0),
        ("d1", 10, 0),
    }
    exported = gather_month(house.till.cursor, JUNE, ZoneInfo(zone))
    for name in ("servers", "chargeback"):
        owed = exported[name]["amount"].drop_null().to_pylist()
        assert exact_sum(owed) == made.exact_amount


def test_by_pool_and_model_it_is_the_same(june):
    """However grouped, the sums are those of the servers; two failed answers lie inside."""
    house, window, _ = june
    (row,) = revenue_groups(house.till.cursor, window, [RevenueGroup.MODEL])
    assert row["amount"] == exact_sum(
        each.amount for each in servers_report(house.till.cursor, window)
    )
    unbilled = unbilled_report(house.till.cursor, window)
    assert sum(each["requests"] for each in unbilled if each["node_id"] == "d1") == 2


def test_any_two_windows_that_touch_are_their_whole(june):
    """Cut anywhere, also twice within one hour."""
    house, window, _ = june
    cuts = [window.start_at, *(window.start_at + timedelta(minutes=n) for n in (7, 20, 100))]
    cuts.append(window.end_at)
    parts = [
        exact_sum(each.amount for each in servers_report(house.till.cursor, Window(*span)))
        for span in pairwise(cuts)
    ]
    whole = exact_sum(each.amount for each in servers_report(house.till.cursor, window))
    assert exact_sum(parts) == whole > Decimal(0)
