"""How documents, closes and disputes look on the wire."""

from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, Field, StringConstraints

from pricing.api.shapes import Amount, Currency, DecimalText, Id, Shape, Shown, Text, Time
from pricing.close_report import CloseReport
from pricing.invoices import InvoiceLine
from pricing.ledger.invoices import Invoice, payment_of

Month = Annotated[
    str, StringConstraints(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$"), Field(examples=["2026-10"])
]
Reason = Annotated[Text, Field(examples=["agreed with the tenant on the phone"])]


class LineShown(Shown):
    """One line. unit_price: per million tokens; amount exact, rounded_amount what is owed."""

    kind: str = Field(examples=["usage"])
    service_month: date
    model_id: str | None
    line: str | None = Field(examples=["input"])
    tokens: int
    unit_price: Amount | None
    amount: Amount
    rounded_amount: Amount
    entry: str | None
    context_tier: str | None
    band: str | None
    service_tier: str | None
    region: str | None
    contract: str | None
    corrects_number: str | None
    corrects_position: int | None
    reason: str | None


class InvoiceLineRow(LineShown):
    """One line with its place in the document, by which disputes and corrections name it."""

    position: int


class InvoiceShown(Shown):
    """A document: invoice, statement or credit note. Amounts in `currency`."""

    number: str = Field(examples=["INV-000001"])
    kind: str
    state: str
    issuer_id: str
    tenant_id: Id
    month: date
    billing_zone: str
    start_at: Time
    end_at: Time
    currency: Currency
    made_at: Time
    issued_at: Time | None
    due_on: date | None
    exact_amount: Amount
    rounding_amount: Amount
    net_amount: Amount
    tax_rate: Amount
    tax_place: str | None
    tax_amount: Amount
    gross_amount: Amount
    payment: str = Field(description="open, paid, overdue or written_off")
    paid_at: Time | None
    corrects_number: str | None
    reason: str | None
    content_sha256: str


class InvoiceWhole(InvoiceShown):
    """A document with its lines, its parties and the breakdown by project."""

    lines: list[LineShown]
    annex: list[dict[str, Any]]
    seller: dict[str, Any]
    buyer: dict[str, Any]


class BlockerShown(Shown):
    """What a tenant's month waits for. name: how it is accepted."""

    name: str = Field(examples=["t-alder:unpriced"])
    kind: str
    reason: str | None
    count: int
    currency: str | None
    amount_max: Amount | None
    remedy: str


class MadeShown(Shown):
    """A document of a close."""

    number: str
    kind: str
    currency: Currency
    net_amount: Amount
    exact_amount: Amount


class TenantCloseShown(Shown):
    """How a tenant's month stands: ready, closed, already_closed, blocked or not_ended."""

    tenant_id: Id
    kind: str
    outcome: str
    documents: list[MadeShown]
    blockers: list[BlockerShown]
    accepted: list[BlockerShown]


class NotInvoicedShown(Shown):
    """Usage of the month that no document bills."""

    reason: str
    tenant_id: str | None
    currency: str | None
    requests: int
    amount_min: Amount | None
    amount_max: Amount | None


class CloseState(BaseModel):
    """How the close of a month stands."""

    month: Month
    is_done: bool
    tenants: list[TenantCloseShown]


class CloseShown(CloseState):
    """What a close did and what it left."""

    not_invoiced: list[NotInvoicedShown]


class PreviewShown(CloseState):
    """What a close would find and leave."""

    not_invoiced: list[NotInvoicedShown] | None = Field(
        None, description="null where it was not asked for"
    )


class CloseAsked(Shape):
    """A month to close. accept: names of blockers that no longer block, with the reason."""

    month: Month
    accept: list[Text] = Field([], max_length=1000, examples=[["t-alder:unpriced", "node:p01"]])
    reason: str = Field("", max_length=500)
    tenants: list[Id] | None = Field(None, max_length=10_000)


class Reasoned(Shape):
    """Why; the audit log keeps it. again: make the document anew in the same step."""

    reason: Reason
    again: bool = False


class PaymentAsked(Shape):
    """What is known of the payment."""

    state: str = Field(pattern="^(open|paid|written_off)$", examples=["paid"])
    reason: Reason


class CheckShown(Shown):
    """One check of a document; faults is empty where nothing is wrong."""

    name: str = Field(examples=["legs"])
    faults: list[str]


class VerifyShown(BaseModel):
    """All checks of a document."""

    number: str
    is_whole: bool
    checks: list[CheckShown]


class DisputeShown(Shown):
    """A line that a tenant does not accept."""

    dispute_id: str
    tenant_id: Id
    number: str
    position: int
    amount: Amount
    reason: str
    state: str
    opened_at: Time
    opened_by: str
    decided_at: Time | None
    decided_by: str | None
    decision_reason: str | None
    credited_amount: Amount | None
    credited_on: str | None


class DisputeAsked(Shape):
    """A line of a final invoice, and what is asked back of it."""

    number: Id
    position: int = Field(ge=1)
    amount: DecimalText
    reason: Reason


class DisputeDecision(Shape):
    """credited: what is given back on the next invoice; null: the dispute is rejected."""

    credited: DecimalText | None
    reason: Reason


def shown(found: Invoice, today: date) -> dict[str, Any]:
    """The fields of InvoiceShown; today, in the billing zone, decides whether it is overdue."""
    fields = {name: getattr(found, name) for name in InvoiceShown.model_fields if name != "payment"}
    return fields | {"payment": payment_of(found, today)}


def whole(found: Invoice, lines: list[InvoiceLine], today: date) -> InvoiceWhole:
    """A document with everything in it."""
    more: dict[str, Any] = {"annex": found.annex, "seller": found.seller, "buyer": found.buyer}
    rows = [LineShown.model_validate(line) for line in lines]
    return InvoiceWhole(**shown(found, today), **more, lines=rows)


def previewed(report: CloseReport, *, with_sums: bool) -> PreviewShown:
    """A preview's report. with_sums: whether it says what is not invoiced."""
    shown = closed(report)
    left = {"not_invoiced": shown.not_invoiced if with_sums else None}
    return PreviewShown(**dict(shown) | left)


def closed(report: CloseReport) -> CloseShown:
    """A close's report."""
    return CloseShown(
        month=f"{report.month:%Y-%m}",
        is_done=report.is_done,
        tenants=[TenantCloseShown.model_validate(each) for each in report.tenants],
        not_invoiced=[NotInvoicedShown.model_validate(each) for each in report.not_invoiced],
    )
