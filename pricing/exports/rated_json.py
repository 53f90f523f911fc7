"""The answer of `tokentill rate --json` (docs/commands.md): counts as numbers, money as text."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from pricing.flags import flag_names
from pricing.money import exact_sum, plain
from pricing.policy import deciding_policy
from pricing.price_key import PRICE_FIELDS, PriceKey
from pricing.rating import INPUT_LINES, Lines, amount_range, charges
from pricing.runs.rate_file import RatedFile

Item = dict[str, Any]
LISTS = ("unpriced", "orphans", "conflicts", "rejected")  # what --strict counts
NAMING = ("context_tier", "band", "service_tier", "region", "contract")


def rated_json(rated: RatedFile, *, totals: bool) -> Item:
    """The whole answer; totals: without the requests."""
    keys = {number: _price_key(row) for number, row in rated.price_keys.items()}
    items = [_item(row, keys) for row in rated.not_billed]
    answer: Item = {
        "currency": rated.currency,
        "total": plain(exact_sum(rated.by_tenant.values())),
        "by_node": {name: plain(amount) for name, amount in rated.by_node.items()},
        "by_tenant": {name: plain(amount) for name, amount in rated.by_tenant.items()},
        "unpriced": [item for kind, item in items if kind == "unpriced"],
        "orphans": [item for kind, item in items if kind in ("held", "undelivered")],
        "cost": [item for kind, item in items if kind == "cost"],
        "conflicts": [_aside(row) for row in rated.set_aside if row["kind"] == "conflict"],
        "reattributed": [_aside(row) for row in rated.set_aside if row["kind"] == "reattributed"],
        "rejected": list(rated.rejected),
    }
    if not totals:
        answer["requests"] = list(_requests(rated.billed, keys))
    return answer


def _requests(rows: Iterable[Mapping[str, Any]], keys: Mapping[int, PriceKey]) -> Iterator[Item]:
    """One item a request; the samples of a group are parts of one."""
    for _, members in groupby(rows, key=lambda row: row["event_id"]):
        parts = list(members)
        first, key = parts[0], keys[parts[0]["price_key"]]
        lines = [line for part in parts for line in _lines(part, key)]
        bits = 0
        for part in parts:
            bits |= part["flags"]
        yield {
            "request_id": first["request_id"],
            "tenant_id": first["tenant_id"],
            "model_id": first["model_id"],
            "price": _price_name(key),
            "amount": plain(exact_sum(Decimal(line["amount"]) for line in lines)),
            "flags": flag_names(bits),
            "policy": deciding_policy("billed", None, flag_names(bits)),
            "lines": lines,
        }


def _lines(row: Mapping[str, Any], key: PriceKey) -> Iterator[Item]:
    for line, tokens, unit_price, amount in charges(_tokens(row), key):
        node = row["input_node_id"] if line in INPUT_LINES else row["output_node_id"]
        yield {
            "line": line,
            "tokens": tokens,
            "unit_price": plain(unit_price),
            "amount": plain(amount),
            "node_id": node,
        }


def _item(row: Mapping[str, Any], keys: Mapping[int, PriceKey]) -> tuple[str, Item]:
    """A request that is not billed, with the money at stake; None where no number can be said."""
    kind, lines = row["disposition"], _tokens(row)
    low: Decimal | None = Decimal(0)
    high: Decimal | None = Decimal(0)
    if kind != "cost":
        key = keys.get(row["price_key"])
        known = key is not None and not str(row["reason"]).startswith("no_")
        low, high = amount_range(lines, key) if key is not None and known else (None, None)
        if kind == "undelivered":
            low = Decimal(0)
        if not (row["input_known"] and row["output_known"]):
            high = None
    return kind, {
        "event_id": row["event_id"],
        "request_id": row["request_id"],
        "tenant_id": row["tenant_id"],
        "model_id": row["model_id"],
        "reason": row["reason"],
        "tokens": lines.total(),
        "amount_min": None if low is None else plain(low),
        "amount_max": None if high is None else plain(high),
        "flags": flag_names(row["flags"]),
        "policy": deciding_policy(kind, row["reason"], flag_names(row["flags"])),
    }


def _aside(row: Mapping[str, Any]) -> Item:
    names = ("event_id", "request_id", "tenant_id", "model_id", "reason", "tokens")
    return {name: row[name] for name in names} | {"amount_min": None, "amount_max": None}


def _tokens(row: Mapping[str, Any]) -> Lines:
    return Lines(
        uncached=row["uncached_tokens"],
        cached=row["cached_tokens"],
        cached_explicit=row["cached_explicit_tokens"],
        cache_write=row["cache_write_tokens"],
        cache_write_1h=row["cache_write_1h_tokens"],
        unsplit=row["unsplit_tokens"],
        output=row["output_tokens"],
        reasoning=row["reasoning_tokens"],
    )


def _price_key(row: Mapping[str, Any]) -> PriceKey:
    texts = {name: row[name] for name in ("currency", "book", "book_revision", "entry", *NAMING)}
    return PriceKey(**texts, **{name: row[name] for name in PRICE_FIELDS})


def _price_name(key: PriceKey) -> str:
    """The entry and the rules that applied, as a person names them."""
    return " · ".join(text for text in (key.entry, *(getattr(key, n) for n in NAMING)) if text)
