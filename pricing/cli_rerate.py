"""`tokentill rerate`: a closed month at the prices now in force, corrected on later invoices."""

import json
from typing import Annotated, Any

import typer

from metering.windows import parse_month
from pricing.api.rerate_shapes import RerateAsked, rerated
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do, plain
from pricing.cli_progress import Advance, progress_bar
from pricing.runs.rerate import RerateOrder, rerate_month


def register(app: typer.Typer) -> None:
    """Add `rerate` to `app`."""
    app.command()(rerate)


def rerate(
    month: Annotated[str, typer.Argument(help="YYYY-MM.")],
    *,
    reason: Annotated[str, typer.Option(help="Why; it stands on the invoices that correct it.")],
    tenant: Annotated[list[str] | None, typer.Option(help="Only this tenant; repeatable.")] = None,
    policies: Annotated[
        bool, typer.Option("--policies", help="Decide anew what policies decide.")
    ] = False,
    trial: Annotated[bool, typer.Option("--trial", help="Say it, and change nothing.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Rate a closed month by the books now in force; the difference goes on the next invoices.

    Its documents stay. Prints what changes by tenant, in money. A second run adds nothing.

    Example: tokentill rerate 2026-10 --reason "list of 10-01 came on 11-03" --trial
    """
    body: dict[str, Any] = {
        "month": month,
        "reason": reason,
        "tenants": tenant or None,
        "policies": policies,
        "trial": trial,
    }
    with progress_bar("Rating anew", "days") as advance:
        found = do(
            "rerate",
            config,
            lambda client: client.post("/v1/rerates", body),
            lambda house: _locally(house, RerateAsked(**body), advance),
        )
    if as_json:
        typer.echo(json.dumps(found))
        return
    for each in found["items"]:
        amounts = (each["amount_before"], each["amount_after"], each["difference"])
        typer.echo("\t".join((each["tenant_id"], each["currency"] or "-", *amounts)))
    if not found["items"]:
        typer.echo("Nothing changes.", err=True)


def _locally(house: LocalHouse, asked: RerateAsked, advance: Advance) -> Any:
    order = RerateOrder(
        month=parse_month(asked.month),
        reason=asked.reason,
        tenants=frozenset(asked.tenants) if asked.tenants else None,
        with_policies=asked.policies,
        is_trial=asked.trial,
    )
    house.settle()
    report = rerate_month(
        house.cursor, house.ledger, house.rules(), order, now=house.now, progress=advance
    )
    return plain(rerated(report))
