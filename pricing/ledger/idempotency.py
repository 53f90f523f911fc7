"""Answers given to POSTs with an Idempotency-Key, so that a repeat creates nothing."""

from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select

from pricing.errors import Conflict
from pricing.ledger.connect import Change
from pricing.ledger.tables import idempotent_answer

KEPT = timedelta(days=7)


class Answer(NamedTuple):
    """What the first request was answered."""

    status: int
    body: Any


def recall(
    connection: Connection, key_id: str, *, idempotency_key: str, request_sha256: str
) -> Answer | None:
    """The answer to the first request with this key of this credential, if there was one.

    Raises Conflict where that request was another one.
    """
    table = idempotent_answer
    query = select(table).where(
        table.c.key_id == key_id, table.c.idempotency_key == idempotency_key
    )
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    if row["request_sha256"] != request_sha256:
        raise Conflict(
            f"The Idempotency-Key {idempotency_key!r} was used for another request.",
            remedy="Send a new key with a new request, the same key only with the same one.",
        )
    return Answer(row["status"], row["body"])


def remember(change: Change, idempotency_key: str, *, request_sha256: str, answer: Answer) -> None:
    """Keep the answer, in the transaction that did the work, and forget those older than KEPT."""
    table = idempotent_answer
    change.connection.execute(delete(table).where(table.c.created_at < change.at - KEPT))
    change.connection.execute(
        insert(table).values(
            key_id=change.actor,
            idempotency_key=idempotency_key,
            request_sha256=request_sha256,
            status=answer.status,
            body=answer.body,
            created_at=change.at,
        )
    )
