"""`tokentill invoice`: documents of the close, their states, their bytes and their proof."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import typer

from metering.windows import parse_month
from pricing.api.invoice_shapes import CheckShown, InvoiceShown, VerifyShown, shown, whole
from pricing.cli_local import LISTED_MAX, AsJson, ConfigFile, LocalHouse, do, every_page, plain
from pricing.client import Client
from pricing.ledger.connect import Change
from pricing.ledger.corrections import credit as credit_document
from pricing.ledger.corrections import void as void_document
from pricing.ledger.invoice_tables import PaymentState
from pricing.ledger.invoices import (
    Invoice,
    check_reason,
    get_invoice,
    lines_of,
    list_invoices,
    set_payment,
)
from pricing.ledger.rows import Page
from pricing.runs.issue import document_of
from pricing.runs.issue import issue as issue_document
from pricing.runs.verify import verify_invoice
from pricing.scope import Scope

ACTOR = "tokentill invoice"
HOUSE = Scope.house()
Number = Annotated[str, typer.Argument(help="Number of the document.")]
Reason = Annotated[str, typer.Option(help="Why; the audit log keeps it.")]
Again = Annotated[bool, typer.Option("--again", help="Make it anew with the data of today.")]
app = typer.Typer(no_args_is_help=True, epilog="Example: tokentill invoice list")


def register(parent: typer.Typer) -> None:
    """Add `invoice` to `parent`."""
    parent.add_typer(app, name="invoice", help="Invoices, statements and credit notes.")


@app.command("list")
def list_(
    month: Annotated[str | None, typer.Option(help="YYYY-MM.")] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """List documents.

    Example: tokentill invoice list --month 2026-10
    """

    def by_api(client: Client) -> Any:
        return every_page(client, "/v1/invoices", month=month)

    def locally(house: LocalHouse) -> Any:
        of_month = None if month is None else parse_month(month)
        with house.ledger.read() as connection:
            rows = list_invoices(connection, HOUSE, month=of_month, page=Page(LISTED_MAX))
        return [plain(InvoiceShown(**shown(row, _today(house, row)))) for row in rows]

    for each in _print(do("invoice list", config, by_api, locally), as_json=as_json):
        typer.echo(_row(each))


@app.command()
def show(number: Number, as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Show a document with its lines.

    Example: tokentill invoice show INV-000001
    """

    def locally(house: LocalHouse) -> Any:
        with house.ledger.read() as connection:
            found = get_invoice(connection, HOUSE, number)
            lines = lines_of(connection, number)
        return plain(whole(found, lines, _today(house, found)))

    found = do("invoice show", config, lambda client: client.get(_path(number)), locally)
    for each in _print(found, as_json=as_json):
        typer.echo(_row(each))
        for position, line in enumerate(each["lines"], start=1):
            what = f"{line['model_id'] or ''} {line['line'] or ''} {line['kind']}".strip()
            price = line["unit_price"] or ""
            typer.echo(
                f"{position:>5}  {what:<48} {line['tokens']:>18,} {price:>12} "
                f"{line['rounded_amount']:>14}"
            )


