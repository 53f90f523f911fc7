"""The audit log, to read. `connect.Change` writes it: no change of a row goes without."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from pricing.ledger.rows import Page, all_of, fetch_page
from pricing.ledger.tables import audit_entry
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One change: who, when, of what, before and after. Secrets are never in it."""

    audit_id: int
    at: datetime
    actor: str
    request_id: str | None
    action: str
    subject: str
    subject_key: str
    tenant_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


def list_entries(
    connection: Connection, scope: Scope, *, subject: str | None, page: Page
) -> list[AuditEntry]:
    """Entries, the last first; of one kind of subject if it is named."""
    query = all_of(audit_entry, scope)
    if subject is not None:
        query = query.where(audit_entry.c.subject == subject)
    by = [audit_entry.c.audit_id]
    return fetch_page(connection, query, AuditEntry, by=by, page=page, descending=True)
