"""Servers: what each node is, how fast it is rated, when it was in service, what it costs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection

from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_one, fetch_page
from pricing.ledger.tables import server
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server. node_id is the id that usage carries.

    rated_tokens_per_second: billed tokens at full load; None: utilisation is unknown.
    in_service_from, in_service_until: half-open, UTC.
    cost_assumptions: as the API checked them (docs/economics.md); decimals are text.
    instance_id, instance_weight: the engine instance that it holds together with others, and its
    share of it in any unit; None: it is an instance of its own, and weighs 1.
    """

    node_id: str
    name: str
    stage: str
    pool: str | None = None
    hardware: str | None = None
    rated_tokens_per_second: Decimal | None = None
    in_service_from: datetime
    in_service_until: datetime | None = None
    cost_assumptions: dict[str, Any] | None = None
    instance_id: str | None = None
    instance_weight: Decimal | None = None


def add_server(change: Change, new: Server) -> Server:
    """Register a server."""
    change.insert(server, asdict(new))
    return new


def change_server(change: Change, node_id: str, changes: Mapping[str, Any]) -> Server:
    """Change fields of a server."""
    return Server(**change.update(server, {"node_id": node_id}, changes))


def get_server(connection: Connection, node_id: str) -> Server:
    """One server. Raises NotFound."""
    query = all_of(server, Scope.house()).where(server.c.node_id == node_id)
    return fetch_one(connection, query, Server, what=f"server {node_id!r}")


def list_servers(connection: Connection, page: Page) -> list[Server]:
    """Servers by node id."""
    query = all_of(server, Scope.house())
    return fetch_page(connection, query, Server, by=[server.c.node_id], page=page)


def every_server(connection: Connection) -> list[Server]:
    """All servers, for revenue and capacity."""
    return fetch_all(connection, all_of(server, Scope.house()).order_by(server.c.node_id), Server)
