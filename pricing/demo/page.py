"""The tables at the end of the demo: servers, tenants, one statement, what earned nothing."""

from collections.abc import Sequence
from decimal import Decimal

from rich.console import Console
from rich.table import Table

from pricing.demo.answers import Answers, Row, demo_json
from pricing.money import exact_sum, plain


def print_page(console: Console, answers: Answers) -> None:
    """Print the tables; every amount with all of its digits."""
    summary = demo_json(answers)
    totals, currency = summary["totals"], summary["currency"]
    console.print(_servers(answers.servers, currency))
    console.print(_tenants(answers, currency))
    console.print(_statement(answers, currency))
    if answers.unbilled:
        console.print(_unbilled(answers.unbilled))
    difference = exact_sum(Decimal(server["difference"]) for server in answers.servers)
    earned = exact_sum(Decimal(server["amount"]) for server in answers.servers)
    console.print(
        f"[bold]{totals['requests']:,} requests, {totals['amount']} {currency}.[/] "
        f"Servers {plain(earned)} = tenants {totals['amount']}; "
        f"ledger − formula = {plain(difference)}."
    )


def _servers(servers: Sequence[Row], currency: str) -> Table:
    table = Table(title="What each server earned", title_justify="left")
    table.add_column("server", no_wrap=True)
    table.add_column("stage", no_wrap=True)
    for name in ("requests", "T tok/s", "hit ratio", f"ledger {currency}", f"formula {currency}"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Δ", justify="right", no_wrap=True)
    for row in servers:
        is_decode = row["stage"] == "decode"
        rate = row["output_tokens_per_second" if is_decode else "input_tokens_per_second"]
        ratio = row["hit_ratio"]
        table.add_row(
            row["node_id"],
            row["stage"],
            f"{row['requests']:,}",
            f"{rate:,.1f}",
            "—" if is_decode or ratio is None else f"{ratio:.1%}",
            row["amount"],
            row["formula"],
            row["difference"],
        )
    return table


def _tenants(answers: Answers, currency: str) -> Table:
    table = Table(title="Who pays", title_justify="left")
    table.add_column("tenant")
    table.add_column("requests", justify="right")
    table.add_column(currency, justify="right")
    rows = sorted(demo_json(answers)["tenants"], key=lambda row: -Decimal(row["amount"]))
    for row in rows:
        table.add_row(row["tenant"], f"{row['requests']:,}", row["amount"])
    return table


def _statement(answers: Answers, currency: str) -> Table:
    """The lines of the tenant who pays most."""
    tenants = demo_json(answers)["tenants"]
    top = max(tenants, key=lambda row: Decimal(row["amount"]), default=None)
    name = top["tenant"] if top else "—"
    table = Table(title=f"Statement of {name}", title_justify="left")
    table.add_column("line")
    table.add_column("tokens", justify="right")
    table.add_column(currency, justify="right")
    own = [row for row in answers.billed if (row["tenant_id"] or "unattributed") == name]
    for title, tokens, amount in (
        ("input", "uncached_tokens", "input_amount"),
        ("cached input", "cached_tokens", "cached_amount"),
        ("output", "output_tokens", "output_amount"),
    ):
        money = plain(exact_sum(Decimal(row[amount]) for row in own))
        table.add_row(title, f"{sum(row[tokens] for row in own):,}", money)
    return table


def _unbilled(rows: Sequence[Row]) -> Table:
    table = Table(title="Work that is not billed, and why", title_justify="left")
    for name in ("server", "what", "why"):
        table.add_column(name)
    for name in ("requests", "input tokens", "output tokens"):
        table.add_column(name, justify="right")
    for row in rows:
        counts = (f"{row[name]:,}" for name in ("requests", "input_tokens", "output_tokens"))
        table.add_row(row["node_id"], row["disposition"], row["reason"], *counts)
    return table
