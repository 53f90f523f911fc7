"""Re-rating: open requests under the catalogue in force, by reversals (docs/prices/re-rating.md).

One transaction a day of billing instants; a day already rated by this catalogue changes nothing, so
a kill at any instant costs only time. Closed months and adjustments stay as they are: rerate.py.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb

from metering.store.connect import transaction
from pricing.reports.rows import read_rows
from pricing.runs.settle import (
    Rules,
    count_rows,
    read_progress,
    register_directory,
    register_policy,
    roll_up_requests,
    settle_values,
)
from pricing.runs.statements import run


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """What a re-rate changed on one UTC day for one tenant: requests, and the exact difference."""

    day: date
    tenant_id: str | None
    currency: str | None
    requests: int
    amount: Decimal


def needs_repricing(cursor: duckdb.DuckDBPyConnection, rules: Rules) -> bool:
    """Whether open requests were rated by another catalogue than the one in force."""
    row = run(cursor, "reprice_catalogue").fetchone()
    return row is None or row[0] != rules.prices.catalogue_id


def reprice_open(
    cursor: duckdb.DuckDBPyConnection,
    rules: Rules,
    *,
    now: datetime,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[PriceChange]:
    """Re-rate every open day; yields what changed, by day and tenant, once that is committed.

    stopped: asked before each day; once it says so the rest is left for the next start.
    """
    days = [row[0] for row in run(cursor, "reprice_days").fetchall()]
    for day in days:
        if stopped():
            return
        yield from reprice_day(cursor, rules, day, now=now)
    values = {"catalogue_id": rules.prices.catalogue_id, "now": _naive(now)}
    with transaction(cursor):
        run(cursor, "reprice_done", values)


def reprice_day(
    cursor: duckdb.DuckDBPyConnection, rules: Rules, day: date, *, now: datetime
) -> list[PriceChange]:
    """Re-rate the requests whose billing instant lies on the UTC day `day`."""
    _, settle_seq = read_progress(cursor)
    start = datetime.combine(day, time())
    values = settle_values(rules, now, settle_seq + 1) | {
        "start_at": start,
        "end_at": start + timedelta(days=1),
        "with_adjustments": False,
        "cause": "repriced",
    }
    with transaction(cursor):
        run(cursor, "reprice_current", values)
        rate_current(cursor, rules, values)
        run(cursor, "settle_reversals", values)
        changes = read_rows(cursor, "reprice_change")
        append_rated(cursor, values)
    return [PriceChange(day=day, **row) for row in changes]


def rate_current(
    cursor: duckdb.DuckDBPyConnection,
    rules: Rules,
    values: Mapping[str, Any],
    *,
    with_policies: bool = False,
) -> None:
    """Ask the price of the rows in current_request anew: those that change → settled.

    with_policies: ask the policies too.
    """
    register_directory(cursor, rules.directory)
    run(cursor, "reprice_owned", values)
    run(cursor, "reprice_keep_others")
    if with_policies:
        register_policy(cursor, rules.policy)
        run(cursor, "rerate_policies", values)
    rules.prices.register(cursor)
    run(cursor, "settle_settled", values)


def append_rated(cursor: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """Append the rows of settled, their roll-ups and the step of the batch number."""
    if count_rows(cursor, "settle_count_settled"):
        run(cursor, "insert_requests")
        roll_up_requests(cursor, values)
        run(cursor, "reprice_step", values)


def _naive(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(tzinfo=None)
