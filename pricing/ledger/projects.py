"""Projects of a tenant: what its usage is for."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_one, fetch_page
from pricing.ledger.tables import project
from pricing.ledger.tenants import get_tenant
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project; project_id is the id that usage carries, unique within its tenant."""

    tenant_id: str
    project_id: str
    name: str
    created_at: datetime
    archived_at: datetime | None = None


def add_project(change: Change, new: Project) -> Project:
    """Register a project. Raises NotFound for an unregistered tenant."""
    get_tenant(change.connection, Scope.house(), new.tenant_id)
    change.insert(project, asdict(new))
    return new


def change_project(
    change: Change, tenant_id: str, *, project_id: str, changes: Mapping[str, Any]
) -> Project:
    """Change fields of a project."""
    key = {"tenant_id": tenant_id, "project_id": project_id}
    return Project(**change.update(project, key, changes))


def get_project(connection: Connection, scope: Scope, project_id: str) -> Project:
    """One project of the scope's tenant. Raises NotFound."""
    query = all_of(project, scope).where(project.c.project_id == project_id)
    return fetch_one(connection, query, Project, what=f"project {project_id!r}")


def list_projects(connection: Connection, scope: Scope, page: Page) -> list[Project]:
    """Projects by tenant and id."""
    by = [project.c.tenant_id, project.c.project_id]
    return fetch_page(connection, all_of(project, scope), Project, by=by, page=page)
