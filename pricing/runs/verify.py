"""What an auditor can repeat: an invoice derived again from requests and legs, and the chain."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb
from sqlalchemy import Connection

from pricing.hash_chain import Link, faults
from pricing.invoices import Digest, InvoiceLine, PricedSum, set_off, usage_lines
from pricing.ledger.billed_lines import METERED, billed_lines
from pricing.ledger.documents import every_document
from pricing.ledger.invoice_tables import DocumentKind
from pricing.ledger.invoices import Invoice, content_sha256, get_invoice, lines_of, numbers_of
from pricing.ledger.issuers import every_issuer, last_numbers, read_chain
from pricing.line_pointers import CORRECTING, unpointed
from pricing.rating import LINE_PRICES, Lines
from pricing.reports.rows import read_rows
from pricing.runs.close_reads import digest_of, read_prices
from pricing.scope import Scope

LEG_CHECKS: Final = {
    "lacks_leg": "name a leg that is not in the store",
    "has_changed_leg": "name a leg whose content is not what its hash says",
    "has_other_legs": "were settled from other legs",
    "has_other_tokens": "bill other tokens than their legs state",
    "has_other_digest": "have other tokens or prices than their digest says",
}
STATE_EVENTS: Final = {"draft": "made", "void": "voided", "final": "issued", "credited": "credited"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was checked. faults: what was found wrong; empty: nothing."""

    name: str
    faults: Sequence[str] = ()


def verify_invoice(
    cursor: duckdb.DuckDBPyConnection, connection: Connection, scope: Scope, number: str
) -> list[Check]:
    """Every check of one document that `scope` may see. Raises NotFound for any other."""
    found = get_invoice(connection, scope, number)
    lines = lines_of(connection, number)
    chain = read_chain(connection, found.issuer_id)
    checks = [
        Check(name="content", faults=list(_content_faults(found, lines))),
        Check(name="chain", faults=[*faults(chain), *_own_link_faults(found, chain)]),
        Check(name="documents", faults=list(_document_faults(connection, chain, number))),
    ]
    if found.kind != DocumentKind.CREDIT_NOTE:
        faulty = list(_correction_faults(connection, found, lines))
        checks.append(Check(name="corrections", faults=faulty))
        checks += _derived_again(cursor, found, lines)
    return checks


def verify_ledger(connection: Connection) -> list[Check]:
    """Chains, numbers and content of every document: what `doctor` asks of the ledger."""
    wrong: list[str] = []
    for issuer in every_issuer(connection):
        chain = read_chain(connection, issuer.issuer_id)
        wrong += [f"{issuer.issuer_id}: {fault}" for fault in faults(chain)]
        for number in numbers_of(connection, issuer.issuer_id):
            found = get_invoice(connection, Scope.house(), number)
            wrong += _content_faults(found, lines_of(connection, number))
            wrong += _own_link_faults(found, chain)
            wrong += _document_faults(connection, chain, number)
    return [
        Check(name="invoices", faults=wrong),
        Check(name="numbers", faults=list(_number_faults(connection))),
    ]


def _derived_again(
    cursor: duckdb.DuckDBPyConnection, found: Invoice, lines: Sequence[InvoiceLine]
) -> list[Check]:
    asked: dict[str, Any] = {
        "tenant_id": found.tenant_id,
        "currency": found.currency,
        "start_at": found.start_at.replace(tzinfo=None),
        "end_at": found.end_at.replace(tzinfo=None),
        "after_seq": found.adjusted_after_mark,
        "mark": found.settle_mark,
    }
    rows = read_rows(cursor, "verify_sums", **asked)
    prices = read_prices(cursor, {row["price_key"] for row in rows})
    sums = [
        PricedSum(
            model_id=row["model_id"],
            price_id=row["price_key"],
            price=prices[row["price_key"]],
            tokens=Lines(**{name: row[name] for name, _, _ in LINE_PRICES}),
            corrects_month=row["corrects_month"],
            is_rerate=row["is_rerate"],
            digest=digest_of(row),
        )
        for row in rows
    ]
    digest = Digest()
    for each in sums:
        digest = digest.plus(each.digest)
    (legs,) = read_rows(cursor, "verify_legs", **asked)
    return [
        Check(name="lines", faults=list(_line_faults(found, lines, sums))),
        Check(name="digest", faults=list(_digest_faults(found.digest, digest))),
        Check(
            name="legs",
            faults=[
                f"{legs[name]} requests {words}" for name, words in LEG_CHECKS.items() if legs[name]
            ],
        ),
    ]


