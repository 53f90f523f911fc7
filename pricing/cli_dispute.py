"""`tokentill dispute`: lines that a tenant does not accept, and what was decided."""

from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import quote
from uuid import uuid4

import typer

from pricing.api.invoice_shapes import DisputeShown
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do, listed, plain, show
from pricing.client import Client
from pricing.ledger.disputes import Asked, decide_dispute, list_disputes, open_dispute
from pricing.money import decimal_from_text
from pricing.scope import Scope

ACTOR = "tokentill dispute"
COLUMNS = ("dispute_id", "tenant_id", "number", "position", "amount", "state", "credited_amount")
Reason = Annotated[str, typer.Option(help="Why; the audit log keeps it.")]
app = typer.Typer(no_args_is_help=True, epilog="Example: tokentill dispute list")


def _amount(text: str) -> Decimal:
    try:
        return decimal_from_text(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Amount = Annotated[Decimal, typer.Option(parser=_amount, metavar="AMOUNT")]


def register(parent: typer.Typer) -> None:
    """Add `dispute` to `parent`."""
    parent.add_typer(app, name="dispute", help="Lines that a tenant does not accept.")


@app.command("list")
def list_(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List disputes: what is asked back, the state, what was credited.

    Example: tokentill dispute list
    """
    found = listed(
        "dispute list",
        config,
        path="/v1/disputes",
        shape=DisputeShown,
        read=lambda connection, page: list_disputes(connection, Scope.house(), page),
    )
    show(found, as_json=as_json, columns=COLUMNS)


@app.command("open")
def open_(
    number: Annotated[str, typer.Argument(help="Number of a final invoice.")],
    position: Annotated[int, typer.Argument(min=1, help="Its line.")],
    *,
    amount: Amount,
    reason: Reason,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Open a dispute on a line: at most its own amount, in whole minor units.

    Example: tokentill dispute open INV-000001 2 --amount 12.50 --reason "outage on 10-12"
    """
    asked = Asked(number=number, position=position, amount=amount, reason=reason)

    def by_api(client: Client) -> Any:
        body = {"number": number, "position": position, "amount": str(amount), "reason": reason}
        return client.post("/v1/disputes", body)

    def locally(house: LocalHouse) -> Any:
        with house.ledger.write(actor=ACTOR, at=house.now) as change:
            found = open_dispute(change, Scope.house(), asked, dispute_id=uuid4())
        return plain(DisputeShown.model_validate(found))

    show(do("dispute open", config, by_api, locally), as_json=as_json, columns=COLUMNS)


@app.command()
def decide(
    dispute_id: Annotated[str, typer.Argument(help="As `tokentill dispute list` prints it.")],
    *,
    credit: Annotated[
        Decimal | None,
        typer.Option(parser=_amount, metavar="AMOUNT", help="Given back; left out: rejected."),
    ] = None,
    reason: Reason,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Credit a dispute with an amount, which is a line of the next invoice, or reject it.

    Example: tokentill dispute decide 0b0e3c9a-… --credit 12.50 --reason "agreed on the phone"
    """

    def by_api(client: Client) -> Any:
        body = {"credited": None if credit is None else str(credit), "reason": reason}
        return client.post(f"/v1/disputes/{quote(dispute_id, safe='')}/decisions", body)

    def locally(house: LocalHouse) -> Any:
        with house.ledger.write(actor=ACTOR, at=house.now) as change:
            found = decide_dispute(change, dispute_id, credited=credit, reason=reason)
        return plain(DisputeShown.model_validate(found))

    show(do("dispute decide", config, by_api, locally), as_json=as_json, columns=COLUMNS)
