"""/v1/economics/attribution: who earned it under another rule; price-line is the book of record."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from pricing.api.attribution_rows import AttributedRow, AttributionAsked, attribution_rows
from pricing.api.call import Call, may
from pricing.api.figures import about
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Report
from pricing.api.windows import until_now
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]


@router.get(
    "/v1/economics/attribution",
    summary="Read who earned it under a rule",
    response_model=Report[AttributedRow],
    responses=LIST_CONTENT,
)
def get_attribution(call: Reading, asked: Annotated[AttributionAsked, Query()]) -> Response:
    """Σ servers (with the KV store) = Σ tenants = what the ledger billed, under every rule.

    /v1/revenue/servers, invoices and chargeback always use price_line without options; the others
    are reports. cost needs the cost_assumptions of every server that earned, shapley their
    ratings; stand_alone spreads tenants' discounts, so the sums are the ledger's less them.
    """
    window = asked.window()
    check_edges(window, [window], HOUR)
    passed = until_now(window, call.at)
    facts = [known(server) for server in registered(call).values()]
    rows = call.usage(lambda cursor: attribution_rows(cursor, passed, asked, facts))
    return many(call.request, AttributedRow, rows, beside=about(AttributedRow, passed))
