"""Invoices as tables: their totals, their lines and the breakdown by project."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from decimal import Decimal
from typing import Final

import pyarrow as pa

from pricing.exports.tables import MONEY
from pricing.invoices import InvoiceLine
from pricing.ledger.invoices import Invoice

TEXT, COUNT, DAY = pa.string(), pa.int64(), pa.date32()
LINES: Final = pa.schema(
    [
        ("number", TEXT),
        ("document_kind", TEXT),
        ("state", TEXT),
        ("tenant_id", TEXT),
        ("period", TEXT),
        ("currency", TEXT),
        ("position", COUNT),
        ("kind", TEXT),
        ("service_month", DAY),
        ("model_id", TEXT),
        ("line", TEXT),
        ("tokens", COUNT),
        ("unit_price", MONEY),
        ("amount", MONEY),
        ("rounded_amount", MONEY),
        ("entry", TEXT),
        ("context_tier", TEXT),
        ("band", TEXT),
        ("service_tier", TEXT),
        ("region", TEXT),
        ("contract", TEXT),
        ("corrects_number", TEXT),
        ("corrects_position", COUNT),
        ("reason", TEXT),
    ]
)
ANNEX: Final = pa.schema(
    [
        ("number", TEXT),
        ("project_id", TEXT),
        ("cost_centre_id", TEXT),
        ("tokens", COUNT),
        ("currency", TEXT),
        ("amount", MONEY),
    ]
)
SUMMARY: Final = pa.schema(
    [
        (name, MONEY if name.endswith("_amount") or name == "tax_rate" else TEXT)
        for name in (
            *("number", "kind", "state", "tenant_id", "period", "billing_zone", "currency"),
            *("exact_amount", "rounding_amount", "net_amount", "tax_rate", "tax_amount"),
            *("gross_amount", "corrects_number", "content_sha256"),
        )
    ]
)
LINE_FIELDS: Final = frozenset(each.name for each in fields(InvoiceLine))


def lines_table(found: Invoice, lines: Sequence[InvoiceLine]) -> pa.Table:
    """The lines, each with the document that it belongs to."""
    head = {
        "number": found.number,
        "document_kind": found.kind,
        "state": found.state,
        "tenant_id": found.tenant_id,
        "period": f"{found.month:%Y-%m}",
        "currency": found.currency,
    }
    rows = [
        {**asdict(line), **head, "position": position}
        for position, line in enumerate(lines, start=1)
    ]
    return pa.Table.from_pylist(rows, schema=LINES)


def annex_table(found: Invoice) -> pa.Table:
    """The exact total by project and cost centre."""
    rows = [
        {
            **each,
            "number": found.number,
            "currency": found.currency,
            "amount": Decimal(each["amount"]),
        }
        for each in found.annex
    ]
    return pa.Table.from_pylist(rows, schema=ANNEX)


def summary_table(invoices: Iterable[Invoice]) -> pa.Table:
    """A row for each document with its totals."""
    rows = [{**asdict(each), "period": f"{each.month:%Y-%m}"} for each in invoices]
    return pa.Table.from_pylist(
        [{name: row[name] for name in SUMMARY.names} for row in rows], schema=SUMMARY
    )
