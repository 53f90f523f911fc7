"""A ledger and a store with settled usage, and the close over both."""

import shutil
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from metering.windows import parse_month
from pricing.close_checks import Acceptance
from pricing.close_report import Outcome
from pricing.ledger.connect import Ledger
from pricing.ledger.invoices import get_invoice, issue_invoice, lines_of
from pricing.ledger.price_books import add_revision
from pricing.ledger.tables import BookState
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger
from pricing.runs.close import CloseOrder, close_month
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.reprice import needs_repricing, reprice_open
from pricing.scope import Scope
from tests.pricing.settle.legs import Till, leg

BOOK = """
book = "list"
currency = "CNY"
timezone = "UTC"
[[price]]
model = "m-river"
effective_from = 2020-01-01T00:00:00Z
per_million_tokens = { input = "2.00", cached_input = "0.20", output = "8.00" }
"""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def time(text):
    """An aware UTC time from ISO 8601."""
    return datetime.fromisoformat(text).astimezone(UTC)


def usage(name, tenant_id, started_at, tokens=1_000_000, **change):
    """One request of so many uncached input tokens: 2.00 CNY a million."""
    start = time(started_at)
    given = {"started_at": start, "finished_at": start, "input_tokens": tokens}
    base = {"tenant_id": tenant_id, "cached_input_tokens": 0, "output_tokens": 0}
    return leg(f"{tenant_id}-{name}", **given | base | change)


class CloseHouse:
    """A ledger, a till that settles by it, and the close."""

    def __init__(self, ledger, till=None):
        self.ledger, self.rules = ledger, LedgerRules(ledger)
        self.till = till or Till(self.rules.at(BEGIN))

    def publish(self, toml=BOOK, now=BEGIN):
        """Publish a price book, and rate what is open by it."""
        with self.ledger.write(actor="test", at=now) as change:
            add_revision(change, "list", toml_text=toml, currency="CNY", state=BookState.PUBLISHED)
        self.settle(now)

    def tenant(self, tenant_id, zone="UTC", **change):
        """Register a tenant."""
        given = {"name": tenant_id, "billing_zone": zone, "currency": "CNY", "created_at": BEGIN}
        with self.ledger.write(actor="test", at=BEGIN) as opened:
            return add_tenant(opened, Tenant(tenant_id=tenant_id, **given | change))

    def feed(self, *legs, now):
        """Take legs in at `now` and settle them."""
        self.till.rules = self.rules.at(time(now))
        self.till.feed(*legs, now=time(now))

    def settle(self, now):
        """What the settler does between batches: rules anew, re-rating."""
        rules = self.rules.at(now)
        self.till.rules = rules
        if needs_repricing(self.till.cursor, rules):
            list(reprice_open(self.till.cursor, rules, now=now))

    def close(self, month, now, accept=(), reason="tested", **order):
        """Run the close."""
        accepted = Acceptance(names=frozenset(accept), reason=reason)
        asked = CloseOrder(month=parse_month(month), accepted=accepted, **order)
        return close_month(self.till.cursor, self.ledger, asked, now=time(now))

    def totals(self, report, outcome=Outcome.CLOSED):
        """Net amounts by tenant of the tenants with this outcome."""
        return {
            each.tenant_id: sum((made.net_amount for made in each.documents), Decimal(0))
            for each in report.with_outcome(outcome)
        }

    def document(self, number):
        """A document and its lines."""
        with self.ledger.read() as connection:
            return get_invoice(connection, Scope.house(), number), lines_of(connection, number)

    def issue(self, number, now):
        """Make a draft final."""
        with self.ledger.write(actor="test", at=time(now)) as change:
            return issue_invoice(change, number)


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory):
    """An empty ledger of the newest version, to be copied."""
    path = tmp_path_factory.mktemp("template") / "ledger.sqlite"
    upgrade_ledger(f"sqlite:///{path}")
    return path


@pytest.fixture
def ledger_path(empty_ledger, tmp_path):
    """A ledger file of this test."""
    shutil.copy(empty_ledger, tmp_path / "ledger.sqlite")
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def house(ledger_path):
    """A house with the list price 2.00 / 0.20 / 8.00 CNY."""
    ledger = Ledger(f"sqlite:///{ledger_path}")
    made = CloseHouse(ledger)
    made.publish()
    yield made
    ledger.close()
