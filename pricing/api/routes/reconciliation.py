"""/v1/reconciliation: engine counters, legs, requests and money of a window, the gap by cause."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Listing, Shown, Time
from pricing.api.windows import WindowQuery
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
    amount_min: Amount | None = Field(description="null: billed, or no price known")
    amount_max: Amount | None


class ReconciliationAsked(WindowQuery):
    """Which window, and what to tell apart."""

    by: list[Literal["hour", "model"]] = Field([], max_length=2)


class ReconciliationRow(Shown):
    """One server and measure: counted = the sum of the causes, to the token.

    Metered is what the counters can have seen: legs up to the last sample of the window, from the
    last sample before it.
    """

    node_id: str | None
    stage: str
    pool: str | None
    hour_at: Time | None = Field(description="UTC hour; null unless asked for")
    model_id: str | None = Field(description="null unless asked for, or /metrics names no model")
    measure: str = Field(examples=["input_tokens"])
    counted: int | None = Field(description="by the engine; null: no counter, or seen once only")
    metered: int = Field(description="by legs that finished between the samples")
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
def get_reconciliation(call: Reading, asked: Annotated[ReconciliationAsked, Query()]) -> Response:
    """Each server's counters against its legs, and what became of every token.

    Prefill servers are held to their input, decode servers to their output, unified ones to both.
    """
    window = asked.window()
    with call.ledger() as connection:
        revision = policy_at(connection, call.at)
    policy = Policy.from_toml(revision.toml_text) if revision else Policy()
    tolerance = policy.reconcile_tolerance_tokens
    found = call.usage(
        lambda cursor: reconciliation_report(
            cursor,
            window,
            tolerance_tokens=tolerance,
            by_hour="hour" in asked.by,
            by_model="model" in asked.by,
        )
    )
    return many(call.request, ReconciliationRow, [_row(one) for one in found])


def _row(one: ServerReconciliation) -> dict[str, Any]:
    own = {
        name: getattr(one, name) for name in ReconciliationRow.model_fields if hasattr(one, name)
    }
    inner = asdict(one.reconciled)
    for cause in inner["explained"]:
        low, high = one.causes.get(cause["cause"], (None, None))
        cause |= {"amount_min": low, "amount_max": high}
    return own | inner
