"""Sums over the rows of a report: exact, per currency, never converted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from dashboard.formats import exact

Row = Mapping[str, Any]
AT_RISK: Final = frozenset({"unpriced", "held", "undelivered"})
INPUTS: Final = ("uncached_tokens", "cached_tokens", "cache_write_tokens", "unsplit_tokens")
OUTPUTS: Final = ("output_tokens", "reasoning_tokens")
LINES: Final = {  # line → its columns of money, its columns of tokens
    "uncached": (("input_amount", "cache_write_amount"), INPUTS[:1] + INPUTS[2:]),
    "cached": (("cached_amount",), INPUTS[1:2]),
    "output": (("output_amount", "reasoning_amount"), OUTPUTS),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Tokens of a window, and money in one currency. at_risk: the most that may be lost."""

    currency: str | None
    amount: Decimal
    at_risk: Decimal
    requests: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    others: tuple[str, ...] = ()  # further currencies, which are not in the amounts

    @property
    def hit_ratio(self) -> Decimal | None:
        """Cached of all input tokens, 0–1; None without input."""
        return Decimal(self.cached_tokens) / self.input_tokens if self.input_tokens else None


def main_currency(rows: Iterable[Row]) -> str | None:
    """The currency of the most requests."""
    counts: dict[str, int] = {}
    for row in rows:
        if row["currency"]:
            counts[row["currency"]] = counts.get(row["currency"], 0) + row["requests"]
    return max(sorted(counts), key=lambda name: counts[name], default=None)


def summary(rows: Iterable[Row], currency: str | None = None) -> Summary:
    """Sums of `rows` of /v1/usage; money in `currency`, or in that of the most requests."""
    kept = list(rows)
    chosen = currency or main_currency(kept)
    own = [row for row in kept if row["currency"] == chosen]
    return Summary(
        currency=chosen,
        amount=total(row["amount"] for row in own if row["disposition"] == "billed"),
        at_risk=total(row["amount_max"] for row in own if row["disposition"] in AT_RISK),
        requests=sum(row["requests"] for row in kept),
        input_tokens=sum(row[name] for row in kept for name in INPUTS),
        cached_tokens=sum(row["cached_tokens"] for row in kept),
        output_tokens=sum(row[name] for row in kept for name in OUTPUTS),
        others=tuple(sorted({row["currency"] for row in kept} - {None, chosen})),
    )


def total(amounts: Iterable[Any]) -> Decimal:
    """The sum of what is known."""
    return sum((value for each in amounts if (value := exact(each)) is not None), Decimal(0))


def line_money(row: Row, line: str) -> Decimal:
    """Money of one line of a row."""
    return total(row[name] for name in LINES[line][0])


def line_tokens(row: Row, line: str) -> int:
    """Tokens of one line of a row."""
    return sum(row[name] for name in LINES[line][1])
