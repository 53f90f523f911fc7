"""/v1/roi: investment cases weighed, saved, compared, exported, started from metered months."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import date, datetime
from math import isfinite
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.figures import INVESTMENT, PAGE, figure, meanings
from pricing.api.known_servers import known, registered
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, many, one
from pricing.api.shapes import Currency, Figure, Id, Listing, Shape, Shown, Text, Time
from pricing.api.windows import WindowQuery, until_now
from pricing.errors import NotFound, PricingError, RequestInvalid
from pricing.estimates.case_file import CaseStated, case_of
from pricing.estimates.case_report import case_report
from pricing.ledger.connect import Change
from pricing.ledger.roi_cases import SavedCase, add_case, archive_case, get_case, list_cases
from pricing.metered_case import with_metered_months
from pricing.reports.metered_months import metered_months
from pricing.reports.usage_report import HOUR, check_edges
from pricing.roi import Case, Outlook, SteadyMonth

router = APIRouter(tags=["roi"])
Reading = Annotated[Call, may("cases:read")]
Writing = Annotated[Call, may("cases:write")]
DRAWN_MONTHS_MAX: Final = 6_000_000  # paths × months over HTTP; `tokentill roi` takes more
COMPARED_MAX: Final = 20
MONEY: Final = "currency of the case; estimate"
NO_CASE: Final = "A case that cannot be weighed"


class ReportShown(Shown):
    """Everything that is told about a case; planning estimates, null where unknown."""

    name: str
    currency: Currency
    hardware: str | None
    assumptions: dict[str, Any]
    steady_month: dict[str, float | None] = Field(description="one month at full ramp")
    outlook: dict[str, float | None] = Field(description="what the cash flows are worth")
    rates: dict[str, Any] = Field(description="internal rates, and what to know about them")
    tornado: list[dict[str, Any]] = Field(description="NPV at each driver's low and high value")
    heat_map: dict[str, Any] = Field(description="NPV by utilisation and hit ratio")
    monte_carlo: dict[str, Any] | None
    cash_flows: list[dict[str, Any]]
    conventions: list[str]
    figures: dict[str, Figure]


class CaseSaved(Shown):
    """A saved case."""

    case_id: Id = Field(examples=["roi_0f9d2f6f5f8f3c2a"])
    name: str
    currency: Currency
    note: str | None
    created_at: Time
    created_by: str
    archived_at: Time | None


class CaseRead(CaseSaved):
    """A saved case with its report, computed now from what was stated then."""

    stated: dict[str, Any]
    report: ReportShown


class NewCase(Shape):
    """A case to keep."""

    case: CaseStated
    note: Text | None = Field(None, examples=["offer of 2026-10-12"])


class MeteredAsked(Shape):
    """A case whose traffic, hit ratio, utilisation and prices come from metered usage."""

    case: CaseStated
    node_ids: Annotated[list[Id], Field(min_length=1, max_length=1_000)]
    start_at: Time
    end_at: Time


class MeteredShown(Shown):
    """The case as it starts from the metered window, ready to be saved, and its report."""

    stated: dict[str, Any]
    report: ReportShown


class ComparedRow(Shown):
    """One case in a comparison."""

    case_id: Id
    name: str
    currency: Currency
    investment: float = figure(MONEY, INVESTMENT)
    utilization: float = figure("ratio, 0–1", INVESTMENT)
    hit_ratio: float = figure("ratio, 0–1", INVESTMENT)
    npv: float | None = figure(MONEY, INVESTMENT)
    irr_year: float | None = figure("ratio per year", INVESTMENT, "effective; estimate")
    xirr: float | None = figure("ratio per year", INVESTMENT, "actual/365; estimate")
    payback_months: float | None = figure("months", INVESTMENT, "estimate")
    discounted_payback_months: float | None = figure("months", INVESTMENT, "estimate")
    profitability_index: float | None = figure("ratio", INVESTMENT, "estimate")
    break_even_utilization: float | None = figure("ratio", INVESTMENT, "NPV = 0; estimate")
    break_even_input_price: float | None = figure(
        "currency of the case, per million tokens", INVESTMENT, "NPV = 0; estimate"
    )
    net_revenue_month: float | None = figure(MONEY, INVESTMENT, "at full ramp")
    gross_margin: float | None = figure("ratio", INVESTMENT, "1 − cost ÷ net revenue")
    loss_probability: float | None = figure("ratio, 0–1", INVESTMENT, "of the Monte Carlo")
    finding: str | None = Field(description="what to know about the rates")


class FlowRow(Shown):
    """One cash flow."""

    case_id: Id
    currency: Currency
    date: date
    amount: float = figure(MONEY, INVESTMENT, "flow 0 is the investment")


class CompareAsked(Shape):
    """Which cases."""

    case_id: Annotated[list[Id], Field(min_length=1, max_length=COMPARED_MAX)]


@router.post("/v1/roi/report", summary="Weigh a case", response_model=ReportShown)
def post_report(call: Reading, case: CaseStated) -> Response:
    """The case of docs/roi.md as JSON: NPV, IRR, payback, break-evens, tornado; nothing is kept."""
    return one(call.request, weighed(case))


@router.post("/v1/roi/cases", summary="Save a case", response_model=CaseRead, status_code=201)
def post_case(call: Writing, new: NewCase) -> Response:
    """What was assumed is kept as stated and never changed; state a new case instead."""
    report = weighed(new.case)
    stated = new.case.model_dump(mode="json", exclude_unset=True)

    def made(change: Change) -> CaseRead:
        saved = add_case(
            change, new.case.name, currency=new.case.currency, stated=stated, note=new.note
        )
        return _read(saved, report)

    return call.created(made, new)


@router.get(
    "/v1/roi/cases",
    summary="List cases",
    response_model=Listing[CaseSaved],
    responses=LIST_CONTENT,
)
def get_cases(call: Reading, paging: Paged) -> Response:
    """Saved cases, oldest first; archived ones are left out."""
    return ledger_list(call, CaseSaved, paging, list_cases, created_at=datetime, case_id=str)


@router.get("/v1/roi/cases/{case_id}", summary="Read a case", response_model=CaseRead)
def get_one_case(call: Reading, case_id: Id) -> Response:
    """What was stated, and its report."""
    saved = _saved(call, case_id)
    return one(call.request, _read(saved, weighed(_stated(saved))))


@router.delete("/v1/roi/cases/{case_id}", summary="Archive a case", response_model=CaseSaved)
def delete_case(call: Writing, case_id: Id) -> Response:
    """Leaves the list; it can still be read by its id."""
    with call.change() as change:
        saved = archive_case(change, case_id)
    return one(call.request, CaseSaved.model_validate(saved))


@router.get(
    "/v1/roi/compare",
    summary="Compare cases",
    response_model=Listing[ComparedRow],
    responses=LIST_CONTENT,
)
def get_comparison(call: Reading, asked: Annotated[CompareAsked, Query()]) -> Response:
    """Saved cases side by side, a row each; CSV and Arrow by Accept are the export."""
    rows = [_compared(_saved(call, case_id)) for case_id in asked.case_id]
    return many(call.request, ComparedRow, rows)


@router.get(
    "/v1/roi/cases/{case_id}/flows",
    summary="Export cash flows",
    response_model=Listing[FlowRow],
    responses=LIST_CONTENT,
)
def get_flows(call: Reading, case_id: Id) -> Response:
    """A row per flow: the investment, then each month."""
    saved = _saved(call, case_id)
    report = weighed(_stated(saved))
    rows = [{"case_id": case_id, "currency": saved.currency, **flow} for flow in report.cash_flows]
    return many(call.request, FlowRow, rows)


@router.post(
    "/v1/roi/metered", summary="Start a case from metered months", response_model=MeteredShown
)
def post_metered(call: Reading, asked: MeteredAsked) -> Response:
    """Traffic, hit ratio, utilisation and mean prices of the servers replace those of the case.

    Several servers are taken as one; state the investment and the costs for all of them.
    """
    window = WindowQuery(start_at=asked.start_at, end_at=asked.end_at).window()
    check_edges(window, [window], HOUR)
    passed, servers = until_now(window, call.at), registered(call)
    missing = [node_id for node_id in asked.node_ids if node_id not in servers]
    if missing:
        raise NotFound(f"There is no server {missing[0]!r}.")
    facts = [known(servers[node_id]) for node_id in dict.fromkeys(asked.node_ids)]
    measured, sales = call.usage(
        lambda cursor: metered_months(cursor, passed, facts, currency=asked.case.currency)
    )
    try:
        case = with_metered_months(_built(asked.case), measured, sales)
        stated = _with(asked.case, case)
    except ValueError as error:
        raise RequestInvalid(f"{error}.", remedy="Choose another window.") from error
    report = weighed(stated)
    shown = {"stated": stated.model_dump(mode="json", exclude_unset=True), "report": report}
    return one(call.request, MeteredShown.model_validate(shown))


def weighed(stated: CaseStated) -> ReportShown:
    """The report of a case. Raises RequestInvalid for one that cannot be weighed."""
    draws = stated.monte_carlo
    if draws is not None and draws.paths * stated.months > DRAWN_MONTHS_MAX:
        raise RequestInvalid(
            f"monte_carlo.paths × months must be at most {DRAWN_MONTHS_MAX:,} here.",
            remedy="Fewer paths, or `tokentill roi CASE.toml`.",
        )
    try:
        report = case_report(case_of(stated, named=stated.name))
    except (PricingError, ArithmeticError, ValueError) as error:
        raise RequestInvalid(
            f"{NO_CASE}: {error}", remedy="docs/roi.md lists every key."
        ) from error
    return ReportShown.model_validate({**_finite(report), "figures": FIGURES})


def _built(stated: CaseStated) -> Case:
    try:
        return case_of(stated, named=stated.name).case
    except PricingError as error:
        raise RequestInvalid(
            f"{NO_CASE}: {error}", remedy="docs/roi.md lists every key."
        ) from error


def _with(stated: CaseStated, case: Case) -> CaseStated:
    """`stated` with the traffic and the prices of `case`."""
    whole = stated.model_dump(exclude_unset=True)
    whole["traffic"] |= {
        name: getattr(case, name)
        for name in (
            "input_tokens_per_second",
            "hit_ratio",
            "output_tokens_per_second",
            "utilization",
        )
    }
    whole["prices"] |= {
        "input": case.price_input,
        "cached_input": case.price_cached,
        "output": case.price_output,
    }
    return CaseStated.model_validate(whole)


def _saved(call: Call, case_id: str) -> SavedCase:
    with call.ledger() as connection:
        return get_case(connection, case_id)


def _stated(saved: SavedCase) -> CaseStated:
    return CaseStated.model_validate(saved.stated)


def _read(saved: SavedCase, report: ReportShown) -> CaseRead:
    shown = {field.name: getattr(saved, field.name) for field in fields(saved)}
    return CaseRead.model_validate(shown | {"report": report})


def _compared(saved: SavedCase) -> dict[str, Any]:
    report = weighed(_stated(saved))
    shown = {**report.rates, **report.outlook}
    found = {name: shown.get(name) for name in ComparedRow.model_fields if name in shown}
    return found | {
        "case_id": saved.case_id,
        "name": saved.name,
        "currency": saved.currency,
        **{n: report.assumptions[n] for n in ("investment", "utilization", "hit_ratio")},
        "net_revenue_month": report.steady_month["net_revenue"],
        "gross_margin": report.steady_month["gross_margin"],
        "loss_probability": (report.monte_carlo or {}).get("loss_probability"),
    }


def _finite(value: Any) -> Any:
    """`value` without infinities: a figure that overflowed is unknown."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _unit(name: str) -> str:
    """Unit of a figure of a case, by its name."""
    if name.endswith("_months"):
        return "months"
    if ("price" in name and "factor" not in name) or "per_million" in name:
        return "currency of the case, per million tokens; estimate"
    if any(word in name for word in ("utilization", "margin", "ratio", "index", "factor")):
        return "ratio; estimate"
    return MONEY


FIGURES: Final = {
    field.name: {"unit": _unit(field.name), "formula": f"{PAGE}#{INVESTMENT}"}
    for kind in (SteadyMonth, Outlook)
    for field in fields(kind)
} | meanings(ComparedRow)
