"""Reconciliation of a window: each server's counters against its legs, the gap in tokens and money.

Gathers sql/reconcile_*.sql and decides with metering/reconciliation.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

import duckdb

from metering.reconciliation import Counted, Reconciled, Tokens, add_up, reconcile
from metering.windows import Window
from pricing.money import token_charge
from pricing.reports.rows import read_rows

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReconciliation:
    """One server: its measures, and what the unmetered tokens would cost.

    amount_min, amount_max: the gap at the lowest and highest price of the server's models in the
    window; None where nothing of the model was priced. last_sample_at: UTC, of its counters.
    """

    node_id: str | None
    stage: str
    pool: str | None
    reconciled: Reconciled
    currency: str | None
    amount_min: Decimal | None
    amount_max: Decimal | None
    last_sample_at: datetime | None
    restarts: int | None


def reconciliation_report(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, tolerance_tokens: int
) -> list[ServerReconciliation]:
    """Every server with legs or counters in the window, in order of node, stage and measure."""
    counters = {row["node_id"]: row for row in read_rows(cursor, "reconcile_counters", window)}
    prices = read_rows(cursor, "reconcile_prices", window)
    legs = read_rows(cursor, "reconcile_legs", window)
    found = []
    for (node_id, stage, pool), members in groupby(legs, key=_server):
        rows = list(members)
        counter = counters.get(node_id)
        for one in reconcile(
            stage, _counted(counter), _fates(stage, rows), tolerance_tokens=tolerance_tokens
        ):
            models = {row["model_id"] for row in rows}
            currency, low, high = _money(one, [p for p in prices if p["model_id"] in models])
            found.append(
                ServerReconciliation(
                    node_id=node_id,
                    stage=stage,
                    pool=pool,
                    reconciled=one,
                    currency=currency,
                    amount_min=low,
                    amount_max=high,
                    last_sample_at=counter["last_sample_at"] if counter else None,
                    restarts=counter["restarts"] if counter else None,
                )
            )
    return found


def _server(row: Row) -> tuple[str | None, str, str | None]:
    return row["node_id"], row["stage"], row["pool"]


def _counted(row: Row | None) -> Counted | None:
    if row is None:
        return None
    return Counted(**{field.name: row[field.name] for field in fields(Counted)})


def _fates(stage: str, rows: Sequence[Row]) -> dict[str, Tokens]:
    return add_up(_sides(stage, rows))


def _sides(stage: str, rows: Iterable[Row]) -> Iterator[tuple[str, Tokens]]:
    """Input and output of a leg may have two fates: a sample's prompt is work, its output sold."""
    for row in rows:
        legs = row["legs"]
        inputs = Tokens(
            input_tokens=row["input_tokens"],
            cached_tokens=row["cached_tokens"],
            requests=legs if stage != "decode" else 0,
            beam_input_tokens=row["beam_input_tokens"],
        )
        outputs = Tokens(
            output_tokens=row["output_tokens"],
            requests=legs if stage == "decode" else 0,
            beam_output_tokens=row["beam_output_tokens"],
        )
        yield row["input_fate"], inputs
        yield row["output_fate"], outputs


def _money(
    one: Reconciled, prices: Sequence[Row]
) -> tuple[str | None, Decimal | None, Decimal | None]:
    """The gap at the lowest and highest price; unknown where prices lack or currencies mix."""
    side = one.measure.removesuffix("_tokens")
    currencies = {row["currency"] for row in prices}
    lows = [row[f"{side}_price_min"] for row in prices if row[f"{side}_price_min"] is not None]
    highs = [row[f"{side}_price_max"] for row in prices if row[f"{side}_price_max"] is not None]
    if one.gap is None or len(currencies) != 1 or not lows or not highs:
        return None, None, None
    gap = max(one.gap, 0)
    return currencies.pop(), token_charge(gap, min(lows)), token_charge(gap, max(highs))
