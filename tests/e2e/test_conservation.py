"""A month is conserved: what is invoiced and what is not, by reason, is what was used.

Real traces through parser, ingest, settlement and close. Their requests are spread over June 2026
and a day to each side, so that both edges of the month cut them, in three zones at once. Tenants
are registered after the usage was settled: the half hour of Asia/Kolkata then lies inside hourly
buckets. The right values are the requests themselves, cut by zoneinfo; and over all months the
traces' control totals (tests/e2e/test_traces.py).
"""

import zlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.windows import month_window, parse_month
from metering.wire import to_batch
from pricing.close_checks import Acceptance
from pricing.close_report import Outcome
from pricing.ledger.connect import Ledger
from pricing.ledger.tables import TenantKind
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger
from pricing.price_book import Catalogue
from pricing.reports.revenue_servers import servers_report
from pricing.runs.close import CloseOrder, close_month
from pricing.runs.verify import verify_invoice
from pricing.scope import Scope
from tests.e2e.metered_trace import GLM, batches, replayed
from tests.pricing.price_rows import book
from tests.pricing.settle.legs import Till, rules

ZONES = ("Asia/Shanghai", "UTC", "Asia/Kolkata")
MONTHS = ("2026-05", "2026-06", "2026-07")
FROM = datetime(2026, 5, 31, tzinfo=UTC)
HALF_HOURS = 32 * 48
INGESTED = datetime(2026, 7, 3, tzinfo=UTC)
CLOSED = datetime(2026, 8, 2, tzinfo=UTC)
TRACES = {
    "conversation": ("mooncake_conversation.parquet", 12_031, Decimal("949.177462")),
    "synthetic": ("mooncake_synthetic.parquet", 3_993, Decimal("267.113154")),
    "agentic": ("kvct_agentic_requests.parquet", 49_334, None),
    "demo": (None, None, None),
}


def spread(batch, first):
    """The batch with each request moved to a half hour of its own choice; one in 97 of nobody."""
    rows = batch.table.to_pylist()
    for row in rows:
        own = zlib.crc32(str(row["join_key"]).encode())
        shift = FROM + timedelta(minutes=30) * (own % HALF_HOURS) - first
        for name in ("started_at", "finished_at"):
            row[name] += shift
        if own % 97 == 0:
            row["tenant_id"] = row["api_key_id"] = row["project_id"] = None
    return LegBatch(table=pa.Table.from_batches([to_batch(rows)]), sender=batch.sender)


class Conserved:
    """One trace: settled, its tenants registered afterwards, three months closed."""

    def __init__(self, cluster, folder):
        self.till = Till(rules(Catalogue([book(GLM)], "list")))
        listed = list(batches(cluster))
        first = min(each.table["started_at"].to_pylist()[0] for each in listed)
        first = first.replace(minute=0, second=0, microsecond=0)
        for each in listed:
            append_legs(self.till.cursor, [spread(each, first)], INGESTED)
            self.till.settle(INGESTED)
        self.till.give_up(INGESTED + timedelta(days=4))
        upgrade_ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
        self.ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
        self.zones = self._register()
        self.reports = {month: self._close(month) for month in MONTHS}

    def _register(self):
        """Zones in turn; the last but one is a test tenant, the last one is not registered."""
        found = self.till.rows("DISTINCT tenant_id", "request", where="tenant_id IS NOT NULL")
        *names, test, _ = sorted(name for (name,) in found)
        zones = {name: ZONES[n % len(ZONES)] for n, name in enumerate([*names, test])}
        with self.ledger.write(actor="test", at=FROM) as change:
            for name, zone in zones.items():
                kind = TenantKind.TEST if name == test else TenantKind.CUSTOMER
                given = {"name": name, "billing_zone": zone, "currency": "CNY"}
                add_tenant(change, Tenant(tenant_id=name, kind=kind, created_at=FROM, **given))
        return zones

    def _close(self, month):
        names = {f"{name}:{kind}" for name in self.zones for kind in ("held", "pending")}
        accepted = Acceptance(names=frozenset(names), reason="tested")
        order = CloseOrder(month=parse_month(month), accepted=accepted)
        return close_month(self.till.cursor, self.ledger, order, now=CLOSED)

    def told(self, month):
        """Requests and the exact amount of documents and of what is listed beside them."""
        report = self.reports[month]
        assert {each.outcome for each in report.tenants} == {Outcome.CLOSED}
        made = [each for tenant in report.tenants for each in tenant.documents]
        with self.ledger.read() as connection:
            requests = connection.exec_driver_sql(
                "SELECT coalesce(sum(digest_requests), 0) FROM invoice WHERE month = ?",
                (f"{month}-01",),
            ).scalar_one()
        left = report.not_invoiced
        return (
            requests + sum(each.requests for each in left),
            sum((each.exact_amount for each in made), Decimal(0))
            + sum((each.amount_max for each in left), Decimal(0)),
        )

    def used(self, month):
        """The same of the requests that began in the month, in the zone of their owner."""
        rows = self.till.rows(
            "tenant_id, billing_at, sign * request_count, sign * (amount + unsplit_amount_max)",
            "request_money",
            where="disposition <> 'cost'",
        )
        windows = {
            name: month_window(parse_month(month), ZoneInfo(zone))
            for name, zone in {**self.zones, None: "UTC"}.items()
        }
        inside = [
            row
            for row in rows
            if windows.get(row[0], windows[None]).start_at
            <= row[1].replace(tzinfo=UTC)
            < windows.get(row[0], windows[None]).end_at
        ]
        return sum(row[2] for row in inside), sum((row[3] for row in inside), Decimal(0))


