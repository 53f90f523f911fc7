"""The real application over a real ledger and a real store with settled usage, and its keys."""

import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from metering.collector.writer import IngestWriter
from metering.store.batches import LegBatch
from metering.store.connect import open_store
from metering.wire import to_batch
from pricing.api.app import create_app
from pricing.api.auth import Authenticator
from pricing.api.services import Readiness, Services
from pricing.exports.places import Folder
from pricing.jobs import Jobs
from pricing.ledger.connect import Ledger
from pricing.ledger.keys import NewKey, create_key
from pricing.ledger.projects import Project, add_project
from pricing.ledger.servers import Server, add_server
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.rerate import rerate_month
from pricing.runs.settle import settle_due, settle_new
from pricing.scope import Role

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
BOOK = """
book = "list-cny"
currency = "CNY"
timezone = "Asia/Shanghai"
[[price]]
model = "m-river"
effective_from = 2026-01-01T00:00:00+08:00
per_million_tokens = { input = "2.00", cached_input = "0.20", output = "8.00" }
"""
TENANTS = ("t-alder", "t-birch")


class Clock:
    """A clock that tests move."""

    def __init__(self):
        self.now = NOW

    def __call__(self):
        return self.now


def leg(number, tenant_id, **change):
    """One unified leg: 500,000 uncached input tokens at 2.00 per million, 1.00 CNY."""
    base = {
        "event_id": f"{number:032x}",
        "stage": "unified",
        "operation": "chat",
        "node_id": "u01",
        "tenant_id": tenant_id,
        "project_id": "search",
        "model_id": "m-river",
        "started_at": NOW - timedelta(hours=2, seconds=-number),
        "finished_at": NOW - timedelta(hours=2, seconds=-number - 1),
        "input_tokens": 500_000,
        "cached_input_tokens": 0,
        "output_tokens": 0,
        "status": "ok",
        "source": "usage_ndjson",
    }
    return base | change


class House:
    """One application with everything under it."""

    def __init__(self, ledger, store, clock, *, folder):
        self.ledger, self.store, self.clock = ledger, store, clock
        self.rules = LedgerRules(ledger)
        self.changes = []
        self.writer = IngestWriter(store, clock)
        self.jobs = Jobs(
            ledger=ledger,
            read_usage=self._read,
            clock=clock,
            exports=Folder(folder / "exports"),
            zone=ZoneInfo("UTC"),
        )
        self.services = Services(
            ledger=ledger,
            read_usage=self._read,
            write_usage=self._write,
            clock=clock,
            authenticator=Authenticator(ledger, clock, requests_per_second_max=1000),
            readiness=lambda: Readiness(writable=True, details={"pending_legs": 0}),
            catalogue=lambda: self.rules.at(clock.now).prices.catalogue,
            changed=self._changed,
            rerate=self._rerate,
            retry_job=self.jobs.retry,
            back_up=lambda: "/backups/20261001T120000Z",
            writer=self.writer,
        )
        self.client = TestClient(create_app(self.services), raise_server_exceptions=False)

    def _changed(self, what):
        self.changes.append(what)
        if what == "keys":
            self.services.authenticator.forget()

    def _read(self, query):
        cursor = self.store.cursor()
        try:
            return query(cursor)
        finally:
            cursor.close()

    def _write(self, task):
        cursor = self.store.cursor()
        with self.store.write_lock:
            return task(cursor)

    def _rerate(self, order):
        rules, now = self.rules.at(self.clock.now), self.clock.now
        return self._write(lambda cursor: rerate_month(cursor, self.ledger, rules, order, now=now))

    def key(self, role, **change):
        """The secret of a new key."""
        with self.ledger.write(actor="test", at=self.clock.now) as open_change:
            return create_key(open_change, NewKey(name=str(role), role=role, **change))[1]

    def settle(self, *rows):
        """Take these legs in and settle them."""
        cursor = self.store.cursor()
        if rows:
            batch = LegBatch(
                table=pa.Table.from_batches([to_batch(rows)]), sender="key_test", foreign=False
            )
            self.writer.submit(batch).result()
        rules = self.rules.at(self.clock.now)
        while settle_new(cursor, rules, now=self.clock.now).legs:
            pass
        settle_due(cursor, rules, now=self.clock.now)
        cursor.close()

    def get(self, path, key=None, **kwargs):
        """A GET with the operator's key, or another."""
        return self.send("GET", path, key=key, **kwargs)

    def send(self, method, path, key=None, **kwargs):
        """A request with the operator's key, or another; key="" sends none."""
        secret = self.operator if key is None else key
        headers = kwargs.pop("headers", {})
        if secret:
            headers = {"Authorization": f"Bearer {secret}"} | headers
        return self.client.request(method, path, headers=headers, **kwargs)


@pytest.fixture(scope="session")
def ledger_template(tmp_path_factory):
    """An empty ledger of the newest version, to be copied."""
    path = tmp_path_factory.mktemp("template") / "ledger.sqlite"
    upgrade_ledger(f"sqlite:///{path}")
    return path


@contextmanager
def open_house(ledger_template, folder):
    """An application with an operator's key and nothing else."""
    shutil.copy(ledger_template, folder / "ledger.sqlite")
    ledger, store = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}"), open_store(None)
    made = House(ledger, store, Clock(), folder=folder)
    made.operator = made.key(Role.OPERATOR)
    yield made
    made.client.close()
    made.writer.close()
    store.close()
    ledger.close()


def furnish(house):
    """Two tenants with usage: t-alder 10 requests (10 CNY), t-birch 99 (99 CNY), nobody 1."""
    with house.ledger.write(actor="test", at=NOW) as change:
        for tenant_id in TENANTS:
            named = {"tenant_id": tenant_id, "name": tenant_id, "created_at": NOW}
            add_tenant(change, Tenant(**named, billing_zone="UTC", currency="CNY"))
            add_project(change, Project(**named, project_id="search"))
        add_server(change, Server(node_id="u01", name="u01", stage="unified", in_service_from=NOW))
    assert house.send("POST", "/v1/prices", json={"toml": BOOK}).status_code == 201
    owners = ["t-alder"] * 10 + ["t-birch"] * 99 + [None]
    house.settle(*(leg(number, owner) for number, owner in enumerate(owners)))


@pytest.fixture
def house(ledger_template, tmp_path):
    """An application of its own, to change."""
    with open_house(ledger_template, tmp_path) as made:
        yield made


@pytest.fixture(scope="session")
def furnished(ledger_template, tmp_path_factory):
    """An application with two tenants' usage and their keys; read only."""
    with open_house(ledger_template, tmp_path_factory.mktemp("furnished")) as made:
        furnish(made)
        made.tenant = {name: made.key(Role.TENANT, tenant_id=name) for name in TENANTS}
        made.node = made.key(Role.NODE, node_id="u01")
        made.gateway = made.key(Role.GATEWAY)
        made.viewer = made.key(Role.VIEWER)
        made.finance = made.key(Role.FINANCE)
        yield made
