"""/v1/invoices: documents of the close, their states, their bytes and what an auditor checks."""

from collections.abc import Callable
from datetime import date
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from metering.windows import parse_month
from pricing.api.call import Call, may
from pricing.api.invoice_shapes import (
    CheckShown,
    InvoiceLineRow,
    InvoiceShown,
    InvoiceWhole,
    Month,
    PaymentAsked,
    Reasoned,
    VerifyShown,
    shown,
    whole,
)
from pricing.api.listing import ledger_list
from pricing.api.openapi import CREATES
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, has_already, one
from pricing.api.shapes import Id, Listing
from pricing.ledger.connect import Change
from pricing.ledger.corrections import credit, void
from pricing.ledger.invoice_tables import PaymentState
from pricing.ledger.invoices import (
    Invoice,
    check_reason,
    get_invoice,
    lines_of,
    list_invoices,
    page_of_lines,
    set_payment,
)
from pricing.ledger.rows import Page
from pricing.runs.issue import document_of, issue
from pricing.runs.verify import verify_invoice

router = APIRouter(tags=["invoices"])
Reading = Annotated[Call, may("invoices:read")]
Writing = Annotated[Call, may("invoices:write")]
BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}}
}


class InvoicesAsked(BaseModel):
    """Which documents."""

    month: Month | None = None
    tenant_id: Id | None = None


@router.get(
    "/v1/invoices",
    summary="List invoices",
    response_model=Listing[InvoiceShown],
    responses=LIST_CONTENT,
)
def get_invoices(
    call: Reading, paging: Paged, *, asked: Annotated[InvoicesAsked, Query()]
) -> Response:
    """Documents by number; a tenant's key sees what was issued to it."""
    scope = call.scope(asked.tenant_id)
    month = None if asked.month is None else parse_month(asked.month)

    def rows(at: Connection, page: Page) -> list[dict[str, Any]]:
        found = list_invoices(at, scope, month=month, page=page)
        return [shown(row, _today(call, row)) for row in found]

    return ledger_list(call, InvoiceShown, paging, rows, number=str)


@router.get("/v1/invoices/{number}", summary="Read an invoice", response_model=InvoiceWhole)
def get_one_invoice(call: Reading, number: Id) -> Response:
    """A document with its lines and the breakdown by project and cost centre."""
    with call.ledger() as connection:
        found = get_invoice(connection, call.scope(), number)
        lines = lines_of(connection, number)
    return one(call.request, whole(found, lines, _today(call, found)))


@router.get(
    "/v1/invoices/{number}/lines",
    summary="List the lines of an invoice",
    response_model=Listing[InvoiceLineRow],
    responses=LIST_CONTENT,
)
def get_lines(call: Reading, number: Id, *, paging: Paged) -> Response:
    """Lines by position: a document may have more of them than one answer should hold."""
    scope = call.scope()

    def rows(at: Connection, page: Page) -> list[dict[str, Any]]:
        get_invoice(at, scope, number)
        return page_of_lines(at, number, page)

    return ledger_list(call, InvoiceLineRow, paging, rows, position=int)


@router.get(
    "/v1/invoices/{number}/verification", summary="Verify an invoice", response_model=VerifyShown
)
def get_verification(call: Reading, number: Id) -> Response:
    """Derives it again from requests and legs, and checks hashes, chain and issued bytes."""
    scope = call.scope()
    with call.ledger() as connection:
        get_invoice(connection, scope, number)
        checks = call.usage(lambda cursor: verify_invoice(cursor, connection, scope, number))
    rows = [CheckShown.model_validate(check) for check in checks]
    is_whole = not any(row.faults for row in rows)
    return one(call.request, VerifyShown(number=number, is_whole=is_whole, checks=rows))


@router.get(
    "/v1/invoices/{number}/documents/{format_}",
    summary="Read an invoice's document",
    response_class=Response,
    responses=BYTES,
)
def get_document(call: Reading, number: Id, format_: Id) -> Response:
    """pdf, xlsx, csv, parquet, jsonl or focus: a re-print gives the bytes that were issued."""
    kept = document_of(
        call.services.ledger,
        call.scope(),
        number,
        format_=format_,
        actor=call.principal.key_id,
        at=call.at,
    )
    tag = f'"{kept.sha256}"'
    if has_already(call.request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    suffix = "focus.csv" if format_ == "focus" else format_
    headers = {
        "Content-Disposition": f'attachment; filename="{number}.{suffix}"',
        "ETag": tag,
    }
    return Response(kept.body, 200, headers, media_type=kept.media_type)


@router.post("/v1/invoices/{number}/issue", summary="Issue an invoice", response_model=InvoiceShown)
def post_issue(call: Writing, number: Id) -> Response:
    """Draft to final, for good; PDF, XLSX and CSV are made and kept."""
    found = issue(call.services.ledger, number, actor=call.principal.key_id, at=call.at)
    return _answer(call, found)


@router.post(
    "/v1/invoices/{number}/void",
    summary="Void a draft",
    response_model=InvoiceShown,
    openapi_extra={CREATES: True},
)
def post_void(call: Writing, number: Id, asked: Reasoned) -> Response:
    """Its number stays used. again: the same lines with the parties and the tax of today."""
    return _made(call, asked, partial(void, number=number))


@router.post(
    "/v1/invoices/{number}/credit",
    summary="Cancel an invoice",
    response_model=InvoiceShown,
    openapi_extra={CREATES: True},
)
def post_credit(call: Writing, number: Id, asked: Reasoned) -> Response:
    """A credit note, final at once: together they are 0. again: a new draft in its place."""
    return _made(call, asked, partial(credit, number=number))


@router.post("/v1/invoices/{number}/payment", summary="Note a payment", response_model=InvoiceShown)
def post_payment(call: Writing, number: Id, asked: PaymentAsked) -> Response:
    """Paid, written off, or open after all; no money moves here."""
    with call.change() as change:
        state = PaymentState(asked.state)
        found = set_payment(change, number, state, reason=check_reason(asked.reason))
    return _answer(call, found)


def _made(call: Call, asked: Reasoned, make: Callable[..., Invoice]) -> Response:
    def made(change: Change) -> InvoiceShown:
        found = make(change, reason=asked.reason, again=asked.again)
        return InvoiceShown(**shown(found, _today(call, found)))

    return call.created(made, asked, status=HTTPStatus.OK)


def _answer(call: Call, found: Invoice) -> Response:
    return one(call.request, InvoiceShown(**shown(found, _today(call, found))))


def _today(call: Call, found: Invoice) -> date:
    return call.at.astimezone(ZoneInfo(found.billing_zone)).date()
