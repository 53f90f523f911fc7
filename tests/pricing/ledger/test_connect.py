"""pricing/ledger/connect.py: writers take turns, errors leave nothing, changes are on record."""

import threading
from datetime import UTC, datetime

import pytest

from pricing.errors import AlreadyExists, NotFound, StoreUnavailable
from pricing.ledger.audit import list_entries
from pricing.ledger.connect import Ledger
from pricing.ledger.keys import NewKey, create_key, revoke_key
from pricing.ledger.rows import Page
from pricing.ledger.servers import Server, add_server, change_server, get_server
from pricing.ledger.tenants import change_tenant, get_tenant
from pricing.scope import Role, Scope

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
HOUSE = Scope.house()


def entries(ledger, scope=HOUSE):
    with ledger.read() as connection:
        return list_entries(connection, scope, subject=None, page=Page(100))


def test_a_change_is_on_record_with_what_it_was_and_what_it_is(ledger, alder):
    """Who, when, before, after; only what changed, and the request that asked for it."""
    with ledger.write(actor="key_1", at=NOW, request_id="r1") as change:
        change_tenant(change, alder.tenant_id, {"name": "Alder AG", "currency": "CNY"})
    entry = entries(ledger)[0]
    assert (entry.actor, entry.at, entry.request_id, entry.action) == ("key_1", NOW, "r1", "update")
    assert (entry.subject, entry.subject_key, entry.tenant_id) == ("tenant", "t-alder", "t-alder")
    assert (entry.before, entry.after) == ({"name": "Alder"}, {"name": "Alder AG"})


def test_a_change_that_changes_nothing_is_no_entry(ledger, alder):
    """The log lists changes, not calls."""
    with ledger.write(actor="key_1", at=NOW) as change:
        change_tenant(change, alder.tenant_id, {"name": alder.name})
    assert [entry.action for entry in entries(ledger)] == ["insert"]


def test_a_secret_is_not_on_record(ledger):
    """Neither the key nor its hash reaches the audit log."""
    with ledger.write(actor="cli", at=NOW) as change:
        key, secret = create_key(change, NewKey(name="n", role=Role.VIEWER))
        revoke_key(change, key.key_id)
    recorded = str(entries(ledger))
    assert key.key_id in recorded
    assert secret not in recorded
    assert "key_hash" not in recorded


def test_an_error_leaves_nothing(ledger):
    """One transaction: the server that was added before the error is not there, nor its entry."""
    new = Server(node_id="p01", name="p01", stage="prefill", in_service_from=NOW)

    def fail_half_way():
        with ledger.write(actor="x", at=NOW) as change:
            add_server(change, new)
            change_server(change, "p99", {"name": "?"})

    with pytest.raises(NotFound):
        fail_half_way()
    with pytest.raises(NotFound), ledger.read() as connection:
        get_server(connection, "p01")
    assert entries(ledger) == []


def test_an_id_that_is_taken_is_a_conflict(ledger):
    """Not a database error: the message says that it exists."""
    new = Server(node_id="p01", name="p01", stage="prefill", in_service_from=NOW)
    with ledger.write(actor="x", at=NOW) as change:
        add_server(change, new)
    with pytest.raises(AlreadyExists, match="p01"), ledger.write(actor="x", at=NOW) as change:
        add_server(change, new)


def test_a_read_then_write_never_loses_a_change(ledger, url, alder):
    """Two engines add 20 letters each, by reading and writing back: all 40 are there.

    A deferred BEGIN on SQLite fails here with 'database is locked', whatever busy_timeout.
    """

    def add(own, letter):
        for _ in range(20):
            with own.write(actor=letter, at=NOW) as change:
                name = get_tenant(change.connection, HOUSE, alder.tenant_id).name
                change_tenant(change, alder.tenant_id, {"name": name + letter})
        own.close()

    threads = [threading.Thread(target=add, args=(Ledger(url), letter)) for letter in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ledger.read() as connection:
        name = get_tenant(connection, HOUSE, alder.tenant_id).name
    assert (name.count("x"), name.count("y")) == (20, 20)


def test_a_ledger_that_cannot_be_opened_says_so(tmp_path):
    """A folder that is not there: 503 with a remedy, no stack of the driver."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'none' / 'ledger.sqlite'}")
    with pytest.raises(StoreUnavailable, match="tokentill doctor"), ledger.read():
        pass
