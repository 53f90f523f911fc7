"""/v1/reconciliation: engine counters, legs, requests and money of a window, the gap by cause."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Listing, Shown, Time
from pricing.api.windows import InWindow
from pricing.ledger.policies import policy_at
from pricing.policy import Policy
from pricing.reports.reconciliation import ServerReconciliation, reconciliation_report

router = APIRouter(tags=["operations"])
Reading = Annotated[Call, may("revenue:read")]


class Cause(BaseModel):
    """Tokens that one cause explains; negative where legs exceed the counters."""

    cause: str = Field(examples=["client_disconnects"])
    tokens: int
    requests: int


class ReconciliationRow(Shown):
    """One server and measure: counted = the sum of the causes, to the token."""

    node_id: str | None
    stage: str
    pool: str | None
    measure: str = Field(examples=["input_tokens"])
    counted: int | None = Field(description="by the engine; null: no counter, or seen once only")
    metered: int = Field(description="by legs that finished in the window")
    gap: int | None = Field(description="counted − metered")
    within_tolerance: bool | None
    explained: list[Cause]
    currency: str | None
    amount_min: Amount | None = Field(description="the gap at the lowest price in force")
    amount_max: Amount | None
    restarts: int | None
    last_sample_at: Time | None


@router.get(
    "/v1/reconciliation",
    summary="Reconcile engine counters with usage",
    response_model=Listing[ReconciliationRow],
    responses=LIST_CONTENT,
)
def get_reconciliation(call: Reading, asked: InWindow) -> Response:
    """Each server's counters against its legs, and what became of every token.

    Prefill servers are held to their input, decode servers to their output, unified ones to both.
    """
    window = asked.window()
    with call.ledger() as connection:
        revision = policy_at(connection, call.at)
    policy = Policy.from_toml(revision.toml_text) if revision else Policy()
    tolerance = policy.reconcile_tolerance_tokens
    found = call.usage(
        lambda cursor: reconciliation_report(cursor, window, tolerance_tokens=tolerance)
    )
    return many(call.request, ReconciliationRow, [_row(one) for one in found])


def _row(one: ServerReconciliation) -> dict[str, Any]:
    own = {
        name: getattr(one, name) for name in ReconciliationRow.model_fields if hasattr(one, name)
    }
    inner = asdict(one.reconciled)
    return own | inner
