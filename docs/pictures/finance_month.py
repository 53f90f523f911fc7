"""A finance month by the product's own code, at fixed times: the documents that are pictured.

June 2026 of three tenants in a ledger and a store of their own: closed, issued, one invoice
credited; then late usage, a corrected price and a dispute, which July's invoice bills.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa

from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.store.connect import open_store
from metering.usage import event_id
from metering.wire import to_batch
from pricing.invoices import InvoiceLine
from pricing.ledger.connect import Ledger
from pricing.ledger.corrections import credit
from pricing.ledger.cost_centres import Assignment, CostCentre, add_cost_centre, assign
from pricing.ledger.disputes import Asked, decide_dispute, open_dispute
from pricing.ledger.invoices import Invoice, get_invoice, lines_of
from pricing.ledger.issuers import BillingProfile, Issuer, put_issuer, put_profile
from pricing.ledger.price_books import add_revision
from pricing.ledger.projects import Project, add_project
from pricing.ledger.tables import BookState
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger
from pricing.runs.close import CloseOrder, close_month
from pricing.runs.issue import issue
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.reprice import reprice_open
from pricing.runs.rerate import RerateOrder, rerate_month
from pricing.runs.settle import settle_new
from pricing.scope import Scope

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
JUNE, JULY = date(2026, 6, 1), date(2026, 7, 1)
BOOK = """
book = "list"
currency = "CNY"
timezone = "Asia/Shanghai"
[[price]]
model = "m-river"
effective_from = 2026-01-01T00:00:00+08:00
per_million_tokens = { input = "4.00", cached_input = "0.40", output = "16.00" }
[[price.band]]
from = "00:30"
until = "08:30"
per_million_tokens = { input = "2.00", cached_input = "0.20", output = "8.00" }
[[price]]
model = "m-lake"
effective_from = 2026-01-01T00:00:00+08:00
per_million_tokens = { input = "0.85", cached_input = "0.085", output = "3.40" }
[[contract]]
tenant = "t-alder"
effective_from = 2026-01-01T00:00:00+08:00
percent_off = "10"
"""
CORRECTED = BOOK.replace('"0.85"', '"0.80"')
PROJECTS = {  # tenant → project → cost centre
    "t-alder": {"search": "4711", "support": "4712"},
    "t-birch": {"copilot": "R-20"},
    "t-cedar": {"evaluation": "RD-1", "agents": "RD-2"},
}


DAY_AND_NIGHT = {4: "m-river", 19: "m-river", 6: "m-lake"}  # 19 UTC is 03:00 in Shanghai


@dataclass(frozen=True, slots=True)
class Month:
    """The house's ledger and store; every step is told its time."""

    ledger: Ledger
    rules: LedgerRules
    cursor: duckdb.DuckDBPyConnection

    def publish(self, toml: str, at: datetime) -> None:
        """Publish a price book, and rate what is open by it."""
        with self.ledger.write(actor="docs", at=at) as change:
            state = BookState.PUBLISHED
            add_revision(change, "list", toml_text=toml, currency="CNY", state=state)
        list(reprice_open(self.cursor, self.rules.at(at), now=at))

    def feed(self, legs: list[dict[str, Any]], at: datetime) -> None:
        """Take legs in and settle them."""
        table = pa.Table.from_batches([to_batch(legs)])
        append_legs(self.cursor, [LegBatch(table=table, sender="docs")], at)
        settle_new(self.cursor, self.rules.at(at), now=at)

    def close(self, month: date, at: datetime) -> None:
        """Close a month, and issue what it made."""
        report = close_month(self.cursor, self.ledger, CloseOrder(month=month), now=at)
        assert report.is_done, report
        for number in (made.number for each in report.tenants for made in each.documents):
            issue(self.ledger, number, actor="docs", at=at)

    def document(self, number: str) -> tuple[Invoice, list[InvoiceLine]]:
        """A document and its lines."""
        with self.ledger.read() as connection:
            return get_invoice(connection, Scope.house(), number), lines_of(connection, number)


@contextmanager
def finance_month(folder: Path) -> Iterator[Month]:
    """The house in `folder` after the close of July 2026."""
    url = f"sqlite:///{folder / 'ledger.sqlite'}"
    upgrade_ledger(url)
    ledger, store = Ledger(url), open_store(None)
    month = Month(ledger, LedgerRules(ledger), store.cursor())
    register(ledger)
    month.publish(BOOK, BEGIN)
    june(month)
    july(month)
    yield month
    month.cursor.close()
    store.close()
    ledger.close()


