"""Invoice lines from a month's sums: what is owed, exact, rounded once (docs/architecture.md).

A line is rounded to the currency's minor unit; the total is the sum of the rounded lines, and the
difference to the exact sum is stored. Nothing is spread over lines, so each can be checked alone.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from itertools import product
from typing import Any, Final

from pricing.money import exact_arithmetic, exact_sum, plain, to_invoice_amount, token_charge
from pricing.price_key import PriceKey
from pricing.rating import Lines, charges

RULES: Final = ("context_tier", "band", "service_tier", "region", "contract")
NAMING: Final = ("entry", *RULES)


class LineKind(StrEnum):
    """Why a line is there."""

    USAGE = "usage"
    ADJUSTMENT = "adjustment"  # usage of an earlier month that came after its close
    RERATE = "rerate"  # usage of a closed month at other prices: the old ones back, the new ones
    DISPUTE = "dispute"  # an amount given back after a dispute
    CREDIT = "credit"  # a line of a credit note


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """Fingerprint of the requests of an invoice: their number and four sums of 63-bit words.

    Adjustments count with their sign, so requests may be below zero.
    """

    requests: int = 0
    words: tuple[int, int, int, int] = (0, 0, 0, 0)

    def plus(self, other: "Digest") -> "Digest":
        """Both together."""
        first, second, third, fourth = (a + b for a, b in zip(self.words, other.words, strict=True))
        return Digest(requests=self.requests + other.requests, words=(first, second, third, fourth))


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedSum:
    """Billed tokens of one model at one price, as read at the close.

    corrects_month: the closed month that late usage belongs to; None for the month's own usage.
    is_rerate: it was not late: it was billed before, or is now, at another price.
    project_id, cost_centre_id: for the annex.
    """

    model_id: str
    price_id: int
    price: PriceKey
    tokens: Lines
    corrects_month: date | None = None
    is_rerate: bool = False
    project_id: str | None = None
    cost_centre_id: str | None = None
    digest: Digest = Digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceLine:
    """One line. tokens and amounts are negative where something is given back.

    unit_price: per million tokens, in the invoice's currency; None on a dispute's line. amount is
    exact, rounded_amount is what is owed. service_month: first day of the month that was served.
    corrects_number, corrects_position: the document and line that this one corrects.
    """

    kind: str
    service_month: date
    model_id: str | None = None
    line: str | None = None
    tokens: int = 0
    unit_price: Decimal | None = None
    amount: Decimal
    rounded_amount: Decimal
    price_key: int | None = None
    entry: str | None = None
    context_tier: str | None = None
    band: str | None = None
    service_tier: str | None = None
    region: str | None = None
    contract: str | None = None
    corrects_number: str | None = None
    corrects_position: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnexRow:
    """Exact amount and tokens of one project and cost centre: a breakdown, not owed twice."""

    project_id: str | None
    cost_centre_id: str | None
    tokens: int
    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums of an invoice in its currency.

    exact: of the exact lines. net: of the rounded lines. rounding = net - exact. tax: of net, at
    the invoice's rate, rounded once. gross = net + tax.
    """

    exact: Decimal
    net: Decimal
    rounding: Decimal
    tax: Decimal
    gross: Decimal


def usage_lines(sums: Iterable[PricedSum], month: date, currency: str) -> list[InvoiceLine]:
    """Lines by service month, model, price and line of the bill; lines without tokens are left out.

    month: first day of the invoice's own month. Sums of another currency raise ValueError.
    """
    gathered: dict[tuple[Any, ...], int] = {}
    prices: dict[int, PriceKey] = {}
    for each in sums:
        if each.price.currency != currency:
            raise ValueError(f"expected prices in {currency}, got {each.price.currency}")
        prices[each.price_id] = each.price
        served = each.corrects_month or month
        for line, tokens, unit_price, _ in charges(each.tokens, each.price):
            key = (_kind(each), served, each.model_id, each.price_id, line, unit_price)
            gathered[key] = gathered.get(key, 0) + tokens
    lines = [
        _line(key, tokens, prices[key[3]], currency) for key, tokens in gathered.items() if tokens
    ]
    return set_off(lines, currency)


def set_off(lines: Iterable[InvoiceLine], currency: str) -> list[InvoiceLine]:
    """The lines in order, without what a re-rate takes back and charges at the same unit price.

    It writes requests anew as a whole, also where only one of their prices changed. Tokens of one
    served month, model and line cancel, those priced by the same rules first; the exact sum stays.
    """
    kept: list[InvoiceLine] = []
    alike: dict[tuple[Any, ...], list[InvoiceLine]] = {}
    for line in sorted(lines, key=_order):
        if line.kind == LineKind.RERATE:
            what = (line.service_month, line.model_id, line.line, line.unit_price)
            alike.setdefault(what, []).append(line)
        else:
            kept.append(line)
    for same in alike.values():
        kept += _changed(same, currency)
    return sorted(kept, key=_order)


def _changed(lines: Sequence[InvoiceLine], currency: str) -> Iterator[InvoiceLine]:
    """What stays of lines at one unit price: either given back or charged."""
    left = [line.tokens for line in lines]
    back = [n for n, tokens in enumerate(left) if tokens < 0]
    anew = [n for n, tokens in enumerate(left) if tokens > 0]
    rules = [[getattr(line, name) for name in RULES] for line in lines]
    for old, new in sorted(product(back, anew), key=lambda pair: rules[pair[0]] != rules[pair[1]]):
        both = min(-left[old], left[new])
        left[old] += both
        left[new] -= both
    return (
        _of_tokens(line, tokens, currency)
        for line, tokens in zip(lines, left, strict=True)
        if tokens
    )


