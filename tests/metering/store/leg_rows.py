"""Legs and batches in a line; a test changes only what it is about."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from metering.store.append import append_legs
from metering.store.batches import Answer, LegBatch
from metering.store.connect import Store
from metering.usage import event_id
from metering.wire import to_batch

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """A UTC time so many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def leg(name: str, **change: Any) -> dict[str, Any]:
    """A valid unified leg of node u1, finished at NOW; its event id follows from `name`."""
    base: dict[str, Any] = {
        "event_id": event_id("test", name.encode()),
        "stage": "unified",
        "status": "ok",
        "model_id": "m-river",
        "tenant_id": "t-alder",
        "node_id": "u1",
        "started_at": at(-9),
        "finished_at": at(0),
        "input_tokens": 1000,
        "cached_input_tokens": 400,
        "output_tokens": 50,
    }
    return base | change


def batch(*rows: dict[str, Any], **change: Any) -> LegBatch:
    """`rows` as one batch of the credential key-1."""
    table = pa.Table.from_batches([to_batch(rows)])
    return LegBatch(**({"table": table, "sender": "key-1"} | change))


def send(store: Store, *batches: LegBatch, **options: Any) -> list[Answer]:
    """The answers to `batches` in one transaction at NOW, times held against that clock."""
    return append_legs(store.cursor(), batches, NOW, **({"check_clock": NOW} | options))


def counts(answer: Answer) -> tuple[int, int, int, int, int]:
    """(accepted, duplicate, conflict, reattributed, rejected)."""
    return (
        answer.accepted,
        answer.duplicate,
        answer.conflict,
        answer.reattributed,
        answer.rejected,
    )


def rows(store: Store, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """All rows of `query`."""
    return store.cursor().execute(query, parameters).fetchall()