@app.command()
def verify(number: Number, as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Derive a document again from requests and legs, and check hashes, chain and bytes.

    Exit 1 if anything is not as it was.

    Example: tokentill invoice verify INV-000001
    """

    def locally(house: LocalHouse) -> Any:
        with house.ledger.read() as connection:
            checks = verify_invoice(house.cursor, connection, HOUSE, number)
        rows = [CheckShown.model_validate(each) for each in checks]
        is_whole = not any(row.faults for row in rows)
        return plain(VerifyShown(number=number, is_whole=is_whole, checks=rows))

    path = f"{_path(number)}/verification"
    found = do("invoice verify", config, lambda client: client.get(path), locally)
    if as_json:
        typer.echo(json.dumps(found))
    else:
        for check in found["checks"]:
            typer.echo(f"{'✗' if check['faults'] else '✓'} {check['name']}")
            for fault in check["faults"]:
                typer.echo(f"    {fault}")
    if not found["is_whole"]:
        raise typer.Exit(1)


@app.command()
def issue(
    number: Annotated[list[str], typer.Argument(help="Numbers of drafts.")],
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Make drafts final, for good; their PDF, XLSX and CSV are made and kept.

    Example: tokentill invoice issue INV-000001 INV-000002
    """

    def by_api(client: Client) -> Any:
        return [client.post(f"{_path(each)}/issue", {}) for each in number]

    def locally(house: LocalHouse) -> Any:
        return [
            _shown(house, issue_document(house.ledger, each, actor=ACTOR, at=house.now))
            for each in number
        ]

    for each in _print(do("invoice issue", config, by_api, locally), as_json=as_json):
        typer.echo(_row(each))


@app.command()
def document(
    number: Number,
    out: Annotated[Path, typer.Option(help="File to write.")],
    format_: Annotated[
        str, typer.Option("--format", help="pdf, xlsx, csv, parquet, jsonl or focus.")
    ] = "pdf",
    config: ConfigFile = None,
) -> None:
    """Write a document into a file; a final one gives the bytes that were issued.

    Example: tokentill invoice document INV-000001 --format pdf --out INV-000001.pdf
    """

    def locally(house: LocalHouse) -> bytes:
        return document_of(
            house.ledger, HOUSE, number, format_=format_, actor=ACTOR, at=house.now
        ).body

    path = f"{_path(number)}/documents/{quote(format_, safe='')}"
    out.write_bytes(do("invoice document", config, lambda client: client.get_bytes(path), locally))
    typer.echo(str(out))


@app.command()
def void(number: Number, reason: Reason, again: Again = False, config: ConfigFile = None) -> None:
    """Void a draft; its number stays used.

    Example: tokentill invoice void INV-000001 --reason "tax rate was missing" --again
    """
    body = {"reason": reason, "again": again}
    _change(
        "void",
        number,
        body,
        config,
        lambda change: void_document(change, number, reason=reason, again=again),
    )


@app.command()
def credit(number: Number, reason: Reason, again: Again = False, config: ConfigFile = None) -> None:
    """Cancel a final document by a credit note: together they are 0.

    Example: tokentill invoice credit INV-000001 --reason "wrong buyer" --again
    """
    body = {"reason": reason, "again": again}
    _change(
        "credit",
        number,
        body,
        config,
        lambda change: credit_document(change, number, reason=reason, again=again),
    )


@app.command()
def pay(
    number: Number,
    reason: Reason,
    state: Annotated[PaymentState, typer.Option(help="What is known.")] = PaymentState.PAID,
    config: ConfigFile = None,
) -> None:
    """Note that an invoice was paid, written off, or is open after all.

    Example: tokentill invoice pay INV-000001 --reason "bank statement of 11-12"
    """
    body = {"reason": reason, "state": str(state)}
    _change(
        "payment",
        number,
        body,
        config,
        lambda change: set_payment(change, number, state, reason=check_reason(reason)),
    )


def _change(
    what: str,
    number: str,
    body: dict[str, Any],
    config: Path | None,
    make: Callable[[Change], Invoice],
) -> None:
    def locally(house: LocalHouse) -> Any:
        with house.ledger.write(actor=ACTOR, at=house.now) as change:
            found = make(change)
        return _shown(house, found)

    made = do(
        f"invoice {what}",
        config,
        lambda client: client.post(f"{_path(number)}/{what}", body),
        locally,
    )
    typer.echo(_row(made))


def _print(found: Any, *, as_json: bool) -> list[dict[str, Any]]:
    """Prints JSON if it was asked for; returns what is left to print for a person."""
    if as_json:
        typer.echo(json.dumps(found))
        return []
    return found if isinstance(found, list) else [found]


def _row(found: dict[str, Any]) -> str:
    payment = found["payment"] if found["state"] == "final" and found["kind"] == "invoice" else ""
    words = (found["kind"].replace("_", " "), found["state"], payment)
    return (
        f"{found['number']:<14} {found['month'][:7]}  {found['tenant_id']:<24} "
        f"{found['gross_amount']:>14} {found['currency']}  {' '.join(filter(None, words))}"
    )


def _path(number: str) -> str:
    return f"/v1/invoices/{quote(number, safe='')}"


def _shown(house: LocalHouse, found: Invoice) -> Any:
    return plain(InvoiceShown(**shown(found, _today(house, found))))


def _today(house: LocalHouse, found: Invoice) -> date:
    return house.now.astimezone(ZoneInfo(found.billing_zone)).date()
