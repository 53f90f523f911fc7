"""/v1/capacity: servers that a demand needs, from measured throughputs (docs/roi.md)."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.figures import (
    CONTEXTS,
    KV_LINKS,
    REPLACEMENT,
    SERVERS,
    TOKENS_PER_SECOND,
    figure,
    meanings,
)
from pricing.api.representation import one
from pricing.api.shapes import Figure, Shown
from pricing.errors import RequestInvalid
from pricing.estimates.capacity_sheet import Sheet, sheet_report

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]


class ReplacesShown(Shown):
    """What the pool's servers amount to in units of the faster ones they stand for."""

    equivalence: float = figure("ratio", REPLACEMENT, "throughput of one in units of a faster one")
    fast_equivalents: float = figure("faster servers", REPLACEMENT)
    covered: bool
    shortfall: float = figure("ratio, 0–1", REPLACEMENT, "missing share")
    slower_by: float = figure("times", REPLACEMENT, "one prompt takes longer")


class PoolShown(Shown):
    """A pool that was sized."""

    equivalent_tokens_per_second: float = figure(TOKENS_PER_SECOND, CONTEXTS, "of one server")
    servers_exact: float = figure("servers", SERVERS, "before whole instances")
    instances: int = figure("instances", SERVERS, "spares included")
    servers: int = figure("servers", SERVERS)
    utilization: float = figure("ratio", SERVERS, "of all servers")
    utilization_after_loss: float | None = figure("ratio", SERVERS, "with one instance gone")
    cost_per_month: float | None = figure("currency of the sheet, per month", SERVERS, "estimate")
    replaces: ReplacesShown | None


class LinkShown(Shown):
    """KV traffic of one server."""

    gbps_per_server: float = figure("Gbit/s", KV_LINKS)
    port_use: float = figure("ratio", KV_LINKS, "of its ports")


class LinksShown(Shown):
    """KV traffic between the pools."""

    gbps: float = figure("Gbit/s", KV_LINKS, "in all")
    prefill: LinkShown
    decode: LinkShown


class CapacityShown(Shown):
    """The answer in whole instances: a screen, not a simulation."""

    name: str
    pools: dict[str, PoolShown] = Field(description="prefill and decode")
    kv_links: LinksShown | None
    findings: list[str] = Field(description="what does not fit together")
    figures: dict[str, Figure]


@router.post("/v1/capacity", summary="Size a cluster", response_model=CapacityShown)
def post_capacity(call: Reading, sheet: Sheet) -> Response:
    """The sheet of docs/roi.md as JSON; nothing is stored. Numbers may be text, exact."""
    try:
        report = sheet_report(sheet)
    except ValueError as error:
        raise RequestInvalid(f"{error}.", remedy="docs/roi.md lists every key.") from error
    shapes = (PoolShown, ReplacesShown, LinkShown, LinksShown)
    figures = {name: each for shape in shapes for name, each in meanings(shape).items()}
    return one(call.request, CapacityShown.model_validate({**report, "figures": figures}))
