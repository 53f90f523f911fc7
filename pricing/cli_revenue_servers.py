"""`tokentill revenue servers`: what each server earned by the ledger, beside the formula."""

import json
from typing import Any

import typer

from pricing.api.figures import LEDGER, REVENUE
from pricing.api.windows import until_now
from pricing.cli_formulas import footnote
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do
from pricing.cli_window import AskedWindow, AskedZone, asked_window
from pricing.client import Client
from pricing.ledger.servers import every_server
from pricing.money import plain
from pricing.reports.revenue_servers import server_rows

UNITS = "T and out in tokens per second, money in the currency of the row"


def servers(
    window: AskedWindow,
    zone: AskedZone = "UTC",
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Each server's revenue in a window: ledger, formula and their difference, which is 0.

    Example: tokentill revenue servers 2026-10 --zone Asia/Shanghai
    """
    span = asked_window(window, zone)

    def by_api(client: Client) -> list[dict[str, Any]]:
        return list(client.server_revenue(span.start_at, span.end_at))

    def locally(house: LocalHouse) -> list[dict[str, Any]]:
        house.settle()
        with house.ledger.read() as connection:
            known = {server.node_id: server for server in every_server(connection)}
        return server_rows(house.cursor, span, known, passed=until_now(span, house.now))

    rows = do("revenue servers", config, by_api, locally)
    for row in rows:
        row |= {name: plain(row[name]) for name in ("amount", "formula", "difference")}
    typer.echo(json.dumps(rows) if as_json else "\n".join(map(_line, rows)))
    footnote(UNITS, REVENUE, LEDGER, window=span)


def _line(row: dict[str, Any]) -> str:
    ratio = row["hit_ratio"]
    return (
        f"{row['node_id'] or 'no node'}  {row['stage']}  requests {row['requests']:,}  "
        f"T {row['input_tokens_per_second']:,.1f}  r {'—' if ratio is None else f'{ratio:.1%}'}  "
        f"out {row['output_tokens_per_second']:,.1f} tok/s  ledger {row['amount']}  "
        f"formula {row['formula']}  difference {row['difference']} {row['currency']}"
    )
