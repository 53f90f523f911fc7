"""Key ids that usage names (a gateway's, an engine's), and whose they are; not credentials here."""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection

from pricing.ledger.connect import Change
from pricing.ledger.projects import get_project
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_page
from pricing.ledger.tables import usage_key
from pricing.ledger.tenants import get_tenant
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageKey:
    """Usage that names only api_key_id belongs to this tenant, and to this project if one is set.

    A key id belongs to one tenant for ever: giving it to another would move usage that is billed.
    """

    api_key_id: str
    tenant_id: str
    project_id: str | None
    created_at: datetime


def add_usage_key(change: Change, new: UsageKey) -> UsageKey:
    """Say whose a key id is. Raises NotFound for an unregistered tenant or project."""
    get_tenant(change.connection, Scope.house(), new.tenant_id)
    if new.project_id is not None:
        get_project(change.connection, Scope.of(new.tenant_id), new.project_id)
    change.insert(usage_key, asdict(new))
    return new


def list_usage_keys(connection: Connection, scope: Scope, page: Page) -> list[UsageKey]:
    """Key ids in order."""
    query = all_of(usage_key, scope)
    return fetch_page(connection, query, UsageKey, by=[usage_key.c.api_key_id], page=page)


def every_usage_key(connection: Connection) -> list[UsageKey]:
    """All key ids, for the settler."""
    return fetch_all(connection, all_of(usage_key, Scope.house()), UsageKey)
