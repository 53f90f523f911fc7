"""From rows to frozen values, a page at a time, and never past a scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Select, Table, select, true, tuple_

from pricing.errors import NotFound
from pricing.scope import Scope

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of an ordered list: at most `limit` rows after the row with the key `after`.

    backward: the list's order from its other end.
    """

    limit: int
    after: tuple[Any, ...] | None = None
    backward: bool = False


def visible(table: Table, scope: Scope) -> ColumnElement[bool]:
    """The condition that keeps a query on `table` inside `scope`."""
    return true() if scope.every_tenant else table.c.tenant_id == scope.tenant_id


def fetch_all(connection: Connection, query: Select[Any], kind: type[Value]) -> list[Value]:
    """Every row of `query` as a `kind`, whose fields are the columns."""
    return [kind(**row) for row in connection.execute(query).mappings()]


def fetch_one(connection: Connection, query: Select[Any], kind: type[Value], *, what: str) -> Value:
    """The one row of `query`. Raises NotFound, naming `what`, where there is none."""
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no {what}, or this credential may not see it.")
    return kind(**row)


def fetch_page(
    connection: Connection,
    query: Select[Any],
    kind: type[Value],
    *,
    by: Sequence[Column[Any]],
    page: Page,
    descending: bool = False,
) -> list[Value]:
    """The rows of `page`, in the order of the columns `by`, which are unique together."""
    descending = descending != page.backward
    if page.after is not None:
        here, after = tuple_(*by), tuple_(*page.after)
        query = query.where(here < after if descending else here > after)
    order = [column.desc() if descending else column.asc() for column in by]
    return fetch_all(connection, query.order_by(*order).limit(page.limit), kind)


def all_of(table: Table, scope: Scope) -> Select[Any]:
    """The rows of `table` inside `scope`."""
    return select(table).where(visible(table, scope))
