"""Whose work each server did by its engines' records, and what settlement made of it.

Metered work counts by the finish of a leg and the tenant that the leg names; settled work, which
the chargeback of cost shares cost by, by billing instant and settled owner.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from metering.windows import Window
from pricing.policy import SET_ASIDE
from pricing.reports.owner_work import PARTS
from pricing.reports.rows import read_rows
from pricing.reports.server_work import whole_days
from pricing.scope import Scope

KEY: Final = ("node_id", "stage", "tenant_id")
GATEWAY: Final = "gateway"  # forwards requests, computes none


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantWork:
    """One server's work of one stage for one tenant; None: the records name none.

    Counts in tokens; seconds summed over requests that ran side by side. delivered, failed and
    waiting: what settled requests, and halves that still wait, hold of the work.
    """

    node_id: str | None
    stage: str
    tenant_id: str | None
    legs: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    queue_seconds: float = 0.0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    delivered_tokens: int = 0
    failed_tokens: int = 0
    waiting_tokens: int = 0

    @property
    def work_tokens(self) -> int:
        """Tokens that the stage is there for, as metered."""
        return work_tokens(self.stage, self.input_tokens, self.output_tokens)

    @property
    def rest_tokens(self) -> int:
        """Metered − (delivered + failed + waiting): settled in another window or for another."""
        settled = self.delivered_tokens + self.failed_tokens
        return self.work_tokens - settled - self.waiting_tokens


def work_tokens(stage: str, input_tokens: int, output_tokens: int) -> int:
    """Input of a prefill server, output of a decode server, both of a unified one, in tokens.

    The first token of a prefill server and the prompt that a decode server was handed are counted
    by their engines, but computed, and settled, on the other side.
    """
    if stage == "prefill":
        return input_tokens
    return output_tokens if stage == "decode" else input_tokens + output_tokens


def tenant_work(
    cursor: duckdb.DuckDBPyConnection, window: Window, scope: Scope
) -> list[TenantWork]:
    """Work of each server and tenant in whole UTC days (sql/node_work.sql), of `scope` only."""
    days = whole_days(window)
    found: dict[tuple[Any, ...], dict[str, Any]] = {}

    def facts(row: Mapping[str, Any]) -> dict[str, Any]:
        key = {name: row[name] for name in KEY}
        return found.setdefault(tuple(key.values()), key)

    for row in read_rows(cursor, "node_work", days):
        facts(row).update(row)
    for row in read_rows(cursor, "waiting_work", days):
        waiting = work_tokens(row["stage"], row["input_tokens"], row["output_tokens"])
        facts(row)["waiting_tokens"] = waiting
    for row in read_rows(cursor, "owner_work", days, set_aside=SET_ASIDE):
        if row["stage"] != GATEWAY:
            _add_settled(facts(row), row)
    rows = (TenantWork(**found[key]) for key in sorted(found, key=lambda k: [n or "" for n in k]))
    return [
        row
        for row in rows
        if (row.legs or row.delivered_tokens or row.failed_tokens)
        and (scope.every_tenant or row.tenant_id == scope.tenant_id)
    ]


def _add_settled(facts: dict[str, Any], row: Mapping[str, Any]) -> None:
    for part in PARTS:
        inputs = row[f"{part}_uncached"] + row[f"{part}_cached"]
        tokens = work_tokens(row["stage"], inputs, row[f"{part}_output"])
        facts[f"{part}_tokens"] = facts.get(f"{part}_tokens", 0) + tokens
