"""Documents in FOCUS 1.2 (focus.finops.org): one row a line, one of rounding, one of tax."""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import pyarrow as pa

from metering.windows import month_window
from pricing.exports.tables import MONEY
from pricing.invoices import InvoiceLine, LineKind
from pricing.ledger.invoices import Invoice
from pricing.money import exact_arithmetic, exact_sum, to_invoice_amount, token_charge

ListPrice: TypeAlias = Callable[[InvoiceLine], Decimal | None]  # per million tokens
TEXT, TIME = pa.string(), pa.timestamp("us", tz="UTC")
FOCUS_TEXT: Final = (
    *("BillingAccountId", "BillingAccountName", "BillingAccountType", "BillingCurrency"),
    *("ChargeCategory", "ChargeClass", "ChargeDescription", "ChargeFrequency"),
    *("InvoiceId", "InvoiceIssuerName", "PricingCategory", "PricingCurrency", "PricingUnit"),
    *("ConsumedUnit", "ProviderName", "PublisherName", "RegionId", "RegionName"),
    *("ServiceCategory", "ServiceSubcategory", "ServiceName", "SkuId", "SkuMeter", "SkuPriceId"),
    *("SubAccountId", "SubAccountName", "SubAccountType", "Tags"),
    *("ResourceId", "ResourceName", "ResourceType", "x_Contract", "x_PriceEntry"),
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


def focus_table(found: Invoice, lines: Sequence[InvoiceLine], list_price: ListPrice) -> pa.Table:
    """The document in FOCUS 1.2: exact amounts, the rounding and the tax as a row of their own.

    BilledCost sums to the gross amount. Quantities are tokens; prices are per million of them.
    list_price: of a line before its contract's discount.
    """
    rows = [_focus_row(found, line, list_price(line)) for line in lines]
    if found.rounding_amount:
        words = "Rounding of the lines to the minor unit"
        rows.append(_focus_extra(found, "Adjustment", found.rounding_amount, words))
    if found.tax_amount:
        words = f"Tax {found.tax_rate} {found.tax_place or ''}".strip()
        listed = _tax_of(found, [row["ListCost"] for row in rows])
        rows.append(_focus_extra(found, "Tax", found.tax_amount, words) | {"ListCost": listed})
    return pa.Table.from_pylist(rows, schema=FOCUS)


def _tax_of(found: Invoice, costs: Sequence[Decimal]) -> Decimal:
    """FOCUS: what is computed from other charges has a ListCost computed from theirs."""
    with exact_arithmetic():
        exact = exact_sum(costs) * found.tax_rate
    return to_invoice_amount(exact, found.currency)


def _focus_row(found: Invoice, line: InvoiceLine, listed: Decimal | None) -> dict[str, Any]:
    category, charge_class = CATEGORIES[LineKind(line.kind)]
    is_metered = line.unit_price is not None
    words = [line.model_id, line.line, line.reason or None, line.corrects_number]
    served = month_window(line.service_month, ZoneInfo(found.billing_zone))
    return _focus_base(found) | {
        "ChargePeriodStart": served.start_at,
        "ChargePeriodEnd": served.end_at,
        "BilledCost": line.amount,
        "EffectiveCost": line.amount,
        "ListCost": line.amount if listed is None else token_charge(line.tokens, listed),
        "ContractedCost": line.amount,
        "ChargeCategory": category,
        "ChargeClass": charge_class,
        "ChargeDescription": " · ".join(word for word in words if word),
        "ChargeFrequency": "Usage-Based" if is_metered else "One-Time",
        "PricingCategory": "Standard" if is_metered else None,
        "PricingUnit": "1000000 Tokens" if is_metered else None,
        "PricingQuantity": Decimal(line.tokens).scaleb(-6) if is_metered else None,
        "ListUnitPrice": listed,
        "ContractedUnitPrice": line.unit_price,
        "ConsumedUnit": "Tokens" if is_metered else None,
        "ConsumedQuantity": Decimal(line.tokens) if is_metered else None,
        "RegionId": line.region,
        "RegionName": line.region,
        "SkuId": line.model_id,
        "SkuMeter": line.line,
        "SkuPriceId": _sku_price(line) if is_metered else None,
        "ResourceId": line.model_id,
        "ResourceName": line.model_id,
        "ResourceType": "Model" if line.model_id else None,
        "x_Contract": line.contract,
        "x_PriceEntry": line.entry,
    }


def _sku_price(line: InvoiceLine) -> str:
    """What the price depends on; FOCUS: the same for every date, account and contract."""
    names = (line.model_id, line.line, line.context_tier, line.band, line.service_tier, line.region)
    return " · ".join(name for name in names if name)


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
