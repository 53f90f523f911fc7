"""Revisions of the policies: texts that never change, in force from a date on."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection

from pricing.errors import RequestInvalid
from pricing.ledger.connect import Change
from pricing.ledger.price_books import published_books
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_page
from pricing.ledger.tables import policy_revision
from pricing.policy import Policy, PolicyInvalid
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRevision:
    """One text of the policies, in force for what settles from effective_from (UTC) on."""

    revision: int
    toml_text: str
    sha256: str
    effective_from: datetime
    created_at: datetime
    created_by: str


def check_policy(toml_text: str) -> Policy:
    """What a text says. Raises RequestInvalid naming the key and what it may be."""
    try:
        return Policy.from_toml(toml_text)
    except PolicyInvalid as error:
        raise RequestInvalid(
            f"toml: {error}.", remedy="docs/policies.md lists every key and value."
        ) from error


def keep_policy(
    change: Change, policy: Policy, toml_text: str, *, effective_from: datetime
) -> PolicyRevision:
    """Keep a checked text. Raises RequestInvalid where it names a book that is not published."""
    books = {each.book for each in published_books(change.connection)}
    if policy.default_book is not None and policy.default_book not in books:
        raise RequestInvalid(
            f"toml: default_book {policy.default_book!r} is not published; "
            f"published are: {', '.join(sorted(books)) or 'none'}.",
            remedy="Publish it first, or name another one.",
        )
    return add_policy(change, toml_text, effective_from=effective_from)


def add_policy(change: Change, toml_text: str, *, effective_from: datetime) -> PolicyRevision:
    """Keep a validated text as the next revision."""
    new = PolicyRevision(
        revision=len(every_policy(change.connection)) + 1,
        toml_text=toml_text,
        sha256=hashlib.sha256(toml_text.encode()).hexdigest(),
        effective_from=effective_from,
        created_at=change.at,
        created_by=change.actor,
    )
    change.insert(policy_revision, asdict(new))
    return new


def policy_at(connection: Connection, at: datetime) -> PolicyRevision | None:
    """The revision in force at the UTC time `at`: the last one written among those begun."""
    begun = [policy for policy in every_policy(connection) if policy.effective_from <= at]
    return max(begun, key=lambda policy: policy.revision, default=None)


def policy_in_force(connection: Connection, at: datetime) -> Policy:
    """What that revision says, or the defaults where there is none."""
    revision = policy_at(connection, at)
    return Policy() if revision is None else Policy.from_toml(revision.toml_text)


def list_policies(connection: Connection, page: Page) -> list[PolicyRevision]:
    """Every revision, by number."""
    query = all_of(policy_revision, Scope.house())
    return fetch_page(connection, query, PolicyRevision, by=[policy_revision.c.revision], page=page)


def every_policy(connection: Connection) -> list[PolicyRevision]:
    """All revisions; there are few."""
    return fetch_all(connection, all_of(policy_revision, Scope.house()), PolicyRevision)
