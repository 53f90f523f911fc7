"""Cost centres of a tenant, and which project is charged to which, by date."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, or_

from pricing.errors import Conflict
from pricing.ledger.connect import Change
from pricing.ledger.projects import get_project
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_one, fetch_page
from pricing.ledger.tables import cost_centre, cost_centre_assignment
from pricing.ledger.tenants import get_tenant
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class CostCentre:
    """A cost centre, unique within its tenant."""

    tenant_id: str
    cost_centre_id: str
    name: str
    created_at: datetime
    archived_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A project's usage with a billing instant in [from_at, until_at) goes to this cost centre."""

    assignment_id: str
    tenant_id: str
    project_id: str
    cost_centre_id: str
    from_at: datetime
    until_at: datetime | None = None


def add_cost_centre(change: Change, new: CostCentre) -> CostCentre:
    """Register a cost centre. Raises NotFound for an unregistered tenant."""
    get_tenant(change.connection, Scope.house(), new.tenant_id)
    change.insert(cost_centre, asdict(new))
    return new


def change_cost_centre(
    change: Change, tenant_id: str, *, cost_centre_id: str, changes: Mapping[str, Any]
) -> CostCentre:
    """Change fields of a cost centre."""
    key = {"tenant_id": tenant_id, "cost_centre_id": cost_centre_id}
    return CostCentre(**change.update(cost_centre, key, changes))


def get_cost_centre(connection: Connection, scope: Scope, cost_centre_id: str) -> CostCentre:
    """One cost centre of the scope's tenant. Raises NotFound."""
    query = all_of(cost_centre, scope).where(cost_centre.c.cost_centre_id == cost_centre_id)
    return fetch_one(connection, query, CostCentre, what=f"cost centre {cost_centre_id!r}")


def list_cost_centres(connection: Connection, scope: Scope, page: Page) -> list[CostCentre]:
    """Cost centres by tenant and id."""
    by = [cost_centre.c.tenant_id, cost_centre.c.cost_centre_id]
    return fetch_page(connection, all_of(cost_centre, scope), CostCentre, by=by, page=page)


def assign(change: Change, new: Assignment) -> Assignment:
    """Charge a project to a cost centre from a date on; an open assignment before it ends there.

    Requests that are settled already keep the cost centre that they were settled with.
    Raises Conflict where the dates overlap an assignment that has its own end or begins later.
    """
    scope = Scope.of(new.tenant_id)
    get_project(change.connection, scope, new.project_id)
    get_cost_centre(change.connection, scope, new.cost_centre_id)
    table = cost_centre_assignment
    ends_later = or_(table.c.until_at.is_(None), table.c.until_at > new.from_at)
    begins = table.c.from_at < new.until_at if new.until_at else table.c.from_at.is_not(None)
    query = all_of(table, scope).where(and_(table.c.project_id == new.project_id, ends_later))
    for old in fetch_all(change.connection, query.where(begins), Assignment):
        if old.until_at is not None or old.from_at >= new.from_at:
            raise Conflict(
                f"Project {new.project_id!r} is charged to {old.cost_centre_id!r} from "
                f"{old.from_at.isoformat()} until "
                f"{old.until_at.isoformat() if old.until_at else 'further notice'} already.",
                remedy="Choose dates that do not overlap it.",
            )
        key = {"assignment_id": old.assignment_id}
        change.update(table, key, {"until_at": new.from_at})
    change.insert(table, asdict(new))
    return new


def list_assignments(
    connection: Connection, scope: Scope, *, project_id: str, page: Page
) -> list[Assignment]:
    """The assignments of a project, in the order of their dates."""
    table = cost_centre_assignment
    query = all_of(table, scope).where(table.c.project_id == project_id)
    by = [table.c.from_at, table.c.assignment_id]
    return fetch_page(connection, query, Assignment, by=by, page=page)


def every_assignment(connection: Connection) -> list[Assignment]:
    """All assignments, for the settler."""
    return fetch_all(connection, all_of(cost_centre_assignment, Scope.house()), Assignment)