def _kind(each: PricedSum) -> LineKind:
    if each.corrects_month is None:
        return LineKind.USAGE
    return LineKind.RERATE if each.is_rerate else LineKind.ADJUSTMENT


def dispute_line(
    amount: Decimal, corrected: InvoiceLine, *, number: str, position: int, reason: str
) -> InvoiceLine:
    """What a credited dispute gives back on a later invoice. amount: above 0, minor units."""
    return InvoiceLine(
        kind=LineKind.DISPUTE,
        service_month=corrected.service_month,
        model_id=corrected.model_id,
        line=corrected.line,
        amount=amount.copy_negate(),
        rounded_amount=amount.copy_negate(),
        corrects_number=number,
        corrects_position=position,
        reason=reason,
    )


def credit_lines(lines: Sequence[InvoiceLine], *, number: str, reason: str) -> list[InvoiceLine]:
    """The lines of a credit note: with those of document `number` they sum to exactly 0."""
    with exact_arithmetic():
        return [
            replace(
                line,
                kind=LineKind.CREDIT,
                tokens=-line.tokens,
                amount=-line.amount + 0,  # + 0 turns -0 into 0
                rounded_amount=-line.rounded_amount + 0,
                corrects_number=number,
                corrects_position=position,
                reason=reason,
            )
            for position, line in enumerate(lines, start=1)
        ]


def totals(lines: Sequence[InvoiceLine], currency: str, tax_rate: Decimal) -> Totals:
    """Sums of the lines. tax_rate: a fraction of the net amount, such as 0.06."""
    exact = exact_sum(line.amount for line in lines)
    net = exact_sum(line.rounded_amount for line in lines)
    with exact_arithmetic():
        exact_tax = net * tax_rate
    tax = to_invoice_amount(exact_tax, currency)
    with exact_arithmetic():
        return Totals(exact=exact, net=net, rounding=net - exact, tax=tax, gross=net + tax)


def annex(sums: Iterable[PricedSum]) -> list[AnnexRow]:
    """Tokens and exact amounts by project and cost centre; the amounts sum to the exact total."""
    found: dict[tuple[str | None, str | None], list[tuple[int, Decimal]]] = {}
    for each in sums:
        parts = found.setdefault((each.project_id, each.cost_centre_id), [])
        parts += [(tokens, amount) for _, tokens, _, amount in charges(each.tokens, each.price)]
    return [
        AnnexRow(
            project_id=project_id,
            cost_centre_id=cost_centre_id,
            tokens=sum(tokens for tokens, _ in parts),
            amount=exact_sum(amount for _, amount in parts),
        )
        for (project_id, cost_centre_id), parts in sorted(
            found.items(), key=lambda item: tuple(text or "" for text in item[0])
        )
    ]


def sha256_of(content: Any) -> str:
    """SHA-256 of a value's canonical JSON: keys in order, decimals plain, dates in ISO 8601."""
    text = json.dumps(
        content, default=_plainly, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


def line_row(line: InvoiceLine) -> dict[str, Any]:
    """Field → value; its values are all plain, so nothing is copied."""
    return {name: getattr(line, name) for name in LINE_FIELDS}


def line_content(line: InvoiceLine) -> dict[str, Any]:
    """The line as it enters the document's hash."""
    return {name: value for name, value in line_row(line).items() if value is not None}


def _line(key: tuple[Any, ...], tokens: int, price: PriceKey, currency: str) -> InvoiceLine:
    kind, served, model_id, price_id, line, unit_price = key
    amount = token_charge(tokens, unit_price)
    return InvoiceLine(
        kind=kind,
        service_month=served,
        model_id=model_id,
        line=line,
        tokens=tokens,
        unit_price=unit_price,
        amount=amount,
        rounded_amount=to_invoice_amount(amount, currency),
        price_key=price_id,
        **{name: getattr(price, name) for name in NAMING},
    )


def _of_tokens(line: InvoiceLine, tokens: int, currency: str) -> InvoiceLine:
    """The line for so many tokens at its unit price."""
    amount = token_charge(tokens, line.unit_price or Decimal(0))
    rounded = to_invoice_amount(amount, currency)
    return replace(line, tokens=tokens, amount=amount, rounded_amount=rounded)


LINE_FIELDS: Final = tuple(each.name for each in fields(InvoiceLine))
KIND_ORDER: Final = (LineKind.USAGE, LineKind.ADJUSTMENT, LineKind.RERATE)
LINE_ORDER: Final = ("input", "cached_input", "cache_write", "output", "reasoning")


def _order(line: InvoiceLine) -> tuple[Any, ...]:
    """The month's own usage first, then what corrects earlier months; the same every time."""
    names = tuple(getattr(line, name) or "" for name in NAMING)
    place = LINE_ORDER.index(line.line) if line.line in LINE_ORDER else len(LINE_ORDER)
    kind = KIND_ORDER.index(line.kind)
    given = (line.tokens > 0, line.unit_price, line.price_key)  # what is taken back comes first
    return (kind, line.service_month, line.model_id or "", names, place, given)


def _plainly(value: Any) -> str:
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"expected a decimal or a date, got {value!r}")
