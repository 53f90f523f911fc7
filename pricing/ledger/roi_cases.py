"""Saved investment cases: what was assumed on a day, never changed afterwards, only archived."""

import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_one, fetch_page
from pricing.ledger.tables import roi_case
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedCase:
    """A case as it was stated (docs/roi.md), when and by whom."""

    case_id: str
    name: str
    currency: str
    stated: dict[str, Any]
    note: str | None
    created_at: datetime
    created_by: str
    archived_at: datetime | None = None


def add_case(
    change: Change, name: str, *, currency: str, stated: dict[str, Any], note: str | None
) -> SavedCase:
    """Keep a validated case under a new id."""
    new = SavedCase(
        case_id="roi_" + secrets.token_hex(8),
        name=name,
        currency=currency,
        stated=stated,
        note=note,
        created_at=change.at,
        created_by=change.actor,
    )
    change.insert(roi_case, asdict(new))
    return new


def get_case(connection: Connection, case_id: str) -> SavedCase:
    """One case, archived or not. Raises NotFound."""
    query = all_of(roi_case, Scope.house()).where(roi_case.c.case_id == case_id)
    return fetch_one(connection, query, SavedCase, what=f"case {case_id!r}")


def list_cases(connection: Connection, page: Page) -> list[SavedCase]:
    """Cases that are not archived, in the order in which they were saved."""
    query = all_of(roi_case, Scope.house()).where(roi_case.c.archived_at.is_(None))
    by = [roi_case.c.created_at, roi_case.c.case_id]
    return fetch_page(connection, query, SavedCase, by=by, page=page)


def archive_case(change: Change, case_id: str) -> SavedCase:
    """Take a case from the list; it can still be read by its id. Raises NotFound."""
    return SavedCase(**change.update(roi_case, {"case_id": case_id}, {"archived_at": change.at}))
