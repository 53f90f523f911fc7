"""Billed tokens and money of each server hour by hour (sql/node_hours.sql)."""

from collections.abc import Sequence
from typing import Any, Final

import duckdb

from metering.windows import Window
from pricing.instances import Instances
from pricing.money import exact_sum
from pricing.reports.rows import read_rows

COUNTS: Final = ("requests", "input_tokens", "cached_tokens", "output_tokens")


def server_hours(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    instances: Instances,
    *,
    node_id: str | None,
    rows_max: int,
) -> list[dict[str, Any]]:
    """At most `rows_max` rows of the nodes' hours, an instance's shared by its servers.

    node_id: one server; None: all. Tokens are whole, money in its currency, exact.
    """
    weights = instances.weights.get(instances.name_of(node_id) or "")
    asked = None if weights is not None else node_id
    found = read_rows(cursor, "node_hours", window, node_id=asked, rows_max=rows_max)
    rows = [share for row in _by_instance(found, instances) for share in _shares_of(row, instances)]
    return rows if node_id is None else [row for row in rows if row["node_id"] == node_id]


def _by_instance(rows: Sequence[dict[str, Any]], instances: Instances) -> list[dict[str, Any]]:
    """Rows of nodes of one instance added up."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        name = instances.name_of(row["node_id"])
        key = row["hour_start_at"], name, row["stage"], row["currency"]
        so_far = found.get(key)
        if so_far is None:
            found[key] = row | {"node_id": name}
            continue
        so_far |= {count: so_far[count] + row[count] for count in COUNTS}
        so_far["revenue"] = exact_sum((so_far["revenue"], row["revenue"]))
    return list(found.values())


def _shares_of(row: dict[str, Any], instances: Instances) -> list[dict[str, Any]]:
    name = row["node_id"]
    if name not in instances.weights:
        return [row]
    amounts = instances.amount(name, row["revenue"])
    misses = instances.count(name, row["input_tokens"] - row["cached_tokens"])
    counts = {count: instances.count(name, row[count]) for count in COUNTS}
    return [
        row
        | {count: counts[count][server] for count in COUNTS}
        | {
            "node_id": server,
            "input_tokens": misses[server] + counts["cached_tokens"][server],
            "revenue": amount,
        }
        for server, amount in amounts.items()
    ]
