"""Rows of /v1/economics/attribution, for the route and for `tokentill revenue attribution`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

import duckdb
from pydantic import Field

from metering.windows import Window
from pricing.api.cost_assumptions import Money, Ratio
from pricing.api.figures import EARNED, MONEY, RATIO, figure
from pricing.api.shapes import Amount, Currency, DecimalText, Shown
from pricing.api.windows import WindowQuery
from pricing.capacity_game import Alone
from pricing.cost_chargeback import NodeWork
from pricing.errors import RequestInvalid
from pricing.formula import Exact
from pricing.instances import Instances
from pricing.money import decimal_from_text, plain
from pricing.reports.attribution_report import Attributed, attribution_report
from pricing.reports.attribution_rules import Rule, RuleName
from pricing.reports.owner_work import whole_work
from pricing.reports.server_economics import KnownServer, instances_in, lines_of, node_energy

ZERO: Final = Fraction(0)


class AttributionAsked(WindowQuery):
    """Which window, and the rule of the report."""

    rule: RuleName = Field(RuleName.PRICE_LINE, description="price_line is the book of record")
    kv_share: Ratio = Field(Decimal(0), description="share of the cached line to the KV store")
    first_token_to_prefill: bool = Field(
        default=False, description="the first output token, which the prefill server samples"
    )
    kappa: Ratio = Field(Decimal(0), description="for the cost and Shapley rules")
    kv_cost: Money = Field(
        Decimal(0), description="cost rule: of the KV store per million cached tokens read"
    )
    discount: list[str] = Field(
        [],
        max_length=1_000,
        examples=[["t-alder=120.00"]],
        description="stand_alone: TENANT=AMOUNT, taken off what he was billed",
    )
    currency: Currency | None = Field(
        None, description="stand_alone: of the discounts; left out: the only one that was billed"
    )
    decode_slowdown: DecimalText | None = Field(
        None, description="shapley: how many times longer a prefill server needs for an answer"
    )
    prefill_speedup: DecimalText | None = Field(
        None, description="shapley: how many times faster a decode server computes a prompt"
    )

    def named(self) -> str:
        """The rule with what makes it differ from its plain form, as it stands in every row."""
        stated = self.model_dump(exclude={"start_at", "end_at", "rule"}, exclude_defaults=True)
        options = (f"{name}={_text(value)}" for name, value in sorted(stated.items()))
        return " ".join([self.rule, *options])


class AttributedRow(Shown):
    """What one server, tenant or the KV store got under the rule."""

    rule: str = Field(description="with its options", examples=["price_line kv_share=0.5"])
    kind: Literal["server", "kv_store", "tenant"]
    name: str | None = Field(description="node or tenant; null: named none", examples=["p01"])
    currency: Currency
    prefill: Amount = figure(MONEY, EARNED, "as prefill server, or of prefill work")
    decode: Amount = figure(MONEY, EARNED, "as decode server, or of decode work")
    kv_store: Amount = figure(MONEY, EARNED, "of the KV store")
    amount: Amount = figure(MONEY, EARNED, "sum of the parts")
    share: float | None = figure(RATIO, EARNED, "of its kind in its currency")


def attribution_rows(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    asked: AttributionAsked,
    facts: Sequence[KnownServer],
) -> list[AttributedRow]:
    """Servers, the KV store and tenants under the rule that was asked for."""
    instances = instances_in(window, facts)
    rule = _rule(cursor, window, asked, facts, instances=instances)
    found = attribution_report(cursor, window, rule, instances)
    name = asked.named()
    return [AttributedRow.model_validate(_row(row, found) | {"rule": name}) for row in found]


def _rule(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    asked: AttributionAsked,
    facts: Sequence[KnownServer],
    *,
    instances: Instances,
) -> Rule:
    rule = Rule(
        name=asked.rule,
        kv_share=asked.kv_share,
        first_token_to_prefill=asked.first_token_to_prefill,
        kappa=asked.kappa,
        kv_cost=asked.kv_cost,
    )
    if asked.rule is RuleName.COST:
        costs = _unit_costs(cursor, window, facts, asked.kappa, instances=instances)
        return replace(rule, unit_costs=costs)
    if asked.rule is RuleName.STAND_ALONE:
        return replace(rule, discounts=_discounts(cursor, window, asked))
    if asked.rule is RuleName.SHAPLEY:
        alone = _alone(asked)
        return replace(rule, rated=_rated(cursor, window, facts, instances), alone=alone)
    return rule


def _alone(asked: AttributionAsked) -> Alone:
    slowdown, speedup = asked.decode_slowdown, asked.prefill_speedup
    if not slowdown or not speedup:
        raise RequestInvalid(
            "The Shapley rule needs what each side could do without the other.",
            remedy="Give decode_slowdown and prefill_speedup, numbers above 0 such as 3 and 2.",
        )
    return Alone(slowdown, speedup)


def _discounts(
    cursor: duckdb.DuckDBPyConnection, window: Window, asked: AttributionAsked
) -> dict[tuple[str, str], Decimal]:
    currency = asked.currency
    if currency is None:
        plain_rows = attribution_report(cursor, window, Rule())
        billed = {row.currency for row in plain_rows}
        if len(billed) != 1:
            raise RequestInvalid(
                f"The window was billed in {len(billed)} currencies.",
                remedy="Say with currency= which one the discounts are in.",
            )
        currency = billed.pop()
    found: dict[tuple[str, str], Decimal] = {}
    for text in asked.discount:
        tenant_id, sign, amount = text.rpartition("=")
        if not sign or not tenant_id or (tenant_id, currency) in found:
            raise RequestInvalid(
                f"discount={text[:100]!r} cannot be used.",
                remedy="Give TENANT=AMOUNT once per tenant, such as t-alder=120.00.",
            )
        try:
            found[tenant_id, currency] = decimal_from_text(amount)
        except ValueError as error:
            raise RequestInvalid(
                f"discount={text[:100]!r}: {error}.", remedy="Give TENANT=AMOUNT."
            ) from error
    return found


def _rated(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    facts: Sequence[KnownServer],
    instances: Instances,
) -> dict[str, Exact]:
    """Tokens per second by node that worked; an instance's is that of its servers together."""
    found: dict[str, Fraction | None] = {}
    for server in facts:
        name, rated = instances.name_of(server.node_id) or "", server.rated_tokens_per_second
        so_far = found.get(name, ZERO)
        found[name] = None if rated is None or so_far is None else so_far + rated
    rated_nodes: dict[str, Exact] = {}
    for node_id in whole_work(cursor, window, kappa=0):
        speed = found.get(instances.name_of(node_id) or "")
        if not speed:
            raise RequestInvalid(
                f"The Shapley rule needs how fast {node_id or 'an unnamed node'} is.",
                remedy="State its rated_tokens_per_second: PATCH /v1/servers/{node_id}.",
            )
        rated_nodes[node_id] = speed
    return rated_nodes


