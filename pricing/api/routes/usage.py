"""/v1/usage and /v1/chargeback: tokens and money, exact, by what the roll-ups hold."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.representation import LIST_CONTENT, is_streamed, many, streamed
from pricing.api.shapes import Amount, Id, Listing, Shown, Text, Time
from pricing.api.windows import WindowQuery, bucket_of, zone_of
from pricing.ledger.tenants import zone
from pricing.reports.chargeback import Owner, chargeback_report, owners_of
from pricing.reports.in_runs import in_runs
from pricing.reports.usage_report import (
    Group,
    Interval,
    UsageQuery,
    check_edges,
    usage_in_runs,
    usage_report,
)

router = APIRouter(tags=["usage"])
Reading = Annotated[Call, may("usage:read")]
Charging = Annotated[Call, may("chargeback:read")]
Disposition = Literal["billed", "unpriced", "held", "undelivered", "expired", "cost"]
AMOUNT = Field(description="owed where billed, else the least that is at stake", examples=["0.2"])
AMOUNT_MAX = Field(description="the same where billed, else the most that is at stake")


class Tokens(Shown):
    """Token counts that may be added: no token is in two of them."""

    requests: int = Field(examples=[100])
    uncached_tokens: int = Field(examples=[100_000])
    cached_tokens: int
    cache_write_tokens: int
    unsplit_tokens: int = Field(description="input whose cached part is unknown")
    output_tokens: int
    reasoning_tokens: int


class Charged(Tokens):
    """Token counts with their money, in `currency`; null where no price was found."""

    currency: str | None = Field(examples=["CNY"])
    input_amount: Amount | None
    cached_amount: Amount | None
    cache_write_amount: Amount | None
    output_amount: Amount | None
    reasoning_amount: Amount | None
    amount: Amount | None = AMOUNT
    amount_max: Amount | None = AMOUNT_MAX


class UsageRow(Charged):
    """Usage of one interval and group. A group that was not asked for is null."""

    start_at: Time
    end_at: Time
    tenant_id: str | None = Field(description="null where asked for: unattributed")
    project_id: str | None
    cost_centre_id: str | None
    model_id: str | None
    operation: str | None
    reason: str | None
    entry: str | None = Field(description="entry of the price book")
    context_tier: str | None
    band: str | None
    disposition: Disposition


class ChargebackRow(Charged):
    """What one tenant, project, cost centre and model cost in the window."""

    tenant_id: str | None = Field(description="null: unattributed")
    project_id: str | None
    cost_centre_id: str | None
    model_id: str
    disposition: Disposition
    reason: str | None


class UsageAsked(WindowQuery):
    """What to read."""

    interval: Interval = Field(Interval.NONE, description="how to cut the window")
    zone: Text | None = Field(
        None,
        description="IANA name for days and months; left out: the tenant's billing zone, else UTC",
        examples=["Asia/Shanghai"],
    )
    group_by: list[Group] = Field([], max_length=len(Group), description="what to tell apart")
    tenant_id: Id | None = None
    project_id: Text | None = None
    cost_centre_id: Text | None = None
    model_id: Text | None = None
    disposition: Disposition | None = None


@router.get(
    "/v1/usage",
    summary="Read usage and money",
    response_model=Listing[UsageRow],
    responses=LIST_CONTENT,
)
def get_usage(call: Reading, asked: Annotated[UsageAsked, Query()]) -> Response:
    """Tokens by line with exact amounts, by hour, day or month of a zone, grouped as asked.

    Sums are per currency and disposition; nothing is converted, rounded or left out.
    """
    scope = call.scope(asked.tenant_id)
    query = UsageQuery(
        window=asked.window(),
        interval=asked.interval,
        zone=zone(asked.zone) if asked.zone else zone_of(call, scope) or ZoneInfo("UTC"),
        groups=frozenset(asked.group_by),
        bucket=bucket_of(call, scope),
        project_id=asked.project_id,
        cost_centre_id=asked.cost_centre_id,
        model_id=asked.model_id,
        disposition=asked.disposition,
    )

    def rows(part: UsageQuery) -> list[dict[str, Any]]:
        return call.usage(lambda cursor: usage_report(cursor, scope, part))

    if is_streamed(call.request):
        return streamed(call.request, UsageRow, usage_in_runs(query, rows))
    return many(call.request, UsageRow, rows(query))


class ChargebackAsked(WindowQuery):
    """Which window, and whose."""

    tenant_id: Id | None = None


@router.get(
    "/v1/chargeback",
    summary="Read who pays what",
    response_model=Listing[ChargebackRow],
    responses=LIST_CONTENT,
)
def get_chargeback(call: Charging, asked: Annotated[ChargebackAsked, Query()]) -> Response:
    """Every tenant, project, cost centre and model with its lines; what is not billed apart."""
    scope = call.scope(asked.tenant_id)
    window = asked.window()
    check_edges(window, [window], bucket_of(call, scope))

    def rows(owners: Sequence[Owner] | None = None) -> list[dict[str, Any]]:
        whose = scope.tenant_id
        return call.usage(
            lambda cursor: chargeback_report(cursor, window, tenant_id=whose, owners=owners)
        )

    if is_streamed(call.request):
        owners = call.usage(lambda cursor: owners_of(cursor, window, tenant_id=scope.tenant_id))
        return streamed(call.request, ChargebackRow, in_runs(owners, rows))
    return many(call.request, ChargebackRow, rows())
