"""`tokentill roi`: what an investment in servers is worth."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pricing.cli_formulas import footnote
from pricing.errors import ConfigInvalid
from pricing.estimates.case_file import CASE_LENGTH_MAX, read_case
from pricing.estimates.case_report import case_report

LABEL_WIDTH = 34
COLUMN_WIDTH = 20
ROWS = (
    ("net revenue / month", "steady_month", "net_revenue", "money"),
    ("accounting cost / month", "steady_month", "accounting_cost", "money"),
    ("economic cost / month", "steady_month", "economic_cost", "money"),
    ("gross margin", "steady_month", "gross_margin", "percent"),
    ("margin on cost", "steady_month", "margin_on_cost", "percent"),
    ("cost / million input tokens", "steady_month", "cost_per_million_input", "money4"),
    ("break-even utilisation", "steady_month", "break_even_utilization", "percent"),
    ("NPV", "outlook", "npv", "money"),
    ("IRR, effective yearly", "rates", "irr_year", "percent"),
    ("XIRR", "rates", "xirr", "percent"),
    ("payback, months", "outlook", "payback_months", "number"),
    ("discounted payback, months", "outlook", "discounted_payback_months", "number"),
    ("profitability index", "outlook", "profitability_index", "number"),
    ("NPV = 0 at utilisation", "outlook", "break_even_utilization", "percent"),
    ("NPV = 0 at input price / million", "outlook", "break_even_input_price", "money4"),
    ("Monte Carlo mean NPV", "monte_carlo", "mean", "money"),
    ("  standard error", "monte_carlo", "standard_error", "money"),
    ("  P(NPV < 0)", "monte_carlo", "loss_probability", "percent"),
)
FORMATS = {"money": "{:,.2f}", "money4": "{:,.4f}", "percent": "{:.2%}", "number": "{:,.2f}"}
UNKNOWN = "—"


def roi(
    cases: Annotated[
        list[Path],
        typer.Argument(metavar="CASE.toml…", exists=True, dir_okay=False, readable=True),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print every figure as JSON.")] = False,
    flows: Annotated[
        Path | None, typer.Option(help="Also write the monthly cash flows to this CSV file.")
    ] = None,
) -> None:
    """NPV, IRR, payback, break-evens, tornado and Monte Carlo of investment cases, side by side."""
    reports = [_report(path) for path in cases]
    if flows is not None:
        _write_flows(flows, reports)
    for report in reports:
        if finding := report["rates"]["finding"]:
            typer.echo(f"{report['name']}: {finding}.", err=True)
    if as_json:
        typer.echo(json.dumps({"cases": reports}, ensure_ascii=False, allow_nan=False))
        return
    for line in comparison(reports):
        typer.echo(line)
    for report in reports:
        for line in tornado_lines(report):
            typer.echo(line)
    typer.echo(f"\nEstimates: {'; '.join(reports[0]['conventions'])}.", err=True)
    footnote("Money in the currency of each case", "8-investment-estimates")


def _report(path: Path) -> dict[str, Any]:
    """The report of a case file; an unreadable one ends the command as wrong usage (exit 2)."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(CASE_LENGTH_MAX + 1)
        return case_report(read_case(text, name_of_file=path.name))
    except (ConfigInvalid, UnicodeDecodeError) as error:
        typer.echo(f"tokentill roi: {error}", err=True)
        raise typer.Exit(2) from error


def comparison(reports: Sequence[dict[str, Any]]) -> list[str]:
    """Cases side by side, a figure per line."""
    lines = [_line("", [f"{r['name']} ({r['currency']})" for r in reports])]
    for label, part, name, kind in ROWS:
        values = [(report[part] or {}).get(name) for report in reports]
        if any(value is not None for value in values):
            lines.append(_line(label, [_text(value, kind) for value in values]))
    return lines


def tornado_lines(report: dict[str, Any]) -> list[str]:
    """The NPV at each driver's low and high value, widest first."""
    currency = report["currency"]
    head = _line(f"\n{report['name']}: NPV, {currency}", ["driver low", "driver high", "swing"])
    lines = [head]
    for bar in report["tornado"]:
        label = bar["driver"] + (f" ({bar['note']})" if bar["note"] else "")
        lines.append(_line(label, [_text(bar[name], "money") for name in ("low", "high", "swing")]))
    return lines


def _line(label: str, columns: Sequence[str]) -> str:
    return f"{label:<{LABEL_WIDTH}}" + "".join(f"{text:>{COLUMN_WIDTH}}" for text in columns)


def _text(value: float | None, kind: str) -> str:
    return UNKNOWN if value is None else FORMATS[kind].format(value)


def _write_flows(path: Path, reports: Sequence[dict[str, Any]]) -> None:
    """Rows case, currency, date, amount: one per month of each case."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["case", "currency", "date", "amount_estimate"])
        for report in reports:
            for flow in report["cash_flows"]:
                name = report["name"]
                safe = f"'{name}" if name[0] in "=+-@\t\r" else name  # no formula in a sheet
                writer.writerow([safe, report["currency"], flow["date"], flow["amount"]])


def register(app: typer.Typer) -> None:
    """Add the command `roi` to `app`."""
    app.command(epilog="Example: tokentill roi base.toml cautious.toml --json")(roi)
