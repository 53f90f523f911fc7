"""Whose rows a reader may see, and what a role may do (docs/architecture.md, V10).

Every query that can return a tenant's rows takes a `Scope`; there is no default. A scope without a
tenant exists only as `Scope.house()`, which no credential of a tenant ever gets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pricing.errors import NotAllowed


class Role(StrEnum):
    """What a credential is for."""

    OPERATOR = "operator"  # runs the house: everything
    FINANCE = "finance"  # reads everything, keeps prices, tenants and documents
    VIEWER = "viewer"  # reads the house, without keys and audit log
    TENANT = "tenant"  # reads what is its own
    NODE = "node"  # the sidecar of one server: writes usage of that server
    GATEWAY = "gateway"  # writes usage of any server


HOUSE_ROLES: Final = frozenset({Role.OPERATOR, Role.FINANCE, Role.VIEWER})


def _may(verb: str, *nouns: str) -> frozenset[str]:
    return frozenset(f"{noun}:{verb}" for noun in nouns)


OWN_READS: Final = _may(
    "read", "tenants", "projects", "cost_centres", "keys", "prices", "usage", "requests"
) | _may("read", "chargeback", "findings", "invoices")
VIEWER_READS: Final = (
    (OWN_READS - {"keys:read"})
    | _may("read", "books", "servers", "revenue", "quarantine", "jobs", "policies", "metrics")
    | _may("read", "economics", "cases")
)
FINANCE_WRITES: Final = _may(
    "write", "tenants", "projects", "cost_centres", "books", "findings", "quarantine"
) | _may("write", "cases", "invoices")
INGEST: Final = _may("write", "ingest")
OPERATOR_ONLY: Final = _may("read", "keys") | _may("write", "keys", "servers", "policies", "jobs")
AUDIT: Final = _may("read", "audit")
PERMISSIONS: Final[Mapping[Role, frozenset[str]]] = {
    Role.OPERATOR: VIEWER_READS | FINANCE_WRITES | INGEST | OPERATOR_ONLY | AUDIT,
    Role.FINANCE: VIEWER_READS | FINANCE_WRITES | AUDIT,
    Role.VIEWER: VIEWER_READS,
    Role.TENANT: OWN_READS,
    Role.NODE: INGEST,
    Role.GATEWAY: INGEST,
}


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenant whose rows may be read, or the whole house.

    every_tenant: True only for the house; then tenant_id is None, and only then.
    """

    every_tenant: bool
    tenant_id: str | None

    def __post_init__(self) -> None:
        if self.every_tenant != (self.tenant_id is None):
            raise ValueError("a scope is one tenant's or the house's, never neither and never both")

    @classmethod
    def house(cls) -> "Scope":
        """Every tenant, and what belongs to none."""
        return cls(every_tenant=True, tenant_id=None)

    @classmethod
    def of(cls, tenant_id: str) -> "Scope":
        """One tenant."""
        return cls(every_tenant=False, tenant_id=tenant_id)

    def narrowed(self, asked: str | None) -> "Scope":
        """The part of this scope that was asked for; None asks for all of it.

        Raises NotAllowed if another tenant than the scope's own is named.
        """
        if asked is None or asked == self.tenant_id:
            return self
        if not self.every_tenant:
            raise NotAllowed(
                "This credential sees one tenant only, and another one was named.",
                remedy="Leave the tenant out, or use a key of the house.",
            )
        return Scope.of(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who is asking: the key, its role and what the key is tied to."""

    key_id: str
    role: Role
    tenant_id: str | None = None
    node_id: str | None = None
    permissions: frozenset[str] = frozenset()

    def require(self, permission: str) -> None:
        """Raises NotAllowed, naming the roles that may, unless `permission` is held."""
        if permission not in self.permissions:
            able = ", ".join(role for role in Role if permission in PERMISSIONS[role])
            raise NotAllowed(
                f"This needs the permission {permission}, which the key does not have.",
                remedy=f"Use a key with one of the roles: {able}.",
            )

    def scope(self) -> Scope:
        """What this principal may read. Raises NotAllowed for one that reads nothing."""
        if self.role in HOUSE_ROLES and self.tenant_id is None:
            return Scope.house()
        if self.role is Role.TENANT and self.tenant_id is not None:
            return Scope.of(self.tenant_id)
        raise NotAllowed(
            f"A {self.role} key reads nobody's usage.",
            remedy="Use a key of the tenant, or one with the role operator, finance or viewer.",
        )
