"""Documents of the close: made with their number and chain link, then only their state moves."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Select, insert, select

from metering.windows import Window
from pricing.errors import Conflict, RequestInvalid
from pricing.invoices import (
    LINE_FIELDS,
    AnnexRow,
    Digest,
    InvoiceLine,
    credit_lines,
    line_content,
    line_row,
    sha256_of,
    totals,
)
from pricing.ledger.closes import Begun
from pricing.ledger.connect import Change
from pricing.ledger.invoice_tables import (
    DocumentKind,
    InvoiceState,
    PaymentState,
    invoice,
    invoice_line,
)
from pricing.ledger.issuers import (
    HOUSE,
    BillingProfile,
    append_link,
    find_profile,
    issuer_for,
    take_number,
)
from pricing.ledger.rows import Page, all_of, fetch_one, fetch_page
from pricing.ledger.tables import TenantKind
from pricing.ledger.tenants import Tenant
from pricing.money import plain
from pricing.scope import Scope

MOVING: Final = frozenset(  # what may change after a document was made; all else is in its hash
    {"state", "issued_at", "due_on", "payment_state", "paid_at", "content_sha256"}
)
BUYER: Final = (
    *("legal_name", "tax_id", "address", "phone", "email", "bank_name", "bank_account"),
    "country",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """A document. Amounts in `currency`; month in billing_zone, [start_at, end_at) in UTC.

    seller, buyer and annex are as they were when it was made.
    """

    number: str
    kind: str
    issuer_id: str
    tenant_id: str
    month: date
    billing_zone: str
    start_at: datetime
    end_at: datetime
    currency: str
    state: str
    made_at: datetime
    issued_at: datetime | None
    due_on: date | None
    tax_rate: Decimal
    tax_place: str | None
    exact_amount: Decimal
    net_amount: Decimal
    rounding_amount: Decimal
    tax_amount: Decimal
    gross_amount: Decimal
    settle_mark: int
    adjusted_after_mark: int
    digest_requests: int
    digest_1: Decimal
    digest_2: Decimal
    digest_3: Decimal
    digest_4: Decimal
    seller: dict[str, Any]
    buyer: dict[str, Any]
    annex: list[dict[str, Any]]
    content_sha256: str
    corrects_number: str | None
    reason: str | None
    payment_state: str
    paid_at: datetime | None

    @property
    def digest(self) -> Digest:
        """The fingerprint of its requests."""
        words = (self.digest_1, self.digest_2, self.digest_3, self.digest_4)
        first, second, third, fourth = (int(word) for word in words)
        return Digest(requests=self.digest_requests, words=(first, second, third, fourth))


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a new document says."""

    tenant: Tenant
    window: Window
    currency: str
    begun: Begun
    lines: Sequence[InvoiceLine]
    annex: Sequence[AnnexRow]
    digest: Digest


def make_invoice(change: Change, contents: Contents) -> Invoice:
    """Make the draft of a closed month: number, lines and chain link, in the change at hand."""
    tenant = contents.tenant
    profile = find_profile(change.connection, tenant.tenant_id) or BillingProfile(
        tenant_id=tenant.tenant_id
    )
    is_internal = tenant.kind == TenantKind.INTERNAL
    kind = DocumentKind.STATEMENT if is_internal else DocumentKind.INVOICE
    tax_rate = Decimal(0) if is_internal else profile.tax_rate
    seller = asdict(issuer_for(change, profile.issuer_id))
    buyer = {name: getattr(profile, name) for name in BUYER}
    digest = contents.digest
    row: dict[str, Any] = {
        "kind": kind,
        "issuer_id": profile.issuer_id,
        "tenant_id": tenant.tenant_id,
        "month": contents.begun.month,
        "billing_zone": tenant.billing_zone,
        "start_at": contents.window.start_at,
        "end_at": contents.window.end_at,
        "currency": contents.currency,
        "tax_rate": tax_rate,
        "tax_place": profile.tax_place,
        "settle_mark": contents.begun.settle_mark,
        "adjusted_after_mark": contents.begun.adjusted_after_mark,
        "digest_requests": digest.requests,
        **{f"digest_{n}": Decimal(word) for n, word in enumerate(digest.words, start=1)},
        "seller": {name: value for name, value in seller.items() if name != "created_at"},
        "buyer": buyer
        | {
            "legal_name": profile.legal_name or tenant.legal_name or tenant.name,
            "language": profile.language,
            "payment_days": profile.payment_days,
        },
        "annex": [asdict(each) | {"amount": plain(each.amount)} for each in contents.annex],
        "corrects_number": None,
        "reason": None,
    }
    return _add(change, row, contents.lines)


