"""`tokentill costs`: what servers cost beside what they earn, and what is still to be stated."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import typer

from metering.windows import Window, parse_time
from pricing.api.economics_rows import Adding, EconomicsRow, economics_rows
from pricing.api.figures import REVENUE, WORTH, about
from pricing.api.shapes import Report
from pricing.api.windows import until_now
from pricing.cli_formulas import footnote
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do
from pricing.cli_numbers import amount_option, ratio_option
from pricing.client import Client
from pricing.errors import RequestInvalid
from pricing.ledger.servers import every_server
from pricing.reports.usage_report import HOUR, check_edges

GroupBy = Literal["server", "pool", "hardware", "stage", "fleet"]
UNITS = "Money in the currency of the row, /M per million tokens, T in tokens per second"
ROUTE = "/v1/economics/servers"
UNKNOWN = "—"
COLUMNS = (  # title, field, format, width
    ("", "group", "{}", 14),
    ("stage", "stage", "{}", 9),
    ("T tok/s", "input_tokens_per_second", "{:,.1f}", 12),
    ("T_out", "output_tokens_per_second", "{:,.1f}", 10),
    ("r", "hit_ratio", "{:.1%}", 8),
    ("U", "utilization_ratio", "{:.1%}", 8),
    ("revenue", "revenue", "{:,.2f}", 16),
    ("cost", "cost", "{:,.2f}", 14),
    ("idle", "idle_cost", "{:,.2f}", 14),
    ("margin", "gross_margin", "{:.1%}", 11),
    ("/M in", "cost_per_million_input", "{:,.4f}", 10),
    ("/M out", "cost_per_million_output", "{:,.4f}", 10),
    ("U pays", "break_even_utilization_ratio", "{:.1%}", 9),
    ("", "currency", "{}", 5),
)
MONEY = frozenset(
    {"revenue", "cost", "idle_cost", "cost_per_million_input", "cost_per_million_output"}
)


def costs(
    *,
    start: Annotated[str | None, typer.Option(help="UTC hour; default: this month's.")] = None,
    end: Annotated[
        str | None, typer.Option(help="Exclusive; default: the end of the hour.")
    ] = None,
    group_by: Annotated[GroupBy, typer.Option(help="Add servers up.")] = "server",
    kappa: Annotated[
        Decimal, ratio_option("Server time of a cached / an uncached token.")
    ] = Decimal(0),
    vat_rate: Annotated[Decimal, ratio_option("VAT inside the prices.")] = Decimal(0),
    output_weight: Annotated[
        Decimal | None,
        amount_option("Server time of an output / an uncached token; splits a unified server."),
    ] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """T, r, U, revenue, cost, margin, cost per million tokens and break-even, per server.

    Cost comes from the cost_assumptions of /v1/servers; what is missing is said on stderr.

    Example: tokentill costs --start 2026-10-01T00:00:00Z --end 2026-11-01T00:00:00Z --group-by pool
    """
    now = datetime.now(UTC)
    adding = Adding(group_by=group_by, kappa=kappa, vat_rate=vat_rate, output_weight=output_weight)
    asked = {name: _text(value) for name, value in asdict(adding).items()}

    def by_api(client: Client) -> Any:
        window = _window(start, end, now)
        return client.get(ROUTE, start_at=window.start_at, end_at=window.end_at, **asked)

    def locally(house: LocalHouse) -> Any:
        house.settle()
        window = until_now(_window(start, end, now), house.now)
        with house.ledger.read() as connection:
            known = {server.node_id: server for server in every_server(connection)}
        rows = economics_rows(house.cursor, window, known, adding)
        shown = Report[EconomicsRow](items=rows, **about(EconomicsRow, window))
        return shown.model_dump(mode="json")

    answer = do("costs", config, by_api, locally)
    rows = answer.pop("items")
    if as_json:
        typer.echo(json.dumps({"servers": rows, **answer}, ensure_ascii=False, allow_nan=False))
        return
    _show(rows, Window(parse_time(answer["start_at"]), parse_time(answer["end_at"])))


def _show(rows: Sequence[dict[str, Any]], window: Window) -> None:
    for line in _table(rows):
        typer.echo(line)
    for row in rows:
        for question in row["missing"]:
            typer.echo(f"{row['group']}: missing {question}", err=True)
    footnote(UNITS, REVENUE, WORTH, window=window)


def _text(value: Any) -> Any:
    """A parameter of the route: decimals as text."""
    return f"{value:f}" if isinstance(value, Decimal) else value


def _window(start: str | None, end: str | None, now: datetime) -> Window:
    """What was asked for, in whole hours; this month so far where nothing was."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    start_at = parse_time(start) if start else hour.replace(day=1, hour=0)
    end_at = parse_time(end) if end else max(hour, start_at) + timedelta(hours=1)
    if not start_at < end_at:
        raise RequestInvalid("--start must lie before --end.")
    window = Window(start_at, end_at)
    check_edges(window, [window], HOUR)
    return window


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = ["".join(f"{title:>{width}}" for title, _, _, width in COLUMNS)]
    for row in rows:
        cells = (_cell(row, field, form) for _, field, form, _ in COLUMNS)
        widths = (width for *_, width in COLUMNS)
        lines.append("".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True)))
    return lines


def _cell(row: dict[str, Any], field: str, form: str) -> str:
    value = row[field]
    if value is None:
        return UNKNOWN
    return form.format(Decimal(value) if field in MONEY else value)


def register(app: typer.Typer) -> None:
    """Add the command `costs` to `app`."""
    app.command()(costs)
