"""`tokentill reconcile`: engine counters against legs and requests, the gap by cause."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from metering.windows import Window
from pricing.cli_window import AskedWindow, AskedZone, asked_window
from pricing.client import ApiError, ApiUnreachable, Client
from pricing.errors import ConfigInvalid, PricingError
from pricing.settings import load_settings

ConfigFile = Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")]


def register(app: typer.Typer) -> None:
    """Add `reconcile` to `app`."""
    app.command()(reconcile)


def reconcile(
    window: AskedWindow,
    zone: AskedZone = "UTC",
    by: Annotated[
        list[str] | None, typer.Option(help="hour, model or both: a row for each.")
    ] = None,
    config: ConfigFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; money is text.")] = False,
) -> None:
    """Compare what the engines counted with what was metered and billed; exit 1 beyond tolerance.

    Example: tokentill reconcile 2026-10-03 --zone Asia/Shanghai --by hour --by model
    """
    span = asked_window(window, zone)
    try:
        rows = _rows(span, by or [], config)
    except (PricingError, ApiError, ApiUnreachable, ValueError) as error:
        typer.echo(f"tokentill reconcile: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(json.dumps(rows, default=str) if as_json else _table(rows))
    if any(row["within_tolerance"] is False for row in rows):
        raise typer.Exit(1)


def _rows(span: Window, by: list[str], config: Path | None) -> list[dict[str, Any]]:
    settings = load_settings(config)
    if settings.api.url is None:
        raise ConfigInvalid(
            "reconcile asks a running server.",
            remedy="Set TOKENTILL_API_URL and TOKENTILL_API_KEY.",
        )
    key = settings.api.key.get_secret_value() if settings.api.key else ""
    end = min(span.end_at, datetime.now(UTC))
    with Client(settings.api.url, key) as client:
        asked = {"start_at": span.start_at.isoformat(), "end_at": end.isoformat(), "by": by}
        items: list[dict[str, Any]] = client.get("/v1/reconciliation", **asked)["items"]
        return items


def _table(rows: list[dict[str, Any]]) -> str:
    """One line a server and measure, its causes below it."""
    lines = []
    for row in rows:
        counted = "no counter" if row["counted"] is None else f"{row['counted']:,}"
        gap = "unknown" if row["gap"] is None else f"{row['gap']:,}"
        money = (
            f" ({row['amount_min']}–{row['amount_max']} {row['currency']})"
            if row["currency"]
            else ""
        )
        lines.append(
            f"{_place(row)}  {row['stage']}  {row['measure']}  counted {counted}  "
            f"metered {row['metered']:,}  gap {gap}{money}"
        )
        lines += [f"    {one['cause']}  {one['tokens']:,}" for one in row["explained"]]
    return "\n".join(lines)


def _place(row: dict[str, Any]) -> str:
    """Server, and hour and model where they were asked for."""
    return "  ".join(str(row[n]) for n in ("node_id", "hour_at", "model_id") if row[n] is not None)