def issue_invoice(change: Change, number: str) -> Invoice:
    """Make a draft final; a final one stays as it is. Its due day counts from today in its zone."""
    old = get_invoice(change.connection, Scope.house(), number)
    if old.state in (InvoiceState.FINAL, InvoiceState.CREDITED):
        return old
    _expect(old, InvoiceState.DRAFT, "issued")
    today = change.at.astimezone(ZoneInfo(old.billing_zone)).date()
    due_on = today + timedelta(days=int(old.buyer["payment_days"]))
    moved = {"state": InvoiceState.FINAL, "issued_at": change.at, "due_on": due_on}
    return _move(change, old, "issued", moved)


def void_invoice(change: Change, number: str, *, reason: str, again: bool) -> Invoice:
    """Void a draft; its number stays used. again: make it anew with the data of today.

    Returns the voided one, or the new draft. Raises Conflict for a final one.
    """
    old = get_invoice(change.connection, Scope.house(), number)
    _expect(old, InvoiceState.DRAFT, "voided")
    voided = _move(change, old, "voided", {"state": InvoiceState.VOID}, reason)
    return _again(change, old) if again else voided


def credit_invoice(change: Change, number: str, *, reason: str, again: bool) -> Invoice:
    """Cancel a final document by a credit note, which is final at once: together they are 0.

    Returns the credit note, or with `again` the new draft in the place of the cancelled one.
    """
    old = get_invoice(change.connection, Scope.house(), number)
    _expect(old, InvoiceState.FINAL, "credited")
    if old.kind == DocumentKind.CREDIT_NOTE:
        raise Conflict(f"{number} is a credit note itself.", remedy="Make the invoice anew.")
    lines = credit_lines(lines_of(change.connection, number), number=number, reason=reason)
    row = {name: value for name, value in _row(old).items() if name not in {*MOVING, "number"}}
    row |= {"kind": DocumentKind.CREDIT_NOTE, "corrects_number": number, "reason": reason}
    row |= {"digest_requests": -old.digest_requests, "annex": _negated(old.annex)}
    row |= {f"digest_{n}": getattr(old, f"digest_{n}").copy_negate() + 0 for n in range(1, 5)}
    note = issue_invoice(change, _add(change, row, lines).number)
    _move(change, old, "credited", {"state": InvoiceState.CREDITED}, reason)
    return _again(change, old) if again else note


def set_payment(change: Change, number: str, state: PaymentState, *, reason: str) -> Invoice:
    """Note that a final invoice was paid, written off, or is open after all."""
    old = get_invoice(change.connection, Scope.house(), number)
    _expect(old, InvoiceState.FINAL, "paid or written off")
    paid_at = change.at if state == PaymentState.PAID else None
    return _move(change, old, state, {"payment_state": state, "paid_at": paid_at}, reason)


def get_invoice(connection: Connection, scope: Scope, number: str) -> Invoice:
    """One document. Raises NotFound, also for one outside `scope`, and for a tenant's draft."""
    query = _shown_to(scope).where(invoice.c.number == number)
    return fetch_one(connection, query, Invoice, what=f"document {number!r}")


def list_invoices(
    connection: Connection, scope: Scope, *, month: date | None, page: Page
) -> list[Invoice]:
    """Documents by number; a tenant sees no drafts. month: only those of this month."""
    query = _shown_to(scope)
    if month is not None:
        query = query.where(invoice.c.month == month)
    return fetch_page(connection, query, Invoice, by=[invoice.c.number], page=page)


def _shown_to(scope: Scope) -> Select[Any]:
    """Documents inside `scope`; a tenant sees those that were issued to it."""
    query = all_of(invoice, scope)
    if scope.every_tenant:
        return query
    return query.where(invoice.c.state.in_([InvoiceState.FINAL, InvoiceState.CREDITED]))


def invoices_of(connection: Connection, tenant_id: str, month: date) -> list[Invoice]:
    """Every document of a tenant's month, by number."""
    query = all_of(invoice, Scope.house()).where(
        invoice.c.tenant_id == tenant_id, invoice.c.month == month
    )
    rows = connection.execute(query.order_by(invoice.c.number)).mappings()
    return [Invoice(**row) for row in rows]


def numbers_of(connection: Connection, issuer_id: str) -> list[str]:
    """Numbers of every document of an issuer, in order."""
    query = select(invoice.c.number).where(invoice.c.issuer_id == issuer_id)
    return list(connection.execute(query.order_by(invoice.c.number)).scalars())


