"""A document as PDF, by typst: in English or Chinese, the same bytes for the same document."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import typst

from pricing.errors import ConfigInvalid
from pricing.exports.invoice_words import WORDS
from pricing.invoices import InvoiceLine, LineKind
from pricing.ledger.invoices import BUYER, Invoice
from pricing.money import minor_unit, plain

TEMPLATE: Final = Path(__file__).parent / "templates" / "invoice.typ"
LATIN_FONTS: Final = ("Noto Sans", "DejaVu Sans", "Libertinus Serif")
CHINESE_FONTS: Final = (
    *("Noto Sans CJK SC", "Source Han Sans SC", "Noto Serif CJK SC", "WenQuanYi Zen Hei"),
    *("Droid Sans Fallback", "Microsoft YaHei", "PingFang SC"),
)
PRINTED_LINES_MAX: Final = 2_000  # a longer document is printed as its totals and named as such
_TURN = threading.Lock()  # one compiler, one document at a time


def invoice_pdf(found: Invoice, lines: Sequence[InvoiceLine]) -> bytes:
    """The PDF. Raises ConfigInvalid where no font of the machine has Chinese characters."""
    (made,) = _printed(found, lines, format_="pdf")
    return made


def invoice_pages(
    found: Invoice, lines: Sequence[InvoiceLine], *, pixels_per_inch: int
) -> list[bytes]:
    """The pages of the same document as PNG, for pictures of it."""
    return _printed(found, lines, format_="png", pixels_per_inch=pixels_per_inch)


def _printed(
    found: Invoice,
    lines: Sequence[InvoiceLine],
    *,
    format_: str,
    pixels_per_inch: int | None = None,
) -> list[bytes]:
    data = json.dumps(_data(found, lines), ensure_ascii=False)
    stamp = (found.issued_at or found.made_at).replace(microsecond=0)
    with _TURN:
        made = _compiler().compile(
            format=format_, ppi=pixels_per_inch, sys_inputs={"data": data}, timestamp=stamp
        )
    return made if isinstance(made, list) else [made]


@cache
def _compiler() -> Any:
    return typst.Compiler(TEMPLATE, root=TEMPLATE.parent, font_paths=_fonts())


@cache
def _fonts() -> Any:
    return typst.Fonts()


def fonts_for(language: str, families: frozenset[str] | None = None) -> list[str]:
    """Fonts of this machine for a language, in order. families: what there is; None: look."""
    there = families if families is not None else frozenset(_fonts().families())
    chinese = [name for name in CHINESE_FONTS if name in there]
    if language == "zh" and not chinese:
        raise ConfigInvalid(
            "No font of this machine has Chinese characters, so no Chinese PDF can be made.",
            remedy="Install one (on Debian: apt-get install fonts-noto-cjk), or set the tenant's "
            "language to en.",
        )
    latin = [name for name in LATIN_FONTS if name in there]
    return [*chinese, *latin] if language == "zh" else [*latin, *chinese]


def _data(found: Invoice, lines: Sequence[InvoiceLine]) -> dict[str, Any]:
    language = str(found.buyer.get("language", "en"))
    words = WORDS[language]
    printed = lines[:PRINTED_LINES_MAX]
    return {
        "title": words[found.kind],
        "number": found.number,
        "state": found.state,
        "state_word": words.get(found.state, ""),
        "language": language,
        "fonts": fonts_for(language),
        "content_sha256": found.content_sha256,
        "words": words,
        "seller": _party(found.seller, words),
        "buyer": _party(found.buyer, words),
        "facts": list(_facts(found, words)),
        "lines": [_line(n, line, words, found.currency) for n, line in enumerate(printed, start=1)],
        "totals": _totals(found, words),
        "annex": [
            [
                each["project_id"] or "–",
                each["cost_centre_id"] or "–",
                f"{each['tokens']:,}",
                plain(Decimal(each["amount"])),
            ]
            for each in found.annex[:PRINTED_LINES_MAX]
        ],
        "notes": list(_notes(found, len(lines), words)),
    }


def _party(party: Mapping[str, Any], words: Mapping[str, Any]) -> dict[str, Any]:
    rows = [[words[name], str(party[name])] for name in BUYER[1:] if party.get(name)]
    return {"legal_name": party["legal_name"], "rows": rows}


def _facts(found: Invoice, words: Mapping[str, Any]) -> Iterator[list[str]]:
    zone = ZoneInfo(found.billing_zone)
    yield [words["tenant"], found.tenant_id]
    yield [words["period"], f"{found.month:%Y-%m}"]
    yield [words["zone"], found.billing_zone]
    yield [words["currency"], found.currency]
    if found.issued_at is not None:
        yield [words["issued"], f"{found.issued_at.astimezone(zone):%Y-%m-%d}"]
    if found.due_on is not None and found.kind == "invoice":
        yield [words["due"], f"{found.due_on:%Y-%m-%d}"]
    if found.corrects_number is not None:
        yield [words["corrects"], found.corrects_number]


def _line(
    position: int, line: InvoiceLine, words: Mapping[str, Any], currency: str
) -> dict[str, Any]:
    what = [line.model_id, words.get(line.line or "", line.line)]
    if line.kind != LineKind.USAGE:
        month, number = f"{line.service_month:%Y-%m}", line.corrects_number or ""
        what.append(words[line.kind].format(month=month, number=number).strip())
    names = (line.entry, line.context_tier, line.band, line.service_tier, line.region)
    detail = [*names, line.contract, line.reason]
    return {
        "position": position,
        "what": " · ".join(text for text in what if text),
        "detail": " · ".join(text for text in detail if text),
        "tokens": f"{line.tokens:,}" if line.tokens else "",
        "unit_price": "" if line.unit_price is None else plain(line.unit_price),
        "amount": _money(line.rounded_amount, currency),
    }


def _totals(found: Invoice, words: Mapping[str, Any]) -> list[list[str]]:
    rate = plain(found.tax_rate.scaleb(2))
    tax = f"{words['tax']} {rate} % {found.tax_place or ''}".strip()
    rows = [[words["net"], _money(found.net_amount, found.currency)]]
    if found.tax_rate:
        rows.append([tax, _money(found.tax_amount, found.currency)])
    total = f"{_money(found.gross_amount, found.currency)} {found.currency}"
    return [*rows, [words["gross"], total]]


def _notes(found: Invoice, count: int, words: Mapping[str, Any]) -> Iterator[str]:
    if count > PRINTED_LINES_MAX:
        yield f"… {count - PRINTED_LINES_MAX} (CSV, XLSX, Parquet)"
    if found.rounding_amount:
        yield words["rounding_note"].format(
            exact=plain(found.exact_amount), rounding=plain(found.rounding_amount)
        )
    fingerprint = " ".join(f"{word:x}" for word in found.digest.words)
    yield words["digest_note"].format(requests=found.digest_requests, words=fingerprint)
    if found.kind == "statement":
        yield words["statement_note"]


def _money(amount: Decimal, currency: str) -> str:
    return f"{amount.quantize(minor_unit(currency)):,}"
