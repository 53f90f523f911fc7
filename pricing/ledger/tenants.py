"""Tenants: whose usage it is, and how their months and documents are made."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Connection

from pricing.errors import RequestInvalid
from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_one, fetch_page
from pricing.ledger.tables import TenantKind, tenant
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A registered tenant. tenant_id is the id that usage carries.

    billing_zone: IANA name; days and months are cut there. currency: ISO 4217.
    """

    tenant_id: str
    name: str
    legal_name: str | None = None
    kind: str = TenantKind.CUSTOMER
    billing_zone: str
    currency: str
    created_at: datetime
    archived_at: datetime | None = None

    def __post_init__(self) -> None:
        zone(self.billing_zone)


def zone(name: str) -> ZoneInfo:
    """The zone of an IANA name. Raises RequestInvalid for anything else."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise RequestInvalid(
            f"{name!r} is no time zone.", remedy="Use an IANA name such as Asia/Shanghai or UTC."
        ) from error


def add_tenant(change: Change, new: Tenant) -> Tenant:
    """Register a tenant."""
    change.insert(tenant, asdict(new))
    return new


def change_tenant(change: Change, tenant_id: str, changes: Mapping[str, Any]) -> Tenant:
    """Change fields of a tenant. Its zone and currency decide future periods only."""
    if changes.get("billing_zone") is not None:
        zone(changes["billing_zone"])
    return Tenant(**change.update(tenant, {"tenant_id": tenant_id}, changes))


def get_tenant(connection: Connection, scope: Scope, tenant_id: str) -> Tenant:
    """One tenant. Raises NotFound, also for one outside `scope`."""
    query = all_of(tenant, scope).where(tenant.c.tenant_id == tenant_id)
    return fetch_one(connection, query, Tenant, what=f"tenant {tenant_id!r}")


def list_tenants(connection: Connection, scope: Scope, page: Page) -> list[Tenant]:
    """Tenants by id."""
    return fetch_page(connection, all_of(tenant, scope), Tenant, by=[tenant.c.tenant_id], page=page)


def every_tenant(connection: Connection) -> list[Tenant]:
    """All tenants, for the settler and the jobs."""
    return fetch_all(connection, all_of(tenant, Scope.house()), Tenant)
