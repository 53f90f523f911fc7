"""/v1/organization/…: OpenAI's usage and costs endpoints over our roll-ups, read only.

Tools that already read them point at this address with a key of ours. What the roll-ups do not hold
(user, API key, batch, service tier) is null. Fields and defaults: OpenAI's API reference, resource
"organization usage", as published in 2026.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.representation import tagged
from pricing.api.shapes import Id
from pricing.errors import RequestInvalid
from pricing.reports.usage_report import Group, Interval, UsageQuery, usage_report
from pricing.scope import Scope

router = APIRouter(tags=["openai compatible"])
Reading = Annotated[Call, may("usage:read")]
JSON: Final = msgspec.json.Encoder(decimal_format="number")  # exact digits, as a number
WIDTHS: Final = {"1h": timedelta(hours=1), "1d": timedelta(days=1)}
LIMITS: Final = {"1h": (24, 168), "1d": (7, 31)}  # default and most buckets of a page
COST_LIMITS: Final = (7, 180)
DELIVERED: Final = frozenset({"billed", "unpriced", "held"})
LINES: Final = ("input", "cached", "cache_write", "output", "reasoning")
SECONDS_MAX: Final = 4_102_444_800  # 2100-01-01


class Asked(BaseModel):
    """What both endpoints take. Arrays come as `name` or as `name[]`, as clients do."""

    model_config = ConfigDict(populate_by_name=True)

    start_time: int = Field(ge=0, le=SECONDS_MAX, description="Unix seconds", examples=[1790812800])
    end_time: int | None = Field(None, ge=0, le=SECONDS_MAX, description="exclusive; unset: now")
    limit: int | None = Field(None, ge=1, le=180, description="buckets of one page")
    page: str | None = Field(None, pattern=r"^page_[0-9]{1,10}$", description="next_page")
    project_ids: list[str] = Field([], max_length=1)
    project_ids_in_brackets: list[str] = Field([], max_length=1, alias="project_ids[]")
    tenant_id: Id | None = Field(None, description="ours: one tenant, for a key of the house")


class UsageAsked(Asked):
    """What the usage endpoint takes."""

    bucket_width: Literal["1d", "1h"] = "1d"
    group_by: list[str] = Field([], max_length=6)
    group_by_in_brackets: list[str] = Field([], max_length=6, alias="group_by[]")
    models: list[str] = Field([], max_length=1)
    models_in_brackets: list[str] = Field([], max_length=1, alias="models[]")


class CostsAsked(Asked):
    """What the costs endpoint takes."""

    bucket_width: Literal["1d"] = "1d"
    group_by: list[str] = Field([], max_length=3)
    group_by_in_brackets: list[str] = Field([], max_length=3, alias="group_by[]")


class Bucket(BaseModel):
    """One interval, with one result for each group in it."""

    object: Literal["bucket"] = "bucket"
    start_time: int
    end_time: int
    results: list[dict[str, Any]]


class BucketPage(BaseModel):
    """Buckets in order; next_page leads on while has_more is true."""

    object: Literal["page"] = "page"
    data: list[Bucket]
    has_more: bool
    next_page: str | None


@dataclass(frozen=True, slots=True)
class Cut:
    """The buckets of one page: whole ones of `width`, UTC."""

    window: Window
    width: timedelta
    has_more: bool


@router.get(
    "/v1/organization/usage/completions",
    summary="Read usage as OpenAI's endpoint gives it",
    response_model=BucketPage,
)
def get_completions_usage(call: Reading, asked: Annotated[UsageAsked, Query()]) -> Response:
    """Delivered requests and their tokens; input_tokens holds the cached ones, as there."""
    cut = _cut(call, asked, WIDTHS[asked.bucket_width], LIMITS[asked.bucket_width])
    groups = {*asked.group_by, *asked.group_by_in_brackets}
    scope = call.scope(asked.tenant_id)
    rows = [
        row
        for row in _rows(call, scope, cut=cut, asked=asked, groups=groups)
        if row["disposition"] in DELIVERED
    ]
    results: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        named = _named(row, scope, groups)
        total = results.setdefault((row["start_at"], *named.values()), _usage_result(named))
        total["num_model_requests"] += row["requests"]
        total["input_cached_tokens"] += row["cached_tokens"]
        total["input_uncached_tokens"] += row["uncached_tokens"]
        total["input_cache_write_tokens"] += row["cache_write_tokens"]
        total["input_tokens"] += sum(
            row[f"{line}_tokens"] for line in ("uncached", "cached", "cache_write", "unsplit")
        )
        total["output_tokens"] += row["output_tokens"] + row["reasoning_tokens"]
    return _answer(call, cut, [(key[0], result) for key, result in results.items()])


@router.get(
    "/v1/organization/costs",
    summary="Read costs as OpenAI's endpoint gives them",
    response_model=BucketPage,
)
def get_costs(call: Reading, asked: Annotated[CostsAsked, Query()]) -> Response:
    """Billed amounts by day, exact; one result for each currency, and by line if asked."""
    cut = _cut(call, asked, WIDTHS["1d"], COST_LIMITS)
    groups = {*asked.group_by, *asked.group_by_in_brackets}
    scope = call.scope(asked.tenant_id)
    by_model = groups | {"model"} if "line_item" in groups else groups
    rows = _rows(call, scope, cut=cut, asked=asked, groups=by_model)
    results: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in (row for row in rows if row["disposition"] == "billed"):
        project = _named(row, scope, groups)["project_id"]
        for line_item, amount in _amounts(row, groups):
            key = (row["start_at"], project, line_item, row["currency"])
            total = results.setdefault(key, _cost_result(project, line_item, row["currency"]))
            total["amount"]["value"] += amount
    return _answer(call, cut, [(key[0], result) for key, result in results.items()])


def _cut(call: Call, asked: Asked, width: timedelta, limits: tuple[int, int]) -> Cut:
    """The page that is asked for; a start inside a bucket begins with that bucket."""
    default, most = limits
    count = asked.limit or default
    if count > most:
        raise RequestInvalid(f"limit: at most {most} buckets of this width.")
    seconds = int(asked.page.removeprefix("page_")) if asked.page else asked.start_time
    start = _floor(datetime.fromtimestamp(min(seconds, SECONDS_MAX), UTC), width)
    now = call.at if asked.end_time is None else datetime.fromtimestamp(asked.end_time, UTC)
    end = _floor(now + width - timedelta(microseconds=1), width)
    if end <= start:
        raise RequestInvalid("start_time must lie before end_time.")
    page_end = min(end, start + width * count)
    return Cut(Window(start, page_end), width, has_more=page_end < end)


def _floor(at: datetime, width: timedelta) -> datetime:
    return at - (at - datetime.min.replace(tzinfo=UTC)) % width


def _rows(
    call: Call, scope: Scope, *, cut: Cut, asked: UsageAsked | CostsAsked, groups: set[str]
) -> list[dict[str, Any]]:
    """Usage of the page by what is asked for; a project is one of its tenant, so by that too."""
    wanted = set()
    if "project_id" in groups:
        wanted |= {Group.PROJECT, Group.TENANT}
    if "model" in groups:
        wanted.add(Group.MODEL)
    models = (*asked.models, *asked.models_in_brackets) if isinstance(asked, UsageAsked) else ()
    query = UsageQuery(
        window=cut.window,
        interval=Interval.HOUR if cut.width < WIDTHS["1d"] else Interval.DAY,
        groups=frozenset(wanted),
        project_id=next(iter((*asked.project_ids, *asked.project_ids_in_brackets)), None),
        model_id=next(iter(models), None),
    )
    return call.usage(lambda cursor: usage_report(cursor, scope, query))


def _named(row: dict[str, Any], scope: Scope, groups: set[str]) -> dict[str, str | None]:
    """The groups of a row; the house sees a project with its tenant before it."""
    project = row["project_id"] if "project_id" in groups else None
    if project is not None and scope.every_tenant:
        project = f"{row['tenant_id'] or 'unattributed'}/{project}"
    return {"project_id": project, "model": row["model_id"] if "model" in groups else None}


def _usage_result(named: dict[str, str | None]) -> dict[str, Any]:
    inputs = [f"input_{kind}tokens" for kind in ("", "cached_", "uncached_", "cache_write_")]
    counts = dict.fromkeys((*inputs, "output_tokens", "num_model_requests"), 0)
    unknown = dict.fromkeys(("user_id", "api_key_id", "batch", "service_tier"))
    audio = {"input_audio_tokens": 0, "output_audio_tokens": 0}
    kind = {"object": "organization.usage.completions.result"}
    return kind | counts | audio | named | unknown


def _cost_result(project: str | None, line_item: str | None, currency: str) -> dict[str, Any]:
    return {
        "object": "organization.costs.result",
        "amount": {"value": Decimal(0), "currency": currency.lower()},
        "line_item": line_item,
        "project_id": project,
    }


def _amounts(row: dict[str, Any], groups: set[str]) -> Iterator[tuple[str | None, Decimal]]:
    if "line_item" not in groups:
        yield None, row["amount"]
        return
    for line in LINES:
        if amount := row[f"{line}_amount"]:
            yield f"{row['model_id']}, {line.replace('_', ' ')}", amount


def _answer(call: Call, cut: Cut, results: Sequence[tuple[datetime, dict[str, Any]]]) -> Response:
    """Every bucket of the page, empty ones too, with its results."""
    data = []
    start = cut.window.start_at
    while start < cut.window.end_at:
        end = start + cut.width
        data.append(
            {
                "object": "bucket",
                "start_time": int(start.timestamp()),
                "end_time": int(end.timestamp()),
                "results": [result for at, result in results if at == start],
            }
        )
        start = end
    page = f"page_{int(cut.window.end_at.timestamp())}" if cut.has_more else None
    body = {"object": "page", "data": data, "has_more": cut.has_more, "next_page": page}
    return tagged(call.request, JSON.encode(body), "application/json")