def _unit_costs(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    facts: Sequence[KnownServer],
    kappa: Exact,
    *,
    instances: Instances,
) -> dict[str, Exact]:
    """Cost of an instance's window ÷ its work, by node; every node that worked needs a cost."""
    costs = _costs(cursor, window, facts, instances)
    currencies = {server.costs.currency for server in facts if server.costs is not None}
    done: dict[str, Fraction] = defaultdict(Fraction)
    nodes = whole_work(cursor, window, kappa=kappa)
    for node_id, rows in nodes.items():
        work = sum((_units(row, kappa) for row in rows), Fraction(0))
        done[instances.name_of(node_id) or ""] += work
    found: dict[str, Exact] = {}
    for node_id in nodes:
        name = instances.name_of(node_id) or ""
        if not done[name]:
            continue
        if costs.get(name) is None or len(currencies) > 1:
            raise RequestInvalid(
                f"The cost rule needs what {node_id or 'an unnamed node'} costs, in one currency.",
                remedy="State its cost_assumptions: PATCH /v1/servers/{node_id}.",
            )
        found[node_id] = Fraction(costs[name] or 0) / done[name]
    return found


def _costs(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    facts: Sequence[KnownServer],
    instances: Instances,
) -> dict[str, Fraction | None]:
    """Cost by instance; None where one of its servers has not stated it."""
    energy = node_energy(cursor, window)
    found: dict[str, Fraction | None] = {}
    for server in facts:
        name = instances.name_of(server.node_id) or ""
        lines, so_far = lines_of(server, window, energy.get(server.node_id)), found.get(name, ZERO)
        found[name] = (
            None
            if lines is None or so_far is None
            else so_far + sum(map(Fraction, lines.values()), ZERO)
        )
    return found


def _units(work: NodeWork, kappa: Exact) -> Fraction:
    """Units of work as the rule weighs them: input by κ, output tokens, or both."""
    uncached = max(0, work.input_tokens - work.cached_tokens)
    of_input = uncached + Fraction(kappa) * work.cached_tokens
    if work.stage == "decode":
        return Fraction(work.output_tokens)
    return of_input if work.stage == "prefill" else of_input + work.output_tokens


def _row(row: Attributed, rows: Sequence[Attributed]) -> dict[str, Any]:
    of_servers = row.kind != "tenant"
    whole = sum(
        each.amount
        for each in rows
        if each.currency == row.currency and (each.kind != "tenant") == of_servers
    )
    return {
        "kind": row.kind,
        "name": None if row.kind == "kv_store" else row.name,
        "currency": row.currency,
        "prefill": row.prefill,
        "decode": row.decode,
        "kv_store": row.kv_store,
        "amount": row.amount,
        "share": float(row.amount / whole) if whole else None,
    }


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(value)
    return plain(value) if isinstance(value, Decimal) else str(value).lower()