def _content_faults(found: Invoice, lines: Sequence[InvoiceLine]) -> Iterator[str]:
    if content_sha256(found, lines) != found.content_sha256:
        yield f"{found.number} was changed after it was made"


def _own_link_faults(found: Invoice, chain: Sequence[Link]) -> Iterator[str]:
    """The chain says how the document was made, and that it came to the state that it has."""
    own = [link for link in chain if link.subject == found.number]
    made = [link.content_sha256 for link in own if link.event == "made"]
    if made != [found.content_sha256]:
        yield f"{found.number} is not the document that the chain holds"
    if STATE_EVENTS[found.state] not in {link.event for link in own}:
        yield f"{found.number} is {found.state}, but the chain does not say so"
    gone = {"void": "voided", "credited": "credited", "final": "issued"}
    for state, event in gone.items():
        is_later = found.state == "credited" and state == "final"
        if event in {link.event for link in own} and found.state != state and not is_later:
            yield f"{found.number} was {event}, but is {found.state}"


def _document_faults(connection: Connection, chain: Sequence[Link], number: str) -> Iterator[str]:
    for kept in every_document(connection, number):
        digest = hashlib.sha256(kept.body).hexdigest()
        linked = [
            link.content_sha256
            for link in chain
            if (link.subject, link.event) == (number, f"document {kept.format}")
        ]
        if digest != kept.sha256 or linked != [digest]:
            yield f"the {kept.format} of {number} is not the one that was issued"


def _line_faults(
    found: Invoice, lines: Sequence[InvoiceLine], sums: Sequence[PricedSum]
) -> Iterator[str]:
    again = usage_lines(sums, found.month, found.currency)
    metered = [unpointed(line) for line in lines if line.kind in METERED]
    own = set_off(metered, found.currency)  # older documents hold what cancels
    if len(own) != len(again):
        yield f"{len(own)} lines of usage, {len(again)} from the requests"
    for position, (line, other) in enumerate(zip(own, again, strict=False), start=1):
        if line != other:
            yield f"line {position} is {line.amount}, from the requests it is {other.amount}"


def _correction_faults(
    connection: Connection, found: Invoice, lines: Sequence[InvoiceLine]
) -> Iterator[str]:
    """What corrects a closed month names a line that served it, of the same model."""
    correcting = [(n, line) for n, line in enumerate(lines, 1) if line.kind in CORRECTING]
    months = {line.service_month for _, line in correcting}
    earlier = {
        (each.number, each.position): each.line
        for each in billed_lines(
            connection, found.tenant_id, currency=found.currency, months=months
        )
    }
    for position, line in correcting:
        if line.corrects_number is None or line.corrects_position is None:
            continue  # nothing like it was billed for that month
        target = earlier.get((line.corrects_number, line.corrects_position))
        if target is None or (target.model_id, target.line) != (line.model_id, line.line):
            yield f"line {position} corrects no line of {line.service_month:%Y-%m} like itself"


def _digest_faults(stored: Digest, again: Digest) -> Iterator[str]:
    if stored.requests != again.requests:
        yield f"{stored.requests} requests, {again.requests} in the store"
    if stored.words != again.words:
        yield "the requests in the store are not those of the invoice"


def _number_faults(connection: Connection) -> Iterator[str]:
    """Numbers of a series run from 1 to its last one, without gap."""
    for issuer_id, prefix, last in last_numbers(connection):
        own = {number for number in numbers_of(connection, issuer_id) if number.startswith(prefix)}
        wanted = {f"{prefix}{number:06d}" for number in range(1, last + 1)}
        for number in sorted(wanted - own):
            yield f"{number} was given out and is missing"
        for number in sorted(own - wanted):
            yield f"{number} was never given out"
