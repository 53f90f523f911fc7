"""Settlement: legs → requests and roll-ups, one transaction a batch, safe to repeat.

gather: new legs, halves that waited, what the same keys settled before. decide: outcomes, tokens by
line, owners, prices. persist: request rows, price keys, roll-up deltas, pending, the progress mark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import duckdb
import pyarrow as pa

from metering.pairing import SKEW_MAX
from metering.store.connect import transaction
from pricing.directory import Directory
from pricing.policy import Policy
from pricing.runs.price_cells import PriceCells
from pricing.runs.settle_odd import Decider, settle_odd_keys
from pricing.runs.settle_source import add_gateway, choose_sources, name_earners
from pricing.runs.statements import run

REACH_SECONDS: Final = 2 * 3600  # a key is looked up among requests that finished this close
NODE_FORGOTTEN_AFTER: Final = timedelta(days=7)  # a node unseen this long holds nothing up
ROLLUPS_OF_LEGS: Final = (
    "rollup_node_work",
    "rollup_latency",
    "rollup_node_tenant",
    "rollup_node_shape",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What one batch is settled by, as of its start."""

    prices: PriceCells
    policy: Policy
    directory: Directory


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleReport:
    """What one batch did. legs: new legs read; request_rows: rows appended, reversals included."""

    legs: int
    request_rows: int
    settled_through_seq: int


def settle_new(
    cursor: duckdb.DuckDBPyConnection,
    rules: Rules,
    *,
    now: datetime,
    legs_max: int = 200_000,
    expired: bool = False,
) -> SettleReport:
    """Settle the next `legs_max` legs at most. Running it again with nothing new changes nothing.

    expired: nothing more can come (an offline file), so halves are given up at once.
    """
    from_seq, settle_seq = read_progress(cursor)
    to_seq = _last_seq(cursor, from_seq, legs_max)
    if to_seq == from_seq:
        return SettleReport(legs=0, request_rows=0, settled_through_seq=from_seq)
    values = settle_values(rules, now, settle_seq + 1) | {
        "from_seq": from_seq,
        "to_seq": to_seq,
        "expired": expired,
        "cause": "late_half",
    }
    run(cursor, "settle_new_legs", values)  # first: the planner counts rows at the BEGIN only
    with transaction(cursor):
        gated = count_rows(cursor, "settle_count_gateway", values) > 0
        if gated:
            run(cursor, "settle_add_gated", values)
            register_policy(cursor, rules.policy)
            add_gateway(cursor, rules.policy, values)
        run(cursor, "settle_add_pending")
        rows = _settle_candidates(cursor, rules, values, gated=gated)
        for name in ROLLUPS_OF_LEGS:
            run(cursor, name, values)
        run(cursor, "settle_progress", values)
    return SettleReport(legs=to_seq - from_seq, request_rows=rows, settled_through_seq=to_seq)


def settle_due(cursor: duckdb.DuckDBPyConnection, rules: Rules, *, now: datetime) -> SettleReport:
    """Give up halves whose other side can no longer come (docs/policies.md, orphan_after)."""
    from_seq, settle_seq = read_progress(cursor)
    orphan = timedelta(seconds=rules.policy.orphan_after_seconds)
    silent = timedelta(seconds=rules.policy.silent_after_seconds)
    values = settle_values(rules, now, settle_seq + 1) | {
        "from_seq": from_seq,
        "to_seq": from_seq,
        "expired": True,
        "cause": "orphaned",
        "orphan_seconds": rules.policy.orphan_after_seconds,
        "horizon_at": _naive(now - orphan),
        "silent_horizon_at": _naive(now - silent),
        "forgotten_at": _naive(now - NODE_FORGOTTEN_AFTER),
    }
    with transaction(cursor):
        run(cursor, "settle_due_pending", values)
        due = count_rows(cursor, "settle_count_candidates")
        rows = _settle_candidates(cursor, rules, values) if due else 0
        if due:
            run(cursor, "settle_progress", values)
    return SettleReport(legs=0, request_rows=rows, settled_through_seq=from_seq)


