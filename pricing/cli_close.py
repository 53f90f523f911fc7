"""`tokentill close`: a month of every tenant, once."""

import json
from typing import Annotated, Any

import typer

from metering.windows import parse_month
from pricing.api.invoice_shapes import closed
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do
from pricing.cli_progress import progress_bar
from pricing.close_checks import Acceptance
from pricing.ledger.tenants import zone
from pricing.runs.close import CloseOrder, close_month


def register(app: typer.Typer) -> None:
    """Add `close` to `app`."""
    app.command()(close)


def close(
    month: Annotated[str, typer.Argument(help="YYYY-MM.")],
    *,
    tenant: Annotated[list[str] | None, typer.Option(help="Only this tenant; repeatable.")] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(help="A blocker by the name that was printed; repeatable, with --reason."),
    ] = None,
    reason: Annotated[str, typer.Option(help="Why; the audit log keeps it.")] = "",
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Close a month: drafts for all tenants that nothing holds up, and what holds up the rest.

    A second run makes nothing and says so. Exit 1 while a tenant is left.

    Example: tokentill close 2026-10 --accept node:p01 --reason "p01 burnt down on 10-28"
    """
    body: dict[str, Any] = {
        "month": month,
        "accept": accept or [],
        "reason": reason,
        "tenants": tenant or None,
    }

    def locally(house: LocalHouse) -> Any:
        order = CloseOrder(
            month=parse_month(month),
            accepted=Acceptance(names=frozenset(accept or ()), reason=reason),
            tenants=frozenset(tenant) if tenant else None,
            house_zone=zone(house.settings.jobs.zone),
        )
        house.settle()
        report = close_month(house.cursor, house.ledger, order, now=house.now, progress=advance)
        return closed(report).model_dump(mode="json")

    with progress_bar("Closing", "tenants") as advance:
        report = do("close", config, lambda client: client.post("/v1/close", body), locally)
    if as_json:
        typer.echo(json.dumps(report))
    else:
        _show(report)
    if not report["is_done"]:
        raise typer.Exit(1)


def _show(report: dict[str, Any]) -> None:
    for tenant in report["tenants"]:
        words = tenant["outcome"].replace("_", " ")
        made = [
            f"{each['number']} {each['net_amount']} {each['currency']}"
            for each in tenant["documents"]
        ]
        typer.echo(f"{tenant['tenant_id']:<24} {words:<15} {', '.join(made)}".rstrip())
        for blocker in tenant["blockers"]:
            what = f"{blocker['count']} {blocker['reason'] or blocker['kind']}"
            typer.echo(f"    {blocker['name']}: {what}. {blocker['remedy']}")
    for left in report["not_invoiced"]:
        amount = "unknown" if left["amount_max"] is None else left["amount_max"]
        whose = left["tenant_id"] or "nobody"
        typer.echo(
            f"not invoiced: {whose}, {left['reason']}: {left['requests']} requests, "
            f"{amount} {left['currency'] or ''}".rstrip(),
            err=True,
        )
