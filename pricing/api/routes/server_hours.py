"""/v1/economics/hours: servers hour by hour, for heat maps and one server's day."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.figures import (
    COST,
    LEDGER,
    MONEY,
    RATIO,
    REVENUE,
    TOKENS,
    TOKENS_PER_SECOND,
    WORTH,
    about,
    figure,
)
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Report, Shown, Text, Time
from pricing.api.windows import WindowQuery, until_now
from pricing.calendar_time import seconds_in_service
from pricing.errors import RequestInvalid
from pricing.money import exact_sum
from pricing.reports.server_economics import KnownServer, instances_in, lines_of, node_energy
from pricing.reports.server_hours import server_hours
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
ROWS_MAX: Final = 50_000
COSTED_ROWS_MAX: Final = 10_000  # an hour's cost lines take a fraction of a millisecond each


class HoursAsked(WindowQuery):
    """Which window, which server, and whether cost is wanted."""

    node_id: Text | None = None
    cost: bool = Field(default=False, description="with cost and profit of each hour")


class HourRow(Shown):
    """One server in one UTC hour and currency. An hour without billed usage has no row."""

    hour_start_at: Time
    node_id: str | None = Field(examples=["p01"])
    stage: str
    currency: Currency
    requests: int
    input_tokens: int = figure(TOKENS, REVENUE, "billed")
    cached_input_tokens: int = figure(TOKENS, REVENUE, "billed, a part of the input")
    output_tokens: int = figure(TOKENS, REVENUE, "billed")
    tokens_per_second: float | None = figure(TOKENS_PER_SECOND, REVENUE, "of the server's work")
    hit_ratio: float | None = figure(RATIO, REVENUE, "r, token-weighted")
    utilization_ratio: float | None = figure(RATIO, REVENUE, "U; null: no rated throughput")
    revenue: Amount = figure(MONEY, LEDGER)
    cost: Amount | None = figure(MONEY, COST, "null: not asked for, or not stated")
    profit: Amount | None = figure(MONEY, WORTH, "revenue − cost")


@router.get(
    "/v1/economics/hours",
    summary="Read servers hour by hour",
    response_model=Report[HourRow],
    responses=LIST_CONTENT,
)
def get_hours(call: Reading, asked: Annotated[HoursAsked, Query()]) -> Response:
    """Billed tokens, token utilisation and revenue of each server and hour; cost where asked.

    By billing instant; what an instance earned is shared by its servers. A silent sidecar shows in
    /v1/findings, not here.
    """
    window = asked.window()
    check_edges(window, [window], HOUR)
    passed, most = until_now(window, call.at), COSTED_ROWS_MAX if asked.cost else ROWS_MAX
    facts = {server.node_id: known(server) for server in registered(call).values()}
    instances = instances_in(passed, facts.values())
    found = call.usage(
        lambda cursor: server_hours(
            cursor, passed, instances, node_id=asked.node_id, rows_max=most + 1
        )
    )
    if len(found) > most:
        raise RequestInvalid(
            f"The answer has more than {most:,} rows.",
            remedy="Ask for a shorter window, one node_id, or without cost.",
        )
    energy = call.usage(lambda cursor: node_energy(cursor, passed)) if asked.cost else None
    rows = [_row(row, facts.get(row["node_id"]), passed, energy) for row in found]
    return many(call.request, HourRow, rows, beside=about(HourRow, passed))


def _row(
    row: Mapping[str, Any],
    server: KnownServer | None,
    window: Window,
    energy: Mapping[str, Mapping[datetime, float]] | None,
) -> dict[str, Any]:
    hour = Window(row["hour_start_at"], min(row["hour_start_at"] + HOUR, window.end_at))
    seconds = Fraction(hour.microseconds(), 10**6)
    served = seconds if server is None else seconds_in_service(server.periods, hour) or seconds
    work = row["output_tokens"] if row["stage"] == "decode" else row["input_tokens"]
    rated = None if server is None else server.rated_tokens_per_second
    cost = None if server is None or energy is None else _cost(server, hour, row, energy)
    return {
        "hour_start_at": row["hour_start_at"],
        "node_id": row["node_id"],
        "stage": row["stage"],
        "currency": row["currency"],
        "requests": row["requests"],
        "input_tokens": row["input_tokens"],
        "cached_input_tokens": row["cached_tokens"],
        "output_tokens": row["output_tokens"],
        "tokens_per_second": float(work / served),
        "hit_ratio": row["cached_tokens"] / row["input_tokens"] if row["input_tokens"] else None,
        "utilization_ratio": None if not rated else float(work / (rated * served)),
        "revenue": row["revenue"],
        "cost": cost,
        "profit": None if cost is None else exact_sum((row["revenue"], -cost)),
    }


def _cost(
    server: KnownServer,
    hour: Window,
    row: Mapping[str, Any],
    energy: Mapping[str, Mapping[datetime, float]],
) -> Decimal | None:
    """Cost of the hour, in the row's currency; None where it is stated in another."""
    lines = lines_of(server, hour, energy.get(server.node_id))
    if lines is None or server.costs is None or server.costs.currency != row["currency"]:
        return None
    return exact_sum(lines.values())