def _settle_candidates(
    cursor: duckdb.DuckDBPyConnection,
    rules: Rules,
    values: dict[str, Any],
    *,
    gated: bool = False,
) -> int:
    """Decide and persist what the candidates make; returns the request rows appended.

    gated: gateway records came, so legs that settled before may get another owner.
    """
    run(cursor, "settle_hit_keys", values)
    run(cursor, "settle_current", values)
    if gated:
        run(cursor, "settle_current_gated", values)
    if count_rows(cursor, "settle_count_hits"):
        run(cursor, "settle_add_settled", values)
    run(cursor, "settle_gateway_owners", values)
    run(cursor, "settle_apply_owners")
    run(cursor, "settle_shapes")
    register_directory(cursor, rules.directory)
    register_policy(cursor, rules.policy)
    run(cursor, "settle_outcomes", values)
    key_tenants = {key.api_key_id: key.tenant_id for key in rules.directory.keys}
    decider = Decider(policy=rules.policy, expired=values["expired"], key_tenants=key_tenants)
    settle_odd_keys(cursor, decider)
    by_gateway = choose_sources(cursor, rules.policy)
    run(cursor, "settle_owned", values)
    rules.prices.register(cursor)
    run(cursor, "settle_settled", values)
    run(cursor, "settle_reversals", values)
    if by_gateway:
        name_earners(cursor, values)
    run(cursor, "settle_forget_pending")
    run(cursor, "settle_pending")
    run(cursor, "insert_requests")
    roll_up_requests(cursor, values)
    return count_rows(cursor, "settle_count_settled")


def roll_up_requests(cursor: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> None:
    """The rows of settled as deltas of who pays and who earned."""
    for name in ("rollup_usage_hourly", "earned_lines", "rollup_node_lines"):
        run(cursor, name, values)


def settle_values(rules: Rules, now: datetime, settle_seq: int) -> dict[str, Any]:
    policy = rules.policy
    return {
        "now": _naive(now),
        "settle_seq": settle_seq,
        "reach_seconds": REACH_SECONDS,
        "skew_seconds": SKEW_MAX.total_seconds(),
        "late_usage_days": policy.late_usage_days,
    }


def register_directory(cursor: duckdb.DuckDBPyConnection, directory: Directory) -> None:
    """The directory as tables that the SQL joins."""
    text, time = pa.string(), pa.timestamp("us", tz="UTC")
    tables: dict[str, tuple[list[tuple[Any, ...]], dict[str, pa.DataType]]] = {
        "directory_key": (
            list(directory.keys),
            {"api_key_id": text, "tenant_id": text, "project_id": text},
        ),
        "directory_project": (
            list(directory.projects),
            {
                "tenant_id": text,
                "project_id": text,
                "cost_centre_id": text,
                "from_at": time,
                "until_at": time,
            },
        ),
        "directory_closed": (
            list(directory.closed),
            {"tenant_id": text, "month": pa.date32(), "start_at": time, "end_at": time},
        ),
        "directory_quarter": ([(t,) for t in directory.quarter_tenants], {"tenant_id": text}),
        "directory_contract": ([(t,) for t in directory.contract_tenants], {"tenant_id": text}),
    }
    for name, (rows, types) in tables.items():
        _register(cursor, name, rows, types)


def register_policy(cursor: duckdb.DuckDBPyConnection, policy: Policy) -> None:
    """What house, tenants, pools and models decide: the table policy_scope and its macro."""
    names = ("scope", "name", "question", "decision")
    _register(cursor, "policy_scope", list(policy.decisions()), dict.fromkeys(names, pa.string()))
    run(cursor, "policy_decided")


def _register(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    rows: Sequence[tuple[Any, ...]],
    types: Mapping[str, pa.DataType],
) -> None:
    columns = [
        pa.array([row[index] for row in rows], type=kind)
        for index, kind in enumerate(types.values())
    ]
    cursor.register(name, pa.table(dict(zip(types, columns, strict=True))))


def read_progress(cursor: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    row = run(cursor, "settle_read_progress").fetchone()
    if row is None:
        raise RuntimeError("the usage store has no progress row: run `tokentill db upgrade`")
    return row[0], row[1]


def _last_seq(cursor: duckdb.DuckDBPyConnection, from_seq: int, legs_max: int) -> int:
    values = {"from_seq": from_seq, "to_seq": from_seq + legs_max}
    row = run(cursor, "settle_last_seq", values).fetchone()
    return int(row[0]) if row and row[0] is not None else from_seq


def count_rows(
    cursor: duckdb.DuckDBPyConnection, name: str, values: dict[str, Any] | None = None
) -> int:
    """The single number that a counting statement answers."""
    row = run(cursor, name, values).fetchone()
    return int(row[0]) if row else 0


def _naive(at: datetime) -> datetime:
    """UTC without a zone, as the store keeps times."""
    return at.astimezone(UTC).replace(tzinfo=None)
