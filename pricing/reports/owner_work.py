"""Whose work each server did, from settled requests: the weights of a chargeback of cost.

Owners are the ones that were settled (a key's owner, a gateway's word), not what a leg happened to
name. Work that came to no answer is nobody's: a share of each server's cost of its own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

import duckdb

from metering.windows import Window
from pricing.cost_chargeback import NodeWork
from pricing.formula import Exact
from pricing.instances import Instances
from pricing.policy import SET_ASIDE
from pricing.reports.rows import read_rows

PARTS = DELIVERED, FAILED = ("delivered", "failed")


class Owner(StrEnum):
    """Whom cost is laid at."""

    TENANT = "tenant"
    PROJECT = "project"
    COST_CENTRE = "cost_centre"


def owner_text(row: Mapping[str, Any], by: Owner) -> str | None:
    """The owner of a row: tenant, or tenant/project, or tenant/cost centre; None: unattributed.

    A tenant's id has no slash, so the text can be taken apart again.
    """
    tenant_id: str | None = row.get("tenant_id")
    if tenant_id is None or by is Owner.TENANT:
        return tenant_id
    part = row["project_id"] if by is Owner.PROJECT else row["cost_centre_id"]
    return tenant_id if part is None else f"{tenant_id}/{part}"


def owner_work(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, by: Owner, kappa: Exact
) -> dict[str, list[NodeWork]]:
    """Work of each server by owner in `window`, by billing instant (sql/owner_work.sql)."""
    return _work(cursor, window, "owner_work", by=by, kappa=kappa)


def whole_work(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, kappa: Exact
) -> dict[str, list[NodeWork]]:
    """The same without owners, from the roll-up alone (sql/node_tokens.sql)."""
    return _work(cursor, window, "node_tokens", by=Owner.TENANT, kappa=kappa)


def shared_work(
    work: Mapping[str, Sequence[NodeWork]], instances: Instances
) -> dict[str, list[NodeWork]]:
    """The same work by server: an instance's is shared by weight, in whole tokens."""
    found: dict[str, list[NodeWork]] = defaultdict(list)
    for rows in work.values():
        for each in (share for row in rows for share in _shares_of(row, instances)):
            found[each.node_id].append(each)
    return dict(found)


def _shares_of(row: NodeWork, instances: Instances) -> list[NodeWork]:
    cached = instances.count(row.node_id, row.cached_tokens)
    uncached = instances.count(row.node_id, row.input_tokens - row.cached_tokens)
    output = instances.count(row.node_id, row.output_tokens)
    return [
        replace(
            row,
            node_id=server or "",
            input_tokens=uncached[server] + cached[server],
            cached_tokens=cached[server],
            output_tokens=output[server],
            request_seconds=row.request_seconds * float(share),
        )
        for server, share in instances.shares(row.node_id).items()
    ]


def _work(
    cursor: duckdb.DuckDBPyConnection, window: Window, name: str, *, by: Owner, kappa: Exact
) -> dict[str, list[NodeWork]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(cursor, name, window, set_aside=SET_ASIDE):
        rows[row["node_id"] or ""].append(row)
    seconds = {
        row["node_id"] or "": (row["prefill_seconds"], row["decode_seconds"])
        for row in read_rows(cursor, "node_seconds", window)
    }
    return {
        node_id: _of_node(found, seconds.get(node_id, (1.0, 1.0)), by=by, kappa=kappa)
        for node_id, found in rows.items()
    }


def _of_node(
    rows: Sequence[Mapping[str, Any]], seconds: tuple[float, float], *, by: Owner, kappa: Exact
) -> list[NodeWork]:
    """A unified server's seconds are laid at owners by their input and by their output tokens."""
    stages = {row["stage"] for row in rows}
    stage = stages.pop() if len(stages) == 1 else "unified"
    inputs = sum((_input(row, part, kappa) for row in rows for part in PARTS), Fraction(0))
    outputs = Fraction(sum(row[f"{part}_output"] for row in rows for part in PARTS))
    return [
        NodeWork(
            node_id=row["node_id"] or "",
            stage=stage,
            owner=owner_text(row, by),
            input_tokens=row[f"{part}_uncached"] + row[f"{part}_cached"],
            cached_tokens=row[f"{part}_cached"],
            output_tokens=row[f"{part}_output"],
            request_seconds=seconds[0] * _ratio(_input(row, part, kappa), inputs)
            + seconds[1] * _ratio(Fraction(row[f"{part}_output"]), outputs),
            failed=part == FAILED,
        )
        for row in rows
        for part in PARTS
    ]


def _input(row: Mapping[str, Any], part: str, kappa: Exact) -> Fraction:
    uncached, cached = Fraction(row[f"{part}_uncached"]), Fraction(row[f"{part}_cached"])
    return uncached + Fraction(kappa) * cached


def _ratio(part: Fraction, whole: Fraction) -> float:
    return float(part / whole) if whole else 0.0
