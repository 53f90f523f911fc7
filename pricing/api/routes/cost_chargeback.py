"""/v1/chargeback/costs: whose work the servers' cost went into, beside what was charged."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Ratio
from pricing.api.figures import LEDGER, MONEY, SHARES, WORTH, about, figure
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Report, Shown
from pricing.api.windows import WindowQuery, until_now
from pricing.cost_shares import CostKind, Policy
from pricing.errors import RequestInvalid
from pricing.money import decimal_from_text
from pricing.reports.cost_statement import (
    Carried,
    Spreading,
    by_server,
    cost_by_server,
    cost_statement,
)
from pricing.reports.owner_work import Owner
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
PolicyName = Literal["keep", "by_use", "even", "fixed"]
PERCENTS: Any = Field([], max_length=1_000, examples=[["t-alder=60", "t-birch=40"]])


class CostsAsked(WindowQuery):
    """Which window, whose cost, and the policies for what nobody used and what all need."""

    by: Owner = Owner.TENANT
    per_server: bool = Field(default=False, description="a row per owner and server")
    kappa: Ratio = Field(
        Decimal(0), description="server time of a cached token ÷ that of an uncached one"
    )
    idle: PolicyName = Field("keep", description="per server: a line of its own, or spread")
    shared: PolicyName = Field("by_use", description="over all owners, last")
    idle_percent: list[str] = PERCENTS
    shared_percent: list[str] = PERCENTS

    def spreading(self) -> Spreading:
        """The policies. Raises RequestInvalid where fixed percentages do not sum to 100."""
        return Spreading(
            by=self.by,
            kappa=self.kappa,
            idle=_policy("idle", self.idle, self.idle_percent),
            shared=_policy("shared", self.shared, self.shared_percent),
        )


class CarriedRow(Shown):
    """What one owner carries. The rows of a currency sum to what its servers cost."""

    currency: Currency
    node_id: str | None = Field(description="null: servers added up, or shared cost")
    owner: str | None = Field(
        description="tenant, tenant/project, tenant/cost centre, 'unattributed'; null: nobody",
        examples=["t-alder"],
    )
    used: Amount = figure(MONEY, SHARES, "of delivered work")
    failed: Amount = figure(MONEY, SHARES, "of retries, errors, undelivered work")
    reserved: Amount = figure(MONEY, SHARES, "kept for the owner and not used")
    idle: Amount = figure(MONEY, SHARES, "by the idle policy")
    shared: Amount = figure(MONEY, SHARES, "by the shared policy")
    unallocated: Amount = figure(MONEY, SHARES, "a policy found nobody to give it to")
    cost: Amount = figure(MONEY, SHARES, "sum of the kinds")
    charged: Amount | None = figure(MONEY, LEDGER, "billed in the window; null per server")
    margin: Amount | None = figure(MONEY, WORTH, "charged − cost; null: nobody, or per server")


@router.get(
    "/v1/chargeback/costs",
    summary="Read whose work cost what",
    response_model=Report[CarriedRow],
    responses=LIST_CONTENT,
)
def get_cost_chargeback(call: Reading, asked: Annotated[CostsAsked, Query()]) -> Response:
    """Each server's cost by whose work it did: used, failed, reserved, idle, shared; nothing lost.

    Servers without cost_assumptions are not in it; /v1/economics/servers says which. What is kept
    for a tenant is told from idle where cost is laid at tenants.
    """
    window = asked.window()
    check_edges(window, [window], HOUR)
    passed, spreading = until_now(window, call.at), asked.spreading()
    facts = [known(server) for server in registered(call).values()]
    if asked.per_server:
        rows = by_server(call.usage(lambda c: cost_by_server(c, passed, facts, spreading)))
    else:
        rows = call.usage(lambda cursor: cost_statement(cursor, passed, facts, spreading))
    shown = [_row(row) for row in rows]
    return many(call.request, CarriedRow, shown, beside=about(CarriedRow, passed))


def _policy(name: str, policy: PolicyName, percents: Sequence[str]) -> Policy:
    try:
        return Policy(policy, dict(_percent(each) for each in percents))
    except ValueError as error:
        raise RequestInvalid(
            f"{name}: {error}.",
            remedy=f"Give {name}=fixed with {name}_percent=OWNER=PERCENT for each owner.",
        ) from error


def _percent(text: str) -> tuple[str, Decimal]:
    owner, found, percent = text.rpartition("=")
    if not found or not owner:
        raise ValueError(f"expected OWNER=PERCENT, such as t-alder=60, got {text[:100]!r}")
    return owner, decimal_from_text(percent)


def _row(row: Carried) -> dict[str, Any]:
    nobody = row.owner is None or row.charged is None
    return {
        "currency": row.currency,
        "node_id": row.node_id,
        "owner": row.owner,
        **{kind.value: row.kinds[kind] for kind in CostKind},
        "cost": row.cost,
        "charged": row.charged,
        "margin": None if nobody or row.charged is None else row.charged - row.cost,
    }