@pytest.fixture(scope="module", params=TRACES)
def trace(request, shared, tmp_path_factory):
    """Name, file and control totals of a trace, settled and closed once for all tests."""
    name, requests, amount = TRACES[request.param]
    out, folder = tmp_path_factory.mktemp("cluster"), tmp_path_factory.mktemp("ledger")
    if name is None:
        faults = ("--retries", "0.01", "--aborts", "0.01", "--kv-failures", "0.01")
        replayed(None, out, "--workload", "white-paper", *faults)
    else:
        replayed(shared / "data" / "traces" / name, out)
    made = Conserved(out, folder)
    made.expected = requests, amount
    yield made
    made.ledger.close()
    made.till.store.close()


@pytest.mark.slow
def test_invoices_and_what_is_not_invoiced_are_the_month(trace):
    """To the last digit, each month, in Asia/Shanghai, UTC and Asia/Kolkata at once."""
    for month in MONTHS:
        assert trace.told(month) == trace.used(month)
    assert min(trace.told(month)[0] for month in MONTHS) > 0


@pytest.mark.slow
def test_all_months_together_are_the_trace(trace):
    """Every request is in exactly one month: the control totals, where somebody published them."""
    requests, amount = (sum(part) for part in zip(*map(trace.told, MONTHS), strict=True))
    assert (requests, amount) == trace.till.rows(
        "sum(sign * request_count)::BIGINT, sum(sign * (amount + unsplit_amount_max))",
        "request_money",
        where="disposition <> 'cost'",
    )[0]
    wanted_requests, wanted_amount = trace.expected
    assert requests == (wanted_requests or requests)
    assert amount == (wanted_amount or amount)


@pytest.mark.slow
def test_a_tenant_of_each_zone_can_prove_its_june(trace):
    """Derived again from requests and legs, half hours included."""
    with trace.ledger.read() as connection:
        for each in trace.reports["2026-06"].tenants[: len(ZONES)]:
            for made in each.documents:
                checks = verify_invoice(trace.till.cursor, connection, Scope.house(), made.number)
                assert [fault for check in checks for fault in check.faults] == []


@pytest.mark.slow
@pytest.mark.parametrize("zone", [*ZONES, "Asia/Kathmandu"])
def test_servers_earned_the_june_of_any_zone(trace, zone):
    """Σ servers = Σ billed requests that began in the zone's June, half and quarter hours too."""
    window = month_window(parse_month("2026-06"), ZoneInfo(zone))
    inside = (
        f"billing_at >= '{window.start_at:%Y-%m-%d %H:%M}' "
        f"AND billing_at < '{window.end_at:%Y-%m-%d %H:%M}' AND disposition = 'billed'"
    )
    ((billed,),) = trace.till.rows("sum(sign * amount)", "request_money", where=inside)
    earned = servers_report(trace.till.cursor, window)
    assert sum((each.amount for each in earned), Decimal(0)) == billed
    assert {each.difference for each in earned} == {0}
