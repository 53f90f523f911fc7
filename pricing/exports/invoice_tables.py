"""Invoices as tables: their lines, the breakdown by project, and FOCUS 1.2."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from metering.windows import month_window
from pricing.exports.tables import MONEY
from pricing.invoices import InvoiceLine, LineKind
from pricing.ledger.invoices import Invoice

TEXT, COUNT, DAY = pa.string(), pa.int64(), pa.date32()
TIME = pa.timestamp("us", tz="UTC")
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
FOCUS_TEXT: Final = (
    *("BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency"),
    *("ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *("InvoiceId", "InvoiceIssuerName", "PricingCategory", "PricingCurrency", "PricingUnit"),
    *("ConsumedUnit", "ProviderName", "PublisherName", "RegionId", "RegionName"),
    *("ServiceCategory", "ServiceSubcategory", "ServiceName", "SkuId", "SkuMeter", "SkuPriceId"),
    *("SubAccountId", "SubAccountName", "SubAccountType", "Tags"),
    *("ResourceId", "ResourceName", "ResourceType"),
)
FOCUS_MONEY: Final = (
    *("BilledCost", "EffectiveCost", "ListCost", "ContractedCost"),
    *("ListUnitPrice", "ContractedUnitPrice", "PricingQuantity", "ConsumedQuantity"),
)
FOCUS_TIMES: Final = (
    *("BillingPeriodStart", "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd"),
)
FOCUS: Final = pa.schema(
    sorted(
        [
            *((name, TEXT) for name in FOCUS_TEXT),
            *((name, MONEY) for name in FOCUS_MONEY),
            *((name, TIME) for name in FOCUS_TIMES),
        ]
    )
)
CATEGORIES: Final = {
    LineKind.USAGE: ("Usage", None),
    LineKind.ADJUSTMENT: ("Usage", "Correction"),  # of a period that was invoiced before
    LineKind.RERATE: ("Usage", "Correction"),
    LineKind.DISPUTE: ("Credit", None),
    LineKind.CREDIT: ("Credit", "Correction"),
}


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


def focus_table(found: Invoice, lines: Sequence[InvoiceLine]) -> pa.Table:
    """The document in FOCUS 1.2: exact amounts, the rounding and the tax as a row of their own.

    BilledCost sums to the gross amount. Quantities are tokens; prices are per million of them.
    """
    rows = [_focus_row(found, line) for line in lines]
    if found.rounding_amount:
        words = "Rounding of the lines to the minor unit"
        rows.append(_focus_extra(found, "Adjustment", found.rounding_amount, words))
    if found.tax_amount:
        words = f"Tax {found.tax_rate} {found.tax_place or ''}".strip()
        rows.append(_focus_extra(found, "Tax", found.tax_amount, words))
    return pa.Table.from_pylist(rows, schema=FOCUS)


def _focus_row(found: Invoice, line: InvoiceLine) -> dict[str, Any]:
    category, charge_class = CATEGORIES[LineKind(line.kind)]
    is_metered = line.unit_price is not None
    words = [line.model_id, line.line, line.reason or None, line.corrects_number]
    served = month_window(line.service_month, ZoneInfo(found.billing_zone))
    return _focus_base(found) | {
        "ChargePeriodStart": served.start_at,
        "ChargePeriodEnd": served.end_at,
        "BilledCost": line.amount,
        "EffectiveCost": line.amount,
        "ListCost": line.amount,
        "ContractedCost": line.amount,
        "ChargeCategory": category,
        "ChargeClass": charge_class,
        "ChargeDescription": " · ".join(word for word in words if word),
        "ChargeFrequency": "Usage-Based" if is_metered else "One-Time",
        "PricingCategory": "Standard" if is_metered else None,
        "PricingUnit": "1000000 Tokens" if is_metered else None,
        "PricingQuantity": Decimal(line.tokens).scaleb(-6) if is_metered else None,
        "ListUnitPrice": line.unit_price,
        "ContractedUnitPrice": line.unit_price,
        "ConsumedUnit": "Tokens" if is_metered else None,
        "ConsumedQuantity": Decimal(line.tokens) if is_metered else None,
        "RegionId": line.region,
        "RegionName": line.region,
        "SkuId": line.model_id,
        "SkuMeter": line.line,
        "SkuPriceId": None if line.price_key is None else str(line.price_key),
        "ResourceId": line.model_id,
        "ResourceName": line.model_id,
        "ResourceType": "Model" if line.model_id else None,
    }


def _focus_extra(found: Invoice, category: str, amount: Decimal, words: str) -> dict[str, Any]:
    costs = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")
    return _focus_base(found) | {
        **dict.fromkeys(costs, amount),
        "ChargeCategory": category,
        "ChargeDescription": words,
        "ChargeFrequency": "One-Time",
    }


def _focus_base(found: Invoice) -> dict[str, Any]:
    period: dict[str, datetime] = {
        "BillingPeriodStart": found.start_at,
        "BillingPeriodEnd": found.end_at,
        "ChargePeriodStart": found.start_at,
        "ChargePeriodEnd": found.end_at,
    }
    seller = found.seller["legal_name"]
    return {
        **period,
        "BillingAccountId": found.issuer_id,
        "BillingAccountName": seller,
        "BillingAccountType": "Issuer",
        "BillingCurrency": found.currency,
        "PricingCurrency": found.currency,
        "InvoiceId": found.number,
        "InvoiceIssuerName": seller,
        "ProviderName": seller,
        "PublisherName": seller,
        "ServiceCategory": "AI and Machine Learning",
        "ServiceSubcategory": "Generative AI",
        "ServiceName": "LLM inference",
        "SubAccountId": found.tenant_id,
        "SubAccountName": found.buyer["legal_name"],
        "SubAccountType": "Tenant",
        "Tags": "{}",
    }
