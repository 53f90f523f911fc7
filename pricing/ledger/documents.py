"""Issued documents: the bytes that went out, so that a re-print gives the same."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from pricing.ledger.connect import Change
from pricing.ledger.invoice_tables import document
from pricing.ledger.issuers import append_link
from pricing.ledger.rows import fetch_all


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document in one format. format: pdf, xlsx, csv, …"""

    number: str
    format: str
    sha256: str
    media_type: str
    body: bytes
    made_at: datetime


def keep_document(
    change: Change, issuer_id: str, *, number: str, format_: str, media_type: str, body: bytes
) -> Document:
    """Keep the bytes of an issued document; the first ones stay."""
    known = find_document(change.connection, number, format_)
    if known is not None:
        return known
    digest = hashlib.sha256(body).hexdigest()
    new = Document(
        number=number,
        format=format_,
        sha256=digest,
        media_type=media_type,
        body=body,
        made_at=change.at,
    )
    change.insert(document, asdict(new))
    append_link(change, issuer_id, f"document {format_}", subject=number, content_sha256=digest)
    return new


def find_document(connection: Connection, number: str, format_: str) -> Document | None:
    """The bytes that were issued, if they were."""
    query = select(document).where(document.c.number == number, document.c.format == format_)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Document(**row)


def every_document(connection: Connection, number: str) -> list[Document]:
    """Every kept format of a document."""
    query = select(document).where(document.c.number == number).order_by(document.c.format)
    return fetch_all(connection, query, Document)
