"""Revenue by pool, model, stage or server (sql/revenue_groups.sql): the servers' lines, added."""

from collections.abc import Collection
from enum import StrEnum
from typing import Any

import duckdb

from metering.windows import Window
from pricing.reports.rows import read_rows


class RevenueGroup(StrEnum):
    """What to tell apart."""

    POOL = "pool"
    MODEL = "model_id"
    STAGE = "stage"
    NODE = "node_id"


def revenue_groups(
    cursor: duckdb.DuckDBPyConnection, window: Window, groups: Collection[RevenueGroup]
) -> list[dict[str, Any]]:
    """Billed tokens and exact amounts, a row for each currency and each of `groups`.

    hit_ratio: cached tokens in all input tokens, for reading only; None without input.
    """
    rows = read_rows(
        cursor,
        "revenue_groups",
        window,
        by_pool=RevenueGroup.POOL in groups,
        by_model=RevenueGroup.MODEL in groups,
        by_stage=RevenueGroup.STAGE in groups,
        by_node=RevenueGroup.NODE in groups,
    )
    return [row | {"hit_ratio": _hit_ratio(row)} for row in rows]


def _hit_ratio(row: dict[str, Any]) -> float | None:
    cached: int = row["cached_tokens"]
    total = cached + row["uncached_tokens"] + row["cache_write_tokens"]
    return cached / total if total else None
