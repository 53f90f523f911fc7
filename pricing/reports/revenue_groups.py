"""Revenue by pool, model, stage or server (sql/revenue_groups.sql): the servers' lines, added."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, Final

import duckdb

from metering.windows import Window
from pricing.instances import ALONE, Instances
from pricing.money import exact_sum
from pricing.reports.exact_usage import register_window_earned
from pricing.reports.rows import read_rows


class RevenueGroup(StrEnum):
    """What to tell apart."""

    POOL = "pool"
    MODEL = "model_id"
    STAGE = "stage"
    NODE = "node_id"


LINES: Final = ("input", "cached", "cache_write", "output", "reasoning")
COUNTS: Final = ("uncached", "cached", "cache_write", "output", "reasoning")
NAMES: Final = tuple(group.value for group in RevenueGroup)


def revenue_groups(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    groups: Collection[RevenueGroup],
    instances: Instances = ALONE,
) -> list[dict[str, Any]]:
    """Billed tokens and exact amounts, a row for each currency and each of `groups`.

    hit_ratio: cached tokens in all input tokens, for reading only; None without input. By node,
    what an instance booked is shared by its servers.
    """
    register_window_earned(cursor, window)
    rows = read_rows(
        cursor,
        "revenue_groups",
        window,
        by_pool=RevenueGroup.POOL in groups,
        by_model=RevenueGroup.MODEL in groups,
        by_stage=RevenueGroup.STAGE in groups,
        by_node=RevenueGroup.NODE in groups,
    )
    if RevenueGroup.NODE in groups and instances.weights:
        rows = _by_server(rows, instances)
    return [row | {"hit_ratio": _hit_ratio(row)} for row in rows]


def _by_server(rows: Sequence[dict[str, Any]], instances: Instances) -> list[dict[str, Any]]:
    """Rows of the instances' servers: tokens whole, each line of money to the last digit."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        node_id = row["node_id"]
        amounts = {
            f"{line}_amount": instances.amount(node_id, row[f"{line}_amount"]) for line in LINES
        }
        counts = {
            f"{name}_tokens": instances.count(node_id, row[f"{name}_tokens"]) for name in COUNTS
        }
        for server in instances.shares(node_id):
            share = row | {"node_id": server}
            share |= {name: parts[server] for name, parts in (amounts | counts).items()}
            key = tuple(share[name] for name in (*NAMES, "currency"))
            if key in found:
                so_far = found[key]
                share |= {name: share[name] + so_far[name] for name in counts}
                share |= {name: exact_sum((share[name], so_far[name])) for name in amounts}
            found[key] = share | {"amount": exact_sum(share[name] for name in amounts)}
    return list(found.values())


def _hit_ratio(row: dict[str, Any]) -> float | None:
    cached: int = row["cached_tokens"]
    total = cached + row["uncached_tokens"] + row["cache_write_tokens"]
    return cached / total if total else None