def lines_of(connection: Connection, number: str) -> list[InvoiceLine]:
    """The lines of a document, by position."""
    columns = [invoice_line.c[name] for name in LINE_FIELDS]
    query = select(*columns).where(invoice_line.c.number == number)
    rows = connection.execute(query.order_by(invoice_line.c.position)).mappings()
    return [InvoiceLine(**row) for row in rows]


def page_of_lines(connection: Connection, number: str, page: Page) -> list[dict[str, Any]]:
    """Lines of a document with their positions, a page of them."""
    query = select(invoice_line).where(invoice_line.c.number == number)
    return fetch_page(connection, query, dict, by=[invoice_line.c.position], page=page)


def content_sha256(found: Invoice, lines: Sequence[InvoiceLine]) -> str:
    """SHA-256 of all that never changes of a document."""
    kept = {name: value for name, value in _row(found).items() if name not in MOVING}
    return sha256_of({"document": kept, "lines": [line_content(line) for line in lines]})


def _add(change: Change, row: dict[str, Any], lines: Sequence[InvoiceLine]) -> Invoice:
    sums = totals(lines, row["currency"], row["tax_rate"])
    made = Invoice(
        **row
        | {
            "number": take_number(change, row["issuer_id"], row["kind"]),
            "made_at": change.at,
            "state": InvoiceState.DRAFT,
            "payment_state": PaymentState.OPEN,
            **dict.fromkeys(("issued_at", "due_on", "paid_at")),
            "content_sha256": "",
            **{f"{name}_amount": value for name, value in asdict(sums).items()},
        }
    )
    digest = content_sha256(made, lines)
    change.insert(invoice, _row(made) | {"content_sha256": digest})
    rows = [
        line_row(line) | {"number": made.number, "position": position}
        for position, line in enumerate(lines, start=1)
    ]
    if rows:
        change.connection.execute(insert(invoice_line), rows)
    append_link(change, made.issuer_id, "made", subject=made.number, content_sha256=digest)
    return get_invoice(change.connection, Scope.house(), made.number)


def _move(
    change: Change, old: Invoice, event: str, moved: dict[str, Any], reason: str | None = None
) -> Invoice:
    """Change the state of a document, and say so in its issuer's chain."""
    new = Invoice(**change.update(invoice, {"number": old.number}, moved))
    content = {name: getattr(new, name) for name in sorted(MOVING)}
    append_link(
        change,
        old.issuer_id,
        event,
        subject=old.number,
        content_sha256=sha256_of(content | {"reason": reason}),
    )
    return new


def _again(change: Change, old: Invoice) -> Invoice:
    """The same lines once more, with seller, buyer and tax as they are now."""
    profile = find_profile(change.connection, old.tenant_id)
    row = {name: value for name, value in _row(old).items() if name not in {*MOVING, "number"}}
    row["issuer_id"] = profile.issuer_id if profile else HOUSE
    seller = asdict(issuer_for(change, row["issuer_id"]))
    row["seller"] = {name: value for name, value in seller.items() if name != "created_at"}
    if profile is not None:
        given = {name: getattr(profile, name) for name in (*BUYER, "language", "payment_days")}
        given["legal_name"] = profile.legal_name or old.buyer["legal_name"]
        row |= {"buyer": given, "tax_place": profile.tax_place}
        row["tax_rate"] = row["tax_rate"] if old.kind == "statement" else profile.tax_rate
    return _add(change, row, lines_of(change.connection, old.number))


def _row(found: Invoice) -> dict[str, Any]:
    """Field → value, without copies of what is inside."""
    return {each.name: getattr(found, each.name) for each in fields(Invoice)}


def _negated(annex: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        each
        | {"tokens": -each["tokens"], "amount": plain(Decimal(each["amount"]).copy_negate() + 0)}
        for each in annex
    ]


def _expect(found: Invoice, state: str, done: str) -> None:
    if found.state != state:
        raise Conflict(
            f"{found.number} is {found.state}; only a {state} document can be {done}.",
            remedy="A final document is corrected by a credit note, a draft can be voided.",
        )


def payment_of(found: Invoice, today: date) -> str:
    """open, paid, written_off, or overdue: open after its due day."""
    is_open = found.payment_state == PaymentState.OPEN and found.state == InvoiceState.FINAL
    is_late = is_open and found.due_on is not None and found.due_on < today
    return "overdue" if is_late else found.payment_state


def check_reason(reason: str) -> str:
    """A reason that says something."""
    if not reason.strip():
        raise RequestInvalid("A reason is needed.", remedy="Say why; the audit log keeps it.")
    return reason
