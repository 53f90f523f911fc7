"""What some servers sold in a window, as an investment case wants it (docs/roi.md)."""

from collections.abc import Sequence
from fractions import Fraction

import duckdb

from metering.windows import Window
from pricing.calendar_time import length_seconds, seconds_in_service
from pricing.economics import Measured
from pricing.errors import RequestInvalid
from pricing.reports.rows import read_rows
from pricing.reports.server_economics import KnownServer
from pricing.variance import SegmentSales


def metered_months(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    servers: Sequence[KnownServer],
    *,
    currency: str,
) -> tuple[Measured, SegmentSales]:
    """The servers taken as one: their tokens, seconds and rating, and their lines in `currency`.

    One server counts its seconds in service, several the window's. The rating is that of the
    servers whose work is input, if each has one. Raises RequestInvalid where nothing was sold in
    `currency`.
    """
    node_ids = [server.node_id for server in servers]
    instances = {server.instance_id for server in servers if server.instance_id is not None}
    asked = [*node_ids, *sorted(instances - {*node_ids})]  # usage may name the instance
    rows = read_rows(cursor, "node_sales", window, node_ids=asked)
    sold = {row.pop("currency"): SegmentSales(**row) for row in rows}
    if currency not in sold:
        raise RequestInvalid(
            f"{', '.join(node_ids)} billed nothing in {currency} in that window.",
            remedy="Choose a window with usage, and the currency of its price book.",
        )
    sales = sold[currency]
    measured = Measured(
        seconds=_seconds(servers, window),
        input_tokens=sales.uncached_tokens + sales.cached_tokens,
        cached_tokens=sales.cached_tokens,
        output_tokens=sales.output_tokens,
        revenue=sales.amount,
        rated_tokens_per_second=_rating(servers),
    )
    return measured, sales


def _seconds(servers: Sequence[KnownServer], window: Window) -> Fraction:
    whole = length_seconds(window)
    if len(servers) > 1:
        return whole
    return seconds_in_service(servers[0].periods, window) or whole


def _rating(servers: Sequence[KnownServer]) -> Fraction | None:
    """Input tokens per second of all servers whose work is input; None where one has no rating."""
    of_input = [s.rated_tokens_per_second for s in servers if s.stage in ("prefill", "unified")]
    known = [rating for rating in of_input if rating is not None]
    return sum(known, Fraction(0)) if known and len(known) == len(of_input) else None
