"""What each server earned: the ledger's sum beside the formula, per price key, exact."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby

from pricing.formula import TokenPrices, exact_decimal, throughput_of_counts, window_revenue
from pricing.instances import Instances
from pricing.money import exact_sum
from pricing.rating import Lines

TOKENS_PER_PRICE_UNIT = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EarnedLines:
    """Billed tokens of one node under one price key, and their amount as the ledger summed it.

    prices: per million tokens in `currency`, by column of the price key (input_price …).
    """

    node_id: str | None
    stage: str
    pool: str | None
    currency: str
    price_key: int
    requests: int
    lines: Lines
    prices: Mapping[str, Decimal | None]
    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A server in a window: seconds in service, and its rated throughput where it is known.

    rated_tokens_per_second: input tokens/s of a prefill or unified server, output of a decode one.
    """

    seconds: Fraction
    rated_tokens_per_second: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRevenue:
    """One server's revenue in a window and one currency.

    Rates (tokens/s, ratios) are exact fractions for display only; they never feed money.
    difference = amount − formula: 0, or there is a bug. prices: single, or mixed where more than
    one price key is in force; one_line is then the formula with mean prices, beside the ledger.
    """

    node_id: str | None
    stage: str
    pool: str | None
    currency: str
    requests: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    seconds_in_service: Fraction
    input_tokens_per_second: Fraction
    hit_ratio: Fraction | None
    output_tokens_per_second: Fraction
    utilization_ratio: Fraction | None
    prices: str
    amount: Decimal
    formula: Fraction
    difference: Fraction


def formula_of(row: EarnedLines, seconds: Fraction) -> Fraction:
    """K·T·[(1−r)·p_m + r·p_h] + K·T_out·p_o of one price key, exact, in the key's currency.

    Explicit hits, cache writes and reasoning are further terms K·T_x·p_x (docs/formulas.md §1).
    """
    lines = row.lines
    main = throughput_of_counts(
        seconds,
        input_tokens=lines.uncached + lines.cached,
        cached_tokens=lines.cached,
        output_tokens=lines.output,
    )
    prices = TokenPrices(
        input_price=row.prices["input_price"] or 0,
        cached_price=row.prices["cached_price"] or 0,
        output_price=row.prices["output_price"] or 0,
    )
    total = window_revenue(seconds, main, prices=prices).total
    for tokens, column in (
        (lines.cached_explicit, "cached_explicit_price"),
        (lines.cache_write, "cache_write_price"),
        (lines.cache_write_1h, "cache_write_1h_price"),
        (lines.reasoning, "reasoning_price"),
    ):
        per_second = tokens / seconds
        total += seconds * per_second / TOKENS_PER_PRICE_UNIT * Fraction(row.prices[column] or 0)
    return total


def server_revenue(
    rows: Iterable[EarnedLines], services: Mapping[str | None, Service], default: Service
) -> list[ServerRevenue]:
    """Revenue of each server, stage and currency, in order of node.

    Seconds in service come from `services`, or `default` for a node that is not registered.
    """
    ordered = sorted(rows, key=_group)
    return [
        _one(list(members), services.get(key[2], default))
        for key, members in groupby(ordered, key=_group)
    ]


def over_servers(
    rows: Iterable[ServerRevenue],
    instances: Instances,
    services: Mapping[str | None, Service],
    *,
    default: Service,
) -> list[ServerRevenue]:
    """Rows of instances as rows of their servers: tokens whole, money to the last digit.

    Rates are those of each server's own seconds and rating. In order of node.
    """
    found = [
        share
        for row in rows
        for share in (
            _shares_of(row, instances, services, default=default)
            if row.node_id in instances.weights
            else [row]
        )
    ]
    return sorted(found, key=_group)


def _shares_of(
    row: ServerRevenue,
    instances: Instances,
    services: Mapping[str | None, Service],
    *,
    default: Service,
) -> list[ServerRevenue]:
    amounts = instances.amount(row.node_id, row.amount)
    gaps = {
        server: Fraction(gap)
        for server, gap in instances.amount(row.node_id, exact_decimal(row.difference)).items()
    }
    requests = instances.count(row.node_id, row.requests)
    hits = instances.count(row.node_id, row.cached_input_tokens)
    misses = instances.count(row.node_id, row.input_tokens - row.cached_input_tokens)
    outputs = instances.count(row.node_id, row.output_tokens)
    rows = []
    for server, amount in amounts.items():
        service = services.get(server, default)
        seconds, rated = service.seconds, service.rated_tokens_per_second
        entered, output = hits[server] + misses[server], outputs[server]
        worked = output if row.stage == "decode" else entered
        rows.append(
            replace(
                row,
                node_id=server,
                requests=requests[server],
                input_tokens=entered,
                cached_input_tokens=hits[server],
                output_tokens=output,
                seconds_in_service=seconds,
                input_tokens_per_second=entered / seconds,
                hit_ratio=Fraction(hits[server], entered) if entered else None,
                output_tokens_per_second=output / seconds,
                utilization_ratio=worked / (rated * seconds) if rated else None,
                amount=amount,
                formula=Fraction(amount) - gaps[server],
                difference=gaps[server],
            )
        )
    return rows


def _group(row: EarnedLines | ServerRevenue) -> tuple[str, str, str | None, str]:
    return (row.node_id or "", row.stage, row.node_id, row.currency)


def _one(rows: Sequence[EarnedLines], service: Service) -> ServerRevenue:
    first, seconds = rows[0], service.seconds
    cached = sum(r.lines.cached + r.lines.cached_explicit for r in rows)
    written = sum(r.lines.cache_write + r.lines.cache_write_1h for r in rows)
    total_input = cached + written + sum(r.lines.uncached for r in rows)
    output = sum(r.lines.output + r.lines.reasoning for r in rows)
    amount = exact_sum(r.amount for r in rows)
    formula = sum((formula_of(r, seconds) for r in rows), Fraction(0))
    rated = service.rated_tokens_per_second
    worked = output if first.stage == "decode" else total_input
    return ServerRevenue(
        node_id=first.node_id,
        stage=first.stage,
        pool=first.pool,
        currency=first.currency,
        requests=sum(r.requests for r in rows),
        input_tokens=total_input,
        cached_input_tokens=cached,
        output_tokens=output,
        seconds_in_service=seconds,
        input_tokens_per_second=total_input / seconds,
        hit_ratio=Fraction(cached, total_input) if total_input else None,
        output_tokens_per_second=output / seconds,
        utilization_ratio=worked / (rated * seconds) if rated else None,
        prices="single" if len({r.price_key for r in rows}) == 1 else "mixed",
        amount=amount,
        formula=formula,
        difference=Fraction(amount) - formula,
    )
