"""Requests one by one, and the whole story of one (sql/request_*.sql)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import duckdb

from metering.windows import Window
from pricing.errors import NotFound
from pricing.flags import flag_bits
from pricing.ledger.rows import Page
from pricing.rating import LINE_PRICES
from pricing.reports.rows import read_rows
from pricing.scope import Scope

LEGS_MAX: Final = 200  # legs of one key that a story shows
LEG_REACH: Final = timedelta(days=1)  # how far from a request its key's other legs are looked for
OWN_LEGS: Final = frozenset({"input_leg_id", "output_leg_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestQuery:
    """Which requests; filters that are None let everything through."""

    window: Window
    project_id: str | None = None
    model_id: str | None = None
    disposition: str | None = None
    flag: str | None = None


def list_requests(
    cursor: duckdb.DuckDBPyConnection, scope: Scope, *, query: RequestQuery, page: Page
) -> list[dict[str, Any]]:
    """Requests as they stand now, by billing instant (UTC) and id."""
    after_at, after_id = page.after or (None, None)
    return read_rows(
        cursor,
        "request_list",
        _ahead(query.window, after_at, backward=page.backward),
        every_tenant=scope.every_tenant,
        tenant_id=scope.tenant_id,
        project_id=query.project_id,
        model_id=query.model_id,
        disposition=query.disposition,
        flag_bit=None if query.flag is None else flag_bits([query.flag]),
        after_at=_naive(after_at),
        after_id=after_id,
        backward=page.backward,
        rows_max=page.limit,
    )


def request_story(
    cursor: duckdb.DuckDBPyConnection, scope: Scope, request_id: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every revision of a request, oldest first, and the legs of its key. Raises NotFound."""
    within: dict[str, Any] = {"every_tenant": scope.every_tenant, "tenant_id": scope.tenant_id}
    revisions = read_rows(cursor, "request_revisions", request_id=request_id, **within)
    if not revisions:
        raise NotFound(f"There is no request {request_id}, or this credential may not see it.")
    last = revisions[-1]
    around = Window(last["billing_at"] - LEG_REACH, last["finished_at"] + LEG_REACH)
    ids = {row[name] for row in revisions for name in OWN_LEGS if row[name] is not None}
    legs = read_rows(
        cursor,
        "request_legs",
        around,
        leg_ids=sorted(ids),
        key_hash=last["key_hash"],
        rows_max=LEGS_MAX,
        **within,
    )
    return revisions, [leg | {"own": leg["event_id"] in ids} for leg in legs]


def standing(revisions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of the revisions that no later one has reversed: one for each part."""
    reversed_ones = {(row["part"], row["revision"]) for row in revisions if row["sign"] < 0}
    return [
        row
        for row in revisions
        if row["sign"] > 0 and (row["part"], row["revision"]) not in reversed_ones
    ]


def priced_lines(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of one revision: tokens, price per million tokens, and the node that earns them."""
    lines = []
    for field, line, price in LINE_PRICES:
        tokens = row[f"{field}_tokens"]
        if tokens:
            side = "output" if line in ("output", "reasoning") else "input"
            lines.append(
                {
                    "line": line,
                    "tokens": tokens,
                    "unit_price": row[price],
                    "node_id": row[f"{side}_node_id"],
                }
            )
    return lines


def _ahead(window: Window, after_at: datetime | None, *, backward: bool) -> Window:
    """The part of the window that the pages before have left: the rest need not be read again."""
    if after_at is None:
        return window
    at = min(max(after_at, window.start_at), window.end_at)
    if backward:
        return Window(window.start_at, min(at + timedelta(microseconds=1), window.end_at))
    return Window(at, window.end_at)


def _naive(at: datetime | None) -> datetime | None:
    return None if at is None else at.replace(tzinfo=None)
