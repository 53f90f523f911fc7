"""Tenants: whose usage it is, and how their months and documents are made."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import Connection, select

from pricing.errors import Conflict, RequestInvalid
from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_one, fetch_page
from pricing.ledger.tables import PeriodState, TenantKind, accounting_period, tenant
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
    """Change fields of a tenant. Raises Conflict for another zone once a month was closed in one.

    Months of two zones overlap or leave hours out: usage would be billed twice, or never.
    """
    asked = changes.get("billing_zone")
    if asked is not None:
        zone(asked)
        old = get_tenant(change.connection, Scope.house(), tenant_id)
        if asked != old.billing_zone and _was_closed(change.connection, tenant_id):
            raise Conflict(
                f"A month of {tenant_id!r} was closed in {old.billing_zone}.",
                remedy="Register the tenant under another id for the other zone, and archive this "
                "one after its last month.",
            )
    return Tenant(**change.update(tenant, {"tenant_id": tenant_id}, changes))


def _was_closed(connection: Connection, tenant_id: str) -> bool:
    query = select(accounting_period.c.month).where(
        accounting_period.c.tenant_id == tenant_id, accounting_period.c.state != PeriodState.OPEN
    )
    return connection.execute(query.limit(1)).first() is not None


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
