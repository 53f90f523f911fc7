"""Findings put together by what they are about, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from dashboard.summary import total
from dashboard.texts import Words

Row = dict[str, Any]
# reason, else kind → its keys of texts: what it is, and what to do
KNOWN: Final[Mapping[str, tuple[str, str]]] = {
    "no_price": ("finding.no_price", "remedy.no_price"),
    "no_output_price": ("finding.no_output_price", "remedy.no_price"),
    "ambiguous_name": ("finding.ambiguous_name", "remedy.ambiguous_name"),
    "cached_unknown": ("finding.cached_unknown", "remedy.counts"),
    "input_unknown": ("finding.input_unknown", "remedy.counts"),
    "output_unknown": ("finding.output_unknown", "remedy.counts"),
    "decode_only": ("finding.decode_only", "remedy.orphan"),
    "ambiguous_key": ("finding.ambiguous_key", "remedy.orphan"),
    "input_mismatch": ("finding.input_mismatch", "remedy.orphan"),
    "undelivered": ("finding.undelivered", "remedy.undelivered"),
    "unattributed": ("finding.unattributed", "remedy.unattributed"),
    "silent_node": ("finding.silent_node", "remedy.silent_node"),
    "rejected": ("finding.rejected", "remedy.rejected"),
    "conflict": ("finding.conflict", "remedy.conflict"),
    "reattributed": ("finding.reattributed", "remedy.reattributed"),
    "both_sources": ("finding.both_sources", "remedy.both_sources"),
    "gateway_check": ("finding.gateway_check", "remedy.gateway_check"),
    "flag": ("finding.flag", "remedy.flag"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Findings of one kind and reason. amount_max: the most at risk in `currency`."""

    kind: str
    reason: str
    requests: int
    currency: str | None
    amount_max: Decimal
    remedy: str
    members: tuple[Row, ...]


def grouped(rows: Iterable[Row]) -> list[Group]:
    """Open findings by kind, reason and currency; the most money first, then the most requests."""
    found: dict[tuple[str, str, str | None], list[Row]] = {}
    for row in rows:
        if row.get("decision") != "accepted":
            found.setdefault((row["kind"], row["reason"], row["currency"]), []).append(row)
    groups = [
        Group(
            kind=kind,
            reason=reason,
            requests=sum(row["requests"] for row in members),
            currency=currency,
            amount_max=total(row["amount_max"] for row in members),
            remedy=members[0]["remedy"],
            members=tuple(members),
        )
        for (kind, reason, currency), members in found.items()
    ]
    return sorted(groups, key=lambda each: (-each.amount_max, -each.requests, each.reason))


def kind_text(words: Words, group: Group) -> str:
    """What it is, in words; a reason that is new to us stays as the API says it."""
    known = KNOWN.get(group.reason) or KNOWN.get(group.kind)
    reason = group.reason.replace("_", " ")
    return words(known[0], reason=reason) if known else f"{group.kind}: {reason}"


def remedy_text(words: Words, group: Group) -> str:
    """What to do about it."""
    known = KNOWN.get(group.reason) or KNOWN.get(group.kind)
    return words(known[1]) if known else group.remedy
