"""/v1/economics/attribution: who earned it under another rule; price-line is the book of record."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import duckdb
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Ratio
from pricing.api.figures import EARNED, MONEY, RATIO, about, figure
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Report, Shown
from pricing.api.windows import WindowQuery, until_now
from pricing.cost_chargeback import NodeWork
from pricing.errors import RequestInvalid
from pricing.formula import Exact
from pricing.reports.attribution_report import Attributed, Rule, RuleName, attribution_report
from pricing.reports.owner_work import whole_work
from pricing.reports.server_economics import KnownServer, lines_of, node_energy
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]


class AttributionAsked(WindowQuery):
    """Which window, and the rule of the report."""

    rule: RuleName = Field(RuleName.PRICE_LINE, description="price_line is the book of record")
    kv_share: Ratio = Field(Decimal(0), description="share of the cached line to the KV store")
    first_token_to_prefill: bool = Field(
        default=False, description="the first output token, which the prefill server samples"
    )
    kappa: Ratio = Field(Decimal(0), description="for the cost rule")


class AttributedRow(Shown):
    """What one server, tenant or the KV store got under the rule."""

    kind: Literal["server", "kv_store", "tenant"]
    name: str | None = Field(description="node or tenant; null: named none", examples=["p01"])
    currency: Currency
    prefill: Amount = figure(MONEY, EARNED, "as prefill server, or of prefill work")
    decode: Amount = figure(MONEY, EARNED, "as decode server, or of decode work")
    kv_store: Amount = figure(MONEY, EARNED, "of the KV store")
    amount: Amount = figure(MONEY, EARNED, "sum of the parts")
    share: float | None = figure(RATIO, EARNED, "of its kind in its currency")


@router.get(
    "/v1/economics/attribution",
    summary="Read who earned it under a rule",
    response_model=Report[AttributedRow],
    responses=LIST_CONTENT,
)
def get_attribution(call: Reading, asked: Annotated[AttributionAsked, Query()]) -> Response:
    """Σ servers (with the KV store) = Σ tenants = what the ledger billed, under every rule.

    /v1/revenue/servers, invoices and chargeback always use price_line without options; the others
    are reports. The cost rule needs the cost_assumptions of every server that earned.
    """
    window = asked.window()
    check_edges(window, [window], HOUR)
    passed = until_now(window, call.at)
    facts = [known(server) for server in registered(call).values()]

    def report(cursor: duckdb.DuckDBPyConnection) -> list[Attributed]:
        return attribution_report(cursor, passed, _rule(cursor, passed, asked, facts))

    rows = call.usage(report)
    shown = [_row(row, rows) for row in rows]
    return many(call.request, AttributedRow, shown, beside=about(AttributedRow, passed))


def _rule(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    asked: AttributionAsked,
    facts: Sequence[KnownServer],
) -> Rule:
    by_cost = asked.rule is RuleName.COST
    return Rule(
        name=asked.rule,
        kv_share=asked.kv_share,
        first_token_to_prefill=asked.first_token_to_prefill,
        kappa=asked.kappa,
        unit_costs=_unit_costs(cursor, window, facts, asked.kappa) if by_cost else None,
    )


def _unit_costs(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    facts: Sequence[KnownServer],
    kappa: Exact,
) -> dict[str, Exact]:
    """Cost of a server's window ÷ its work there, by node; every node that worked needs a cost."""
    energy = node_energy(cursor, window)
    known_costs = {
        server.node_id: lines
        for server in facts
        if (lines := lines_of(server, window, energy.get(server.node_id))) is not None
    }
    currencies = {server.costs.currency for server in facts if server.costs is not None}
    found: dict[str, Exact] = {}
    for node_id, rows in whole_work(cursor, window, kappa=kappa).items():
        done = sum((_units(row, kappa) for row in rows), Fraction(0))
        if not done:
            continue
        if node_id not in known_costs or len(currencies) > 1:
            raise RequestInvalid(
                f"The cost rule needs what {node_id or 'an unnamed node'} costs, in one currency.",
                remedy="State its cost_assumptions: PATCH /v1/servers/{node_id}.",
            )
        found[node_id] = Fraction(sum(known_costs[node_id].values())) / done
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
