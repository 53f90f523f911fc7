"""What must be true (docs/architecture.md), checked on the data; each fault with its remedy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import duckdb
from sqlalchemy import Connection, text

from pricing.ledger.keys import has_operator_key
from pricing.ledger.price_books import published_books
from pricing.reports.rows import read_rows
from pricing.runs.verify import verify_ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One rule. wrong: how many rows break it; 0 is well."""

    rule: str
    promise: str
    wrong: int
    remedy: str


# query, rule, promise, remedy
USAGE_CHECKS: Final = (
    (
        "doctor_twice",
        "V3",
        "no event is stored twice",
        "Restore the last backup without it and report it: two writers have owned the store.",
    ),
    (
        "doctor_servers_tenants",
        "V7",
        "what servers earned is what tenants pay, per price key",
        "Report it with the output of `tokentill doctor --json`; do not close the month.",
    ),
    (
        "doctor_requests_rollup",
        "V7",
        "the roll-up holds what the requests say, per price key",
        "Report it with the output of `tokentill doctor --json`; do not close the month.",
    ),
    (
        "doctor_price_keys",
        "V5",
        "every billed request has its price, once",
        "Restore the last backup; the price of a billed request must not be lost.",
    ),
    (
        "doctor_progress",
        "V3",
        "the settler's mark lies within what was stored",
        "Restore both stores from one backup: the file was put together from two.",
    ),
)


def usage_checks(cursor: duckdb.DuckDBPyConnection) -> list[Check]:
    """The rules of the usage store."""
    return [
        Check(rule=rule, promise=promise, wrong=read_rows(cursor, name)[0]["wrong"], remedy=remedy)
        for name, rule, promise, remedy in USAGE_CHECKS
    ]


def ledger_checks(connection: Connection, now: datetime) -> list[Check]:
    """The rules of the ledger at the UTC time `now`."""
    broken = 0
    if connection.dialect.name == "sqlite":
        broken = len(connection.execute(text("PRAGMA foreign_key_check")).all())
    return [
        Check(
            rule="ledger",
            promise="every reference leads somewhere",
            wrong=broken,
            remedy="Restore the last backup; the ledger was changed by other means than ours.",
        ),
        Check(
            rule="V8",
            promise="every document is as it was made, its chain unbroken, no number missing",
            wrong=sum(len(check.faults) for check in verify_ledger(connection)),
            remedy="tokentill invoice verify NUMBER names what was changed; restore a backup.",
        ),
        Check(
            rule="V10",
            promise="somebody can administer the house",
            wrong=int(not has_operator_key(connection, at=now)),
            remedy='Make a key: tokentill keys create "operator" --role operator',
        ),
        Check(
            rule="V2",
            promise="there is a published price book",
            wrong=int(not published_books(connection)),
            remedy="Publish one: tokentill prices publish, or POST /v1/prices.",
        ),
    ]