def register(ledger: Ledger) -> None:
    """Who sells, who buys, and what for."""
    with ledger.write(actor="docs", at=BEGIN) as change:
        put_issuer(change, SELLER)
        for tenant_id, (name, kind) in TENANTS.items():
            zone = {"billing_zone": "Asia/Shanghai", "currency": "CNY", "created_at": BEGIN}
            add_tenant(change, Tenant(tenant_id=tenant_id, name=name, kind=kind, **zone))
            for project, centre in PROJECTS[tenant_id].items():
                own = {"tenant_id": tenant_id, "created_at": BEGIN}
                add_project(change, Project(project_id=project, name=project, **own))
                add_cost_centre(change, CostCentre(cost_centre_id=centre, name=centre, **own))
                given = Assignment(
                    assignment_id=f"{tenant_id}-{project}",
                    tenant_id=tenant_id,
                    project_id=project,
                    cost_centre_id=centre,
                    from_at=BEGIN,
                )
                assign(change, given)
        for buyer in BUYERS:
            put_profile(change, buyer)


def june(month: Month) -> None:
    """Three tenants' June, closed on July 1; the invoice of t-birch is credited and made anew."""
    month.feed(served(JUNE, days=29, hours=DAY_AND_NIGHT), datetime(2026, 6, 30, 15, tzinfo=UTC))
    month.close(JUNE, datetime(2026, 7, 1, 2, tzinfo=UTC))
    with month.ledger.write(actor="docs", at=datetime(2026, 7, 3, tzinfo=UTC)) as change:
        credit(change, "INV-000002", reason="wrong buyer", again=True)


def july(month: Month) -> None:
    """What came after June's close, and July itself, closed on August 1."""
    late = served(JUNE, days=1, hours={7: "m-lake"}, tenants=("t-alder",))
    month.feed(late, datetime(2026, 7, 5, tzinfo=UTC))
    at = datetime(2026, 7, 10, tzinfo=UTC)
    month.publish(CORRECTED, at)
    order = RerateOrder(month=JUNE, reason="m-lake was listed at 0.85")
    rerate_month(month.cursor, month.ledger, month.rules.at(at), order, now=at)
    asked = Asked(
        number="INV-000001", position=2, amount=Decimal("12.50"), reason="outage on June 12"
    )
    with month.ledger.write(actor="docs", at=at) as change:
        found = open_dispute(change, Scope.house(), asked, dispute_id=UUID(int=1))
        decided = {"credited": Decimal("12.50"), "reason": "outage on June 12"}
        decide_dispute(change, found.dispute_id, **decided)
    month.feed(served(JULY, days=31, hours={6: "m-lake"}), datetime(2026, 7, 31, 15, tzinfo=UTC))
    month.close(JULY, datetime(2026, 8, 1, 2, tzinfo=UTC))


def served(
    first: date, *, days: int, hours: Mapping[int, str], tenants: Collection[str] = PROJECTS
) -> list[dict[str, Any]]:
    """Legs of so many days: of each project at each of these hours (UTC → model)."""
    legs = []
    projects = [(tenant_id, name) for tenant_id in tenants for name in PROJECTS[tenant_id]]
    for day, (n, (tenant_id, project)), hour in product(range(days), enumerate(projects), hours):
        at = datetime.combine(first, time(hour), UTC) + timedelta(days=day)
        size = (n + 2) * (day % 7 + 3) * (hour + 1) * 7_919  # any numbers, the same every time
        legs.append(
            leg(f"{project} {at} {hours[hour]}", at)
            | {"tenant_id": tenant_id, "project_id": project, "model_id": hours[hour]}
            | {"input_tokens": size * 9, "cached_input_tokens": size * 5, "output_tokens": size}
        )
    return legs


def leg(name: str, at: datetime) -> dict[str, Any]:
    """What every leg of these months has."""
    return {
        "event_id": event_id("docs", name.encode()),
        "stage": "unified",
        "status": "ok",
        "node_id": "u01",
        "started_at": at,
        "finished_at": at + timedelta(minutes=5),
    }


SELLER = Issuer(
    issuer_id="house",
    legal_name="云算科技有限公司",
    tax_id="91310000MA1FL0XXXX",
    address="上海市浦东新区",
    bank_name="招商银行",
    bank_account="1219 0000 1234",
    country="CN",
    created_at=BEGIN,
)
TENANTS = {
    "t-alder": ("Alder Search", "customer"),
    "t-birch": ("桦木数据", "customer"),
    "t-cedar": ("Research", "internal"),
}
TAXED = {"tax_rate": Decimal("0.06"), "tax_place": "上海"}
BUYERS = (
    BillingProfile(
        tenant_id="t-alder",
        legal_name="Alder Search GmbH",
        tax_id="DE123456789",
        address="Hauptstr. 1, 10115 Berlin",
        country="DE",
        **TAXED | {"tax_place": "Shanghai"},
    ),
    BillingProfile(
        tenant_id="t-birch",
        legal_name="桦木数据有限公司",
        tax_id="91110108MA01XXXX0X",
        address="北京市海淀区",
        country="CN",
        language="zh",
        **TAXED,
    ),
    BillingProfile(tenant_id="t-cedar", legal_name="Research", language="en"),
)
