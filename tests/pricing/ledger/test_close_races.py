"""Two processes close the same month at once, and one of them is killed at any instant (C04)."""

import multiprocessing
import os
import random
import shutil
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from types import ModuleType

import pytest

from metering.store.connect import open_store
from metering.windows import parse_month
from pricing.close_report import Outcome
from pricing.ledger.connect import Ledger
from pricing.ledger.invoices import invoices_of
from pricing.ledger.price_books import add_revision
from pricing.ledger.tables import BookState
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.verify import verify_ledger
from tests.pricing.close.close_worker import close_june
from tests.pricing.close.conftest import BOOK, usage
from tests.pricing.ledger.conftest import new_database, run_as_admin
from tests.pricing.settle.legs import Till

RACES = int(os.environ.get("CLOSE_RACES", "20"))  # make soak: 200
TENANTS = [f"t-{number:02}" for number in range(6)]
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
KILL_WITHIN_SECONDS = 0.5
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.pricing.close.close_worker"])


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """Children run `__main__` anew, and a page's test may have left its page there."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


def fill(ledger, usage_path):
    """Tenant n owes n + 1 million tokens at 2.00 CNY."""
    with ledger.write(actor="test", at=BEGIN) as change:
        add_revision(change, "list", toml_text=BOOK, currency="CNY", state=BookState.PUBLISHED)
        for name in TENANTS:
            new = Tenant(
                tenant_id=name, name=name, billing_zone="UTC", currency="CNY", created_at=BEGIN
            )
            add_tenant(change, new)
    till = Till(LedgerRules(ledger).at(BEGIN))
    till.store = open_store(usage_path)
    till.cursor = till.store.cursor()
    rows = [
        usage("a", name, "2026-06-10T10:00:00Z", tokens=(n + 1) * 1_000_000)
        for n, name in enumerate(TENANTS)
    ]
    till.feed(*rows, now=datetime(2026, 6, 10, 11, tzinfo=UTC))
    till.cursor.close()
    till.store.close()


@pytest.fixture(scope="session")
def settled(tmp_path_factory):
    """A ledger file and a usage store before the close."""
    folder = tmp_path_factory.mktemp("settled")
    upgrade_ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    upgrade_usage(folder / "usage.duckdb")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    fill(ledger, folder / "usage.duckdb")
    ledger.close()
    return folder


@pytest.fixture(scope="session")
def settled_postgres(postgres, tmp_path_factory):
    """The same ledger as a template database."""
    run_as_admin(postgres, "CREATE DATABASE template_settled")
    url = postgres.format(name="template_settled")
    upgrade_ledger(url)
    ledger = Ledger(url)
    fill(ledger, tmp_path_factory.mktemp("unused") / "usage.duckdb")
    ledger.close()
    return postgres


def race(url, folder, settled, chance):
    """Start two closes at once, kill the first one somewhere, let the other one end."""
    processes, ends = [], []
    for name in ("one", "two"):
        usage_path = folder / f"{name}.duckdb"
        shutil.copy(settled / "usage.duckdb", usage_path)
        ours, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=close_june, args=(usage_path, url, theirs))
        process.start()
        processes.append(process)
        ends.append(ours)
    for end in ends:
        assert end.recv() == "ready"
    for end in ends:
        end.send("go")
    time.sleep(chance.uniform(0, KILL_WITHIN_SECONDS))
    processes[0].kill()
    for process in processes:
        process.join()
    assert processes[1].exitcode == 0


def check(url, usage_path):
    """One invoice a tenant with its sum, numbers without gap, an unbroken chain; and again."""
    again = close_june(usage_path, url)
    assert {each.outcome for each in again.tenants} <= {Outcome.CLOSED, Outcome.ALREADY_CLOSED}
    ledger = Ledger(url)
    with ledger.read() as connection:
        made = [invoices_of(connection, name, parse_month("2026-06")) for name in TENANTS]
        assert [fault for each in verify_ledger(connection) for fault in each.faults] == []
    ledger.close()
    assert [[one.net_amount for one in each] for each in made] == [
        [Decimal(2 * (n + 1))] for n in range(len(TENANTS))
    ]
    assert sorted(one.number for each in made for one in each) == [
        f"INV-{number:06}" for number in range(1, len(TENANTS) + 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RACES))
def test_two_closes_and_a_kill_on_sqlite(seed, settled, tmp_path):
    """Whatever instant the kill hits."""
    shutil.copy(settled / "ledger.sqlite", tmp_path / "ledger.sqlite")
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    race(url, tmp_path, settled, random.Random(seed))  # noqa: S311 - a repeatable choice
    check(url, tmp_path / "two.duckdb")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(RACES // 4))
def test_two_closes_and_a_kill_on_postgresql(seed, settled, settled_postgres, tmp_path):
    """The same with the ledger on PostgreSQL."""
    url = new_database(settled_postgres, tmp_path, "template_settled")
    race(url, tmp_path, settled, random.Random(1000 + seed))  # noqa: S311 - a repeatable choice
    check(url, tmp_path / "two.duckdb")
