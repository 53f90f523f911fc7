"""Which invoice line a correction points at (docs/architecture.md, V8), as it is made."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from pricing.invoices import InvoiceLine, LineKind

CORRECTING: Final = frozenset({LineKind.ADJUSTMENT, LineKind.RERATE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Billed:
    """A line of an earlier document. position: from 1."""

    number: str
    position: int
    line: InvoiceLine


def pointed(
    lines: Iterable[InvoiceLine], earlier: Sequence[Billed], reasons: Mapping[date, str]
) -> list[InvoiceLine]:
    """The lines, those that correct a closed month with the line that they correct.

    That is, in the order of `earlier`, the first line of the same served month, model and line of
    the bill at the same price; else at any price; else the document of that month alone.
    reasons: served month → why it was re-rated.
    """
    return [_pointed(line, earlier, reasons) for line in lines]


def _pointed(
    line: InvoiceLine, earlier: Sequence[Billed], reasons: Mapping[date, str]
) -> InvoiceLine:
    if line.kind not in CORRECTING:
        return line
    found = [each for each in earlier if each.line.service_month == line.service_month]
    alike = [each for each in found if _what(each.line) == _what(line)]
    same = [each for each in alike if each.line.price_key == line.price_key]
    target = next(iter(same or alike), None)
    number = target.number if target else next((each.number for each in found), None)
    return replace(
        line,
        corrects_number=number,
        corrects_position=target.position if target else None,
        reason=reasons.get(line.service_month) if line.kind == LineKind.RERATE else None,
    )


def _what(line: InvoiceLine) -> tuple[str | None, str | None]:
    return line.model_id, line.line


def unpointed(line: InvoiceLine) -> InvoiceLine:
    """The line as its month's usage alone says it: what can be derived again from requests."""
    return replace(line, corrects_number=None, corrects_position=None, reason=None)
