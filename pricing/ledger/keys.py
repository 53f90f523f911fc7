"""Credentials: 256 random bits, shown once, stored hashed, with a role and dates."""

import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select, update

from pricing.errors import Conflict, RequestInvalid
from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_one, fetch_page
from pricing.ledger.tables import api_key
from pricing.ledger.tenants import get_tenant
from pricing.scope import PERMISSIONS, Principal, Role, Scope

SECRET_BYTES = 32
SECRET_PREFIX = "tk_"  # noqa: S105 - what makes a leaked key recognisable, not a key
PREFIX_LENGTH = 10  # characters shown of a key: 42 of its 256 bits
LAST_USED_GRAIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """What is asked of a key. scopes: permissions that it is cut down to; None: all of its role."""

    name: str
    role: Role
    tenant_id: str | None = None
    node_id: str | None = None
    scopes: tuple[str, ...] | None = None
    expires_at: datetime | None = None

    def __post_init__(self) -> None:
        for field, role in (("tenant_id", Role.TENANT), ("node_id", Role.NODE)):
            if (self.role is role) != bool(getattr(self, field)):
                raise RequestInvalid(
                    f"{field} belongs to a {role} key, and to no other.",
                    remedy=f"Set {field} if and only if the role is {role}.",
                )
        unknown = set(self.scopes or ()) - PERMISSIONS[self.role]
        if unknown:
            raise RequestInvalid(
                f"A {self.role} key cannot have {', '.join(sorted(unknown))}.",
                remedy=f"Choose among {', '.join(sorted(PERMISSIONS[self.role]))}.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """A key as it may be shown: everything but the key."""

    key_id: str
    prefix: str
    name: str
    role: str
    tenant_id: str | None
    node_id: str | None
    scopes: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    replaces_key_id: str | None

    def valid(self, at: datetime) -> bool:
        """Whether it opens anything at the UTC time `at`."""
        alive = self.revoked_at is None or at < self.revoked_at
        return alive and (self.expires_at is None or at < self.expires_at)

    def used_long_ago(self, at: datetime) -> bool:
        """Whether `last_used_at` is worth writing again at the UTC time `at`."""
        return self.last_used_at is None or at - self.last_used_at >= LAST_USED_GRAIN

    def principal(self) -> Principal:
        """Who comes with this key."""
        role = Role(self.role)
        granted = PERMISSIONS[role]
        return Principal(
            key_id=self.key_id,
            role=role,
            tenant_id=self.tenant_id,
            node_id=self.node_id,
            permissions=granted if self.scopes is None else granted & set(self.scopes),
        )


SHOWN = [column for column in api_key.c if not column.info.get("secret")]


def create_key(change: Change, new: NewKey, *, replaces: str | None = None) -> tuple[ApiKey, str]:
    """A new key and its secret, which is nowhere else from now on.

    Raises NotFound for an unregistered tenant.
    """
    if new.tenant_id is not None:
        get_tenant(change.connection, Scope.house(), new.tenant_id)
    secret = SECRET_PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    key_id = "key_" + secrets.token_hex(8)
    row = asdict(new) | {
        "key_id": key_id,
        "key_hash": hash_of(secret),
        "prefix": secret[:PREFIX_LENGTH],
        "role": new.role.value,
        "scopes": None if new.scopes is None else sorted(new.scopes),
        "created_at": change.at,
        "revoked_at": None,
        "last_used_at": None,
        "replaces_key_id": replaces,
    }
    change.insert(api_key, row)
    return get_key(change.connection, Scope.house(), key_id), secret


def rotate_key(change: Change, key_id: str, *, overlap: timedelta) -> tuple[ApiKey, str]:
    """A successor with the same rights; the old key works for `overlap` longer, then never again.

    Raises Conflict for a key that is expired or revoked already.
    """
    old = get_key(change.connection, Scope.house(), key_id)
    if not old.valid(change.at):
        raise Conflict(f"Key {key_id} is expired or revoked.", remedy="Create a new key instead.")
    ends_at = change.at + overlap
    if old.expires_at is None or ends_at < old.expires_at:
        change.update(api_key, {"key_id": key_id}, {"expires_at": ends_at})
    lifetime = None if old.expires_at is None else old.expires_at - old.created_at
    new = NewKey(
        name=old.name,
        role=Role(old.role),
        tenant_id=old.tenant_id,
        node_id=old.node_id,
        scopes=None if old.scopes is None else tuple(old.scopes),
        expires_at=None if lifetime is None else change.at + lifetime,
    )
    return create_key(change, new, replaces=key_id)


def revoke_key(change: Change, key_id: str) -> ApiKey:
    """End a key now. Revoking it again changes nothing."""
    old = get_key(change.connection, Scope.house(), key_id)
    if old.revoked_at is None:
        change.update(api_key, {"key_id": key_id}, {"revoked_at": change.at})
    return get_key(change.connection, Scope.house(), key_id)


def find_key(connection: Connection, secret: str, *, at: datetime) -> ApiKey | None:
    """The key whose secret this is, if it is valid at the UTC time `at`."""
    wanted = hash_of(secret)
    query = select(api_key.c.key_hash, *SHOWN).where(api_key.c.key_hash == wanted)
    row = connection.execute(query).mappings().one_or_none()
    # the index has compared hashes, whose timing tells nothing of the secret; this one is constant
    if row is None or not hmac.compare_digest(row["key_hash"], wanted):
        return None
    key = ApiKey(**{name: row[name] for name in row if name != "key_hash"})
    return key if key.valid(at) else None


def note_use(change: Change, key: ApiKey) -> None:
    """Remember when the key was last used, to the minute; not a change that the audit log shows."""
    if key.used_long_ago(change.at):
        statement = update(api_key).where(api_key.c.key_id == key.key_id)
        change.connection.execute(statement.values(last_used_at=change.at))


def get_key(connection: Connection, scope: Scope, key_id: str) -> ApiKey:
    """One key. Raises NotFound, also for one outside `scope`."""
    query = all_of(api_key, scope).with_only_columns(*SHOWN).where(api_key.c.key_id == key_id)
    return fetch_one(connection, query, ApiKey, what=f"key {key_id!r}")


def list_keys(connection: Connection, scope: Scope, page: Page) -> list[ApiKey]:
    """Keys by id, revoked ones included."""
    query = all_of(api_key, scope).with_only_columns(*SHOWN)
    return fetch_page(connection, query, ApiKey, by=[api_key.c.key_id], page=page)


def has_operator_key(connection: Connection, *, at: datetime) -> bool:
    """Whether anybody could still administer the house at the UTC time `at`."""
    query = select(*SHOWN).where(api_key.c.role == Role.OPERATOR, api_key.c.revoked_at.is_(None))
    return any(ApiKey(**row).valid(at) for row in connection.execute(query).mappings())


def hash_of(secret: str) -> str:
    """SHA-256 in hex; a slow hash would add nothing to 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()
