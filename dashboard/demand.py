"""The demand of a capacity sheet beside what was metered, in this window and the one before."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from dashboard.columns import Column
from dashboard.compared import change_line
from dashboard.formats import change, exact
from dashboard.formulas import CHANGE, ONE_SERVER, SERVERS, heading
from dashboard.page import Page
from dashboard.periods import Period
from dashboard.summary import INPUTS, OUTPUTS, summary
from dashboard.table import table

Row = dict[str, Any]
TOKENS: Final = {"prefill": INPUTS, "decode": OUTPUTS}  # what each pool works on
STAGES: Final = {"prefill": "stage.prefill", "decode": "stage.decode"}


def demand_beside(page: Page, sheet: Mapping[str, Any]) -> None:
    """A row a pool: tokens a second of the sheet, of the window, at its busiest, and before."""
    words, filters = page.words, page.filters
    period, before = filters.period, filters.before
    rows, earlier = page.read(
        page.usage(period, interval=period.interval), page.usage(before or period)
    )
    shown = [
        _line(page, stage, sheet[stage], rows, earlier if before else [])
        for stage in TOKENS
        if isinstance(sheet.get(stage), Mapping)
    ]
    if not summary(rows).input_tokens or not shown:
        return
    heading(words, words("demand.title"), ONE_SERVER)
    inward = next((line["before"] for line in shown if line["stage"] == "prefill"), None)
    change_line(page, page.formats.rate(inward) if inward is not None else None)
    busiest = words("demand.hour" if period.interval == "hour" else "demand.day")
    columns = [
        Column("pool", words("column.stage")),
        Column("demand", words("demand.sheet"), "rate", formula=SERVERS),
        Column("mean", words("demand.mean"), "rate", formula=ONE_SERVER),
        Column("busiest", busiest, "rate", formula=ONE_SERVER),
        *([Column("before", words("compared.before"), "rate", formula=ONE_SERVER),
           Column("change", words("compared.change"), "change", formula=CHANGE)] if before else []),
        Column("share", words("demand.share"), "ratio", formula=SERVERS),
    ]  # fmt: skip
    table(page, shown, columns, name="demand")


def _line(
    page: Page, stage: str, said: Mapping[str, Any], rows: Sequence[Row], earlier: Sequence[Row]
) -> Row:
    period, before = page.filters.period, page.filters.before
    mean = _tokens(rows, stage) / Decimal(str(period.seconds_elapsed))
    then = _tokens(earlier, stage) / Decimal(str(before.seconds_elapsed)) if before else None
    demand = exact(said.get("demand_tokens_per_second"))
    return {
        "stage": stage,
        "pool": page.words(STAGES[stage]),
        "demand": demand,
        "mean": mean,
        "busiest": _busiest(rows, stage, period),
        "before": then,
        "change": change(mean, then),
        "share": mean / demand if demand else None,
    }


def _tokens(rows: Sequence[Row], stage: str) -> int:
    return sum(row[name] for row in rows for name in TOKENS[stage])


def _busiest(rows: Sequence[Row], stage: str, period: Period) -> Decimal | None:
    """Tokens a second in the hour or day that had most of them; one that still runs, so far."""
    by_start: dict[Any, list[Row]] = {}
    for row in rows:
        end_at = min(row["end_at"], period.elapsed_until)
        if row["start_at"] < end_at:
            by_start.setdefault((row["start_at"], end_at), []).append(row)
    rates = (
        _tokens(own, stage) / Decimal(str((end - start).total_seconds()))
        for (start, end), own in by_start.items()
    )
    return max(rates, default=None)
