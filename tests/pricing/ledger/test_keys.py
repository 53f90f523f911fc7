"""pricing/ledger/keys.py: shown once, stored hashed, ended by date, by hand or by a successor."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from pricing.errors import Conflict, NotAllowed, NotFound, RequestInvalid
from pricing.ledger.keys import (
    NewKey,
    create_key,
    find_key,
    get_key,
    has_operator_key,
    note_use,
    revoke_key,
    rotate_key,
)
from pricing.ledger.tables import api_key
from pricing.scope import Role, Scope

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OPERATOR = NewKey(name="ops", role=Role.OPERATOR)


def create(ledger, new, at=NOW):
    with ledger.write(actor="cli", at=at) as change:
        return create_key(change, new)


def find(ledger, secret, at=NOW):
    with ledger.read() as connection:
        return find_key(connection, secret, at=at)


def test_a_key_has_256_random_bits_and_only_its_hash_is_stored(ledger):
    """32 bytes are 43 characters of base64url; the table holds neither them nor a part of use."""
    key, secret = create(ledger, OPERATOR)
    assert re.fullmatch(r"tk_[A-Za-z0-9_-]{43}", secret)
    assert secret.startswith(key.prefix)
    with ledger.read() as connection:
        row = str(connection.execute(select(api_key)).mappings().one())
    assert secret not in row
    assert find(ledger, secret).principal().role is Role.OPERATOR


def test_a_wrong_key_opens_nothing(ledger):
    """One character off."""
    _, secret = create(ledger, OPERATOR)
    assert find(ledger, secret[:-1] + ("A" if secret[-1] != "A" else "B")) is None


def test_a_key_ends_when_it_expires(ledger):
    """Half-open as every interval: valid until, and not at, expires_at."""
    _, secret = create(ledger, NewKey(name="n", role=Role.VIEWER, expires_at=NOW + DAY))
    assert find(ledger, secret, at=NOW + DAY - timedelta(microseconds=1))
    assert find(ledger, secret, at=NOW + DAY) is None


def test_a_revoked_key_ends_at_once(ledger):
    """And revoking it again changes nothing."""
    key, secret = create(ledger, OPERATOR)
    with ledger.write(actor="cli", at=NOW) as change:
        revoke_key(change, key.key_id)
        assert revoke_key(change, key.key_id).revoked_at == NOW
    assert find(ledger, secret) is None


def test_a_rotation_overlaps_and_keeps_the_rights(ledger, alder):
    """Both keys work for the overlap, then the successor alone; the lifetime is the old one's."""
    new = NewKey(
        name="n",
        role=Role.TENANT,
        tenant_id=alder.tenant_id,
        scopes=("usage:read",),
        expires_at=NOW + 30 * DAY,
    )
    old, old_secret = create(ledger, new)
    with ledger.write(actor="cli", at=NOW + DAY) as change:
        successor, secret = rotate_key(change, old.key_id, overlap=DAY)
    assert successor.replaces_key_id == old.key_id
    assert successor.principal().permissions == {"usage:read"}
    assert successor.expires_at == NOW + 31 * DAY
    assert find(ledger, old_secret, at=NOW + 2 * DAY - timedelta(seconds=1))
    assert find(ledger, old_secret, at=NOW + 2 * DAY) is None
    assert find(ledger, secret, at=NOW + 2 * DAY)


def test_a_dead_key_has_no_successor(ledger):
    """A leaked key that was revoked must not come back to life."""
    key, _ = create(ledger, OPERATOR)
    with ledger.write(actor="cli", at=NOW) as change:
        revoke_key(change, key.key_id)
    with pytest.raises(Conflict), ledger.write(actor="cli", at=NOW) as change:
        rotate_key(change, key.key_id, overlap=DAY)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": Role.TENANT},
        {"role": Role.TENANT, "tenant_id": ""},
        {"role": Role.OPERATOR, "tenant_id": "t-alder"},
        {"role": Role.NODE},
        {"role": Role.GATEWAY, "node_id": "p01"},
        {"role": Role.TENANT, "tenant_id": "t-alder", "scopes": ("keys:write",)},
    ],
)
def test_a_role_and_what_it_is_tied_to_go_together(wrong):
    """A tenant's key without tenant is the wrong answer of case C09 in the making."""
    with pytest.raises(RequestInvalid):
        NewKey(name="n", **wrong)


def test_a_key_of_an_unregistered_tenant_is_refused(ledger):
    """A typo would make a key that sees nothing."""
    with pytest.raises(NotFound), ledger.write(actor="cli", at=NOW) as change:
        create_key(change, NewKey(name="n", role=Role.TENANT, tenant_id="t-adler"))


def test_a_tenants_key_sees_its_tenant_and_a_nodes_key_nobody(ledger, alder):
    """V10: the tenant comes from the credential, never from the query."""
    tenants, _ = create(ledger, NewKey(name="t", role=Role.TENANT, tenant_id=alder.tenant_id))
    node, _ = create(ledger, NewKey(name="p", role=Role.NODE, node_id="p01"))
    assert tenants.principal().scope() == Scope.of("t-alder")
    with pytest.raises(NotAllowed):
        tenants.principal().scope().narrowed("t-birch")
    with pytest.raises(NotAllowed):
        node.principal().scope()


def test_last_use_is_kept_to_the_minute(ledger):
    """A write for every request would make each read a write."""
    key, secret = create(ledger, OPERATOR)
    for seconds, expected in ((0, 0), (59, 0), (60, 60)):
        at = NOW + timedelta(seconds=seconds)
        with ledger.write(actor=key.key_id, at=at) as change:
            note_use(change, find(ledger, secret))
        with ledger.read() as connection:
            used = get_key(connection, Scope.house(), key.key_id).last_used_at
        assert used == NOW + timedelta(seconds=expected)


def test_whether_anybody_can_administer_the_house(ledger):
    """The first start prints a key only while nobody has one."""
    with ledger.read() as connection:
        assert not has_operator_key(connection, at=NOW)
    create(ledger, NewKey(name="ops", role=Role.OPERATOR, expires_at=NOW + DAY))
    with ledger.read() as connection:
        assert has_operator_key(connection, at=NOW)
        assert not has_operator_key(connection, at=NOW + DAY)
