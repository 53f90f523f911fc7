"""Records that were set aside, to look at and to decide about (sql/quarantine_*.sql)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from pricing.errors import NotFound
from pricing.ledger.rows import Page
from pricing.reports.rows import read_rows
from pricing.runs.statements import run


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineDecision:
    """What a person decided about a record; decided_at in UTC."""

    quarantine_id: str
    decision: str  # discarded, kept_first
    reason: str
    decided_by: str
    decided_at: datetime


def list_quarantine(
    cursor: duckdb.DuckDBPyConnection, page: Page, *, kind: str | None, open_only: bool
) -> list[dict[str, Any]]:
    """Records in the order of their arrival (UTC)."""
    after_at, after_id = page.after or (None, None)
    return read_rows(
        cursor,
        "quarantine_list",
        quarantine_id=None,
        kind=kind,
        open_only=open_only,
        after_at=None if after_at is None else after_at.replace(tzinfo=None),
        after_id=after_id,
        backward=page.backward,
        rows_max=page.limit,
    )


def get_quarantined(cursor: duckdb.DuckDBPyConnection, quarantine_id: str) -> dict[str, Any]:
    """One record. Raises NotFound."""
    rows = read_rows(
        cursor,
        "quarantine_list",
        quarantine_id=quarantine_id,
        kind=None,
        open_only=False,
        after_at=None,
        after_id=None,
        backward=False,
        rows_max=1,
    )
    if not rows:
        raise NotFound(f"There is no record {quarantine_id!r} in quarantine.")
    return rows[0]


def decide_quarantined(cursor: duckdb.DuckDBPyConnection, decision: QuarantineDecision) -> None:
    """Add a decision: one statement, which commits by itself."""
    values = {
        "quarantine_id": decision.quarantine_id,
        "now": decision.decided_at.replace(tzinfo=None),
        "decided_by": decision.decided_by,
        "decision": decision.decision,
        "reason": decision.reason,
    }
    run(cursor, "quarantine_decide", values)
