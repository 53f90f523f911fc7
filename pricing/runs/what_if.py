"""What-if: any past window under other prices, and the difference; nothing is written.

The same steps as a re-rate (pricing/runs/reprice.py), on temporary tables of a reader's cursor. A
closed month can be tried too: its bill would not change, but one can see what it would have been.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

import duckdb

from metering.windows import Window
from pricing.directory import Directory
from pricing.money import exact_arithmetic
from pricing.reports.rows import read_rows
from pricing.runs.price_cells import PriceCells, price_key_table
from pricing.runs.settle import register_directory
from pricing.runs.statements import run

NOWHEN: Final = {"settle_seq": 0, "now": datetime(1970, 1, 1), "cause": "repriced"}  # noqa: DTZ001 - as the store keeps times; the rows are dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfLine:
    """One line of the bill of one tenant and model: as it is, and as it would be.

    Tokens that are billed; amounts exact, in `currency`. A request that the other book has no price
    for, or in another currency, leaves the line.
    """

    tenant_id: str | None
    model_id: str
    currency: str
    line: str
    tokens_before: int
    tokens_after: int
    amount_before: Decimal
    amount_after: Decimal

    @property
    def difference(self) -> Decimal:
        """What the other prices would add."""
        with exact_arithmetic():
            return self.amount_after - self.amount_before


def what_if_days(cursor: duckdb.DuckDBPyConnection, window: Window) -> list[Window]:
    """The parts of the UTC days of `window` that hold requests."""
    days = [row["day"] for row in read_rows(cursor, "what_if_days", window)]
    return [_within(day, window) for day in days]


def what_if(
    cursor: duckdb.DuckDBPyConnection, prices: PriceCells, window: Window
) -> list[WhatIfLine]:
    """What the billing instants of `window`, at best one day, would cost by `prices`."""
    span = {
        "start_at": window.start_at.replace(tzinfo=None),
        "end_at": window.end_at.replace(tzinfo=None),
        "with_adjustments": True,
    }
    contracts = prices.catalogue.contract_tenants()
    run(cursor, "reprice_current", span)
    register_directory(cursor, Directory(contract_tenants=contracts))
    run(cursor, "reprice_owned")
    keys = prices.register_cells(cursor)
    run(cursor, "settle_settled", NOWHEN)
    run(cursor, "settle_reversals", NOWHEN)
    cursor.register("new_price_key", price_key_table(keys))
    run(cursor, "what_if_keys")
    cursor.unregister("new_price_key")
    return [WhatIfLine(**row) for row in read_rows(cursor, "what_if_lines")]


def added_up(lines: Iterable[WhatIfLine]) -> Iterator[WhatIfLine]:
    """The lines of many days as one each, in order of tenant, model, currency and line."""
    sums: dict[tuple[str | None, str, str, str], list[WhatIfLine]] = defaultdict(list)
    for each in lines:
        sums[each.tenant_id, each.model_id, each.currency, each.line].append(each)
    with exact_arithmetic():
        for key in sorted(sums, key=lambda key: (key[0] or "", *key[1:])):
            tenant_id, model_id, currency, line = key
            yield WhatIfLine(
                tenant_id=tenant_id,
                model_id=model_id,
                currency=currency,
                line=line,
                tokens_before=sum(each.tokens_before for each in sums[key]),
                tokens_after=sum(each.tokens_after for each in sums[key]),
                amount_before=sum((each.amount_before for each in sums[key]), Decimal(0)),
                amount_after=sum((each.amount_after for each in sums[key]), Decimal(0)),
            )


def _within(day: date, window: Window) -> Window:
    start_at = datetime.combine(day, time(), UTC)
    return Window(max(start_at, window.start_at), min(start_at + timedelta(days=1), window.end_at))
