"""`tokentill work`: tenant × server, the work as the engines metered it."""

import json
from typing import Annotated, Any

import typer

from pricing.api.figures import SHARES, about
from pricing.api.routes.chargeback_work import WorkRow
from pricing.api.shapes import Report
from pricing.api.windows import until_now
from pricing.cli_formulas import footnote
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do
from pricing.cli_window import AskedWindow, asked_window
from pricing.client import Client
from pricing.reports.tenant_work import tenant_work
from pricing.scope import Scope

ROUTE = "/v1/chargeback/work"
UNITS = "Tokens; seconds summed over requests that ran side by side"
COLUMNS = (  # title, field, format, width
    ("server", "node_id", "{}", 14),
    ("stage", "stage", "{}", 9),
    ("tenant", "tenant_id", "{}", 14),
    ("legs", "legs", "{:,}", 12),
    ("prefill s", "prefill_seconds", "{:,.1f}", 14),
    ("decode s", "decode_seconds", "{:,.1f}", 14),
    ("work", "work_tokens", "{:,}", 18),
    ("delivered", "delivered_tokens", "{:,}", 18),
    ("failed", "failed_tokens", "{:,}", 16),
    ("waiting", "waiting_tokens", "{:,}", 16),
    ("rest", "rest_tokens", "{:,}", 16),
)
UNKNOWN = "—"


def work(
    window: AskedWindow,
    node: Annotated[str | None, typer.Option(help="One server.")] = None,
    tenant: Annotated[str | None, typer.Option(help="One tenant.")] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Whose work each server did in whole UTC days, and what settlement made of it.

    Example: tokentill work 2026-10 --tenant t-alder
    """
    span = asked_window(window, "UTC")

    def by_api(client: Client) -> Any:
        asked = {"start_at": span.start_at, "end_at": span.end_at}
        return client.get(ROUTE, **asked, node_id=node, tenant_id=tenant)

    def locally(house: LocalHouse) -> Any:
        house.settle()
        found = tenant_work(house.cursor, span, Scope.house().narrowed(tenant))
        items = [WorkRow.model_validate(row) for row in found if node in (None, row.node_id)]
        shown = Report[WorkRow](items=items, **about(WorkRow, until_now(span, house.now)))
        return shown.model_dump(mode="json")

    answer = do("work", config, by_api, locally)
    if as_json:
        rows = answer.pop("items")
        typer.echo(json.dumps({"work": rows, **answer}, ensure_ascii=False, allow_nan=False))
        return
    typer.echo("".join(f"{title:>{width}}" for title, _, _, width in COLUMNS))
    for row in answer["items"]:
        typer.echo("".join(f"{_cell(row[name], form):>{w}}" for _, name, form, w in COLUMNS))
    footnote(UNITS, SHARES, window=span)


def _cell(value: Any, form: str) -> str:
    return UNKNOWN if value is None else form.format(value)


def register(app: typer.Typer) -> None:
    """Add the command `work` to `app`."""
    app.command()(work)
