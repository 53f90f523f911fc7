"""Reconciliation of a window: each server's counters against its legs, the gap in tokens and money.

Gathers sql/reconcile_*.sql and decides with metering/reconciliation.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any, Final, NamedTuple

import duckdb

from metering.reconciliation import BILLED, Counted, Reconciled, Tokens, add_up, reconcile
from metering.usage import Stage
from metering.windows import Window
from pricing.money import token_charge
from pricing.reports.rows import read_rows

Row = Mapping[str, Any]
Money = tuple[Decimal, Decimal]  # at the lowest and at the highest price
LORA: Final = ":"  # model:adapter is served by the engine of model and counted as its own


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReconciliation:
    """One server: its measures, and what the unmetered tokens would cost.

    hour_at: UTC, and model_id: as the engine's counters name it, where they were asked for; a model
    without counters of its own stands by the name of its legs, uncounted.
    amount_min, amount_max: the gap at the lowest and highest price of the server's models in the
    window; None where nothing of the model was priced. causes: the same of each cause but billed.
    last_sample_at: UTC, of its counters.
    """

    node_id: str | None
    stage: str
    pool: str | None
    hour_at: datetime | None
    model_id: str | None
    reconciled: Reconciled
    currency: str | None
    amount_min: Decimal | None
    amount_max: Decimal | None
    causes: Mapping[str, Money]
    last_sample_at: datetime | None
    restarts: int | None


class _Part(NamedTuple):
    """What is compared: legs and counters of one server, hour and model, as far as asked for."""

    node_id: str | None
    stage: str
    pool: str | None
    hour_at: datetime | None
    model_id: str | None
    legs: Sequence[Row]
    counter: Row | None


def reconciliation_report(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    *,
    tolerance_tokens: int,
    by_hour: bool = False,
    by_model: bool = False,
) -> list[ServerReconciliation]:
    """Every server with legs or counters in the window, in order of node, stage and measure.

    by_hour, by_model: a row for each UTC hour, for each model that the counters tell apart.
    """
    grain = {"by_hour": by_hour, "by_model": by_model}
    counters = read_rows(cursor, "reconcile_counters", window, **grain)
    since = [row["since_at"] for row in counters if row["since_at"] is not None]
    from_at = min([window.start_at, *since]).replace(tzinfo=None)
    legs = read_rows(cursor, "reconcile_legs", window, from_at=from_at, by_hour=by_hour)
    prices = read_rows(cursor, "reconcile_prices", window)
    return [
        _compared(part, one, prices)
        for part in _parts(legs, counters, by_model=by_model)
        for one in reconcile(
            part.stage,
            _counted(part.counter),
            _fates(part.stage, part.legs),
            tolerance_tokens=tolerance_tokens,
        )
    ]


def _parts(legs: Sequence[Row], counters: Sequence[Row], *, by_model: bool) -> Iterator[_Part]:
    """Legs and counters side by side; a server whose every line was lost still has counters."""
    counted: dict[tuple[Any, ...], list[Row]] = {}
    for row in counters:
        counted.setdefault((row["node_id"], row["hour_at"]), []).append(row)
    served = {server: list(rows) for server, rows in groupby(legs, key=_server)}
    seen = {(node_id, hour_at) for node_id, _, _, hour_at in served}
    for (node_id, hour_at), rows in counted.items():
        if (node_id, hour_at) not in seen:
            stage = rows[0]["stage"] or Stage.UNIFIED
            served[node_id, str(stage), rows[0]["pool"], hour_at] = []
    for server in sorted(served, key=_in_order):
        node_id, stage, pool, hour_at = server
        told = counted.get((node_id, hour_at), [])
        split = _by_model(served[server], told) if by_model else [(None, served[server], told)]
        for model_id, rows, own in split:
            counter = own[0] if own else None
            yield _Part(node_id, stage, pool, hour_at, model_id, rows, counter)


def _by_model(
    legs: Sequence[Row], counters: Sequence[Row]
) -> list[tuple[str | None, list[Row], list[Row]]]:
    """(model, its legs, its counters). An engine that counts one model serves no other."""
    own: dict[str | None, list[Row]] = {row["model_id"]: [row] for row in counters}
    found: dict[str | None, list[Row]] = {model: [] for model in own}
    only = next(iter(own)) if len(own) == 1 else None
    for row in legs:
        name = row["model_id"]
        names = (name, name.partition(LORA)[0])
        model = only if len(own) == 1 else next((n for n in names if n in own), name)
        found.setdefault(model, []).append(row)
    return [(model, found[model], own.get(model, [])) for model in sorted(found, key=str)]


def _compared(part: _Part, one: Reconciled, prices: Sequence[Row]) -> ServerReconciliation:
    models = {row["model_id"] for row in part.legs} or {part.model_id}
    currency, price = _price(one.measure, [p for p in prices if p["model_id"] in models])
    gap = None if price is None or one.gap is None else _money(max(one.gap, 0), price)
    return ServerReconciliation(
        node_id=part.node_id,
        stage=part.stage,
        pool=part.pool,
        hour_at=part.hour_at,
        model_id=part.model_id,
        reconciled=one,
        currency=None if gap is None else currency,
        amount_min=None if gap is None else gap[0],
        amount_max=None if gap is None else gap[1],
        causes={
            each.cause: _money(each.tokens, price)
            for each in one.explained
            if price is not None and each.cause != BILLED and each.tokens >= 0
        },
        last_sample_at=part.counter["last_sample_at"] if part.counter else None,
        restarts=part.counter["restarts"] if part.counter else None,
    )


def _in_order(server: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    return [(part is not None, part) for part in server]


def _server(row: Row) -> tuple[str | None, str, str | None, datetime | None]:
    return row["node_id"], row["stage"], row["pool"], row["hour_at"]


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


def _price(measure: str, prices: Sequence[Row]) -> tuple[str | None, Money | None]:
    """The lowest and highest price; unknown where prices lack or currencies mix."""
    side = measure.removesuffix("_tokens")
    currencies = {row["currency"] for row in prices}
    lows = [row[f"{side}_price_min"] for row in prices if row[f"{side}_price_min"] is not None]
    highs = [row[f"{side}_price_max"] for row in prices if row[f"{side}_price_max"] is not None]
    if len(currencies) != 1 or not lows or not highs:
        return None, None
    return currencies.pop(), (min(lows), max(highs))


def _money(tokens: int, price: Money) -> Money:
    return token_charge(tokens, price[0]), token_charge(tokens, price[1])
