"""The FastAPI application: routes by noun, one door, one kind of error."""

from typing import Any, Final

from fastapi import Depends, FastAPI, Request
from fastapi.routing import APIRoute

from metering.collector.routes import router as ingest_router
from metering.collector.writer import IngestWriter
from pricing.api import problem
from pricing.api.call import Permitted, authenticate
from pricing.api.door import Door, Traffic
from pricing.api.openapi import completed
from pricing.api.problem import Problem
from pricing.api.routes import (
    attribution,
    billing,
    cache,
    cache_gib,
    capacity,
    chargeback_work,
    close,
    cost_centres,
    cost_chargeback,
    disputes,
    economics,
    exports,
    findings,
    health,
    invoices,
    keys,
    openai_compatible,
    operations,
    price_changes,
    price_scenario,
    prices,
    projects,
    reconciliation,
    requests,
    rerates,
    revenue,
    revenue_groups,
    roi,
    server_hours,
    servers,
    slo,
    tenants,
    usage,
    variance,
)
from pricing.api.services import Services
from pricing.errors import RequestInvalid

VERSION: Final = "1"
ROUTERS: Final = tuple(
    module.router
    for module in (
        usage,
        requests,
        revenue,
        server_hours,
        revenue_groups,
        roi,
        cache,
        cache_gib,
        slo,
        capacity,
        attribution,
        cost_chargeback,
        chargeback_work,
        variance,
        economics,
        reconciliation,
        findings,
        close,
        invoices,
        disputes,
        rerates,
        exports,
        billing,
        tenants,
        projects,
        cost_centres,
        keys,
        servers,
        price_changes,
        price_scenario,
        prices,
        operations,
        openai_compatible,
        health,
    )
)
DESCRIPTION: Final = """Usage, prices, revenue and chargeback of an LLM cluster.

Money is decimal text with its currency beside it, exact. Times carry a zone; windows are half-open.
Lists come as JSON, CSV or Arrow by `Accept`, a page at a time: send `next_cursor` as `cursor`.
Every POST that creates takes an `Idempotency-Key`. Errors are `application/problem+json`.
"""
ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "No valid key.",
        403: "The key may not do this.",
        404: "No such thing, or not visible to this key.",
        406: "None of the accepted media types can be made.",
        409: "The change contradicts what is stored.",
        413: "The body is too large.",
        422: "A parameter or the body cannot be used.",
        429: "Wait for the seconds in Retry-After.",
        503: "A store cannot be used now, or the read took too long.",
    }.items()
}


def create_app(services: Services) -> FastAPI:
    """The application over `services`."""
    app = bare_app(services.writer)
    app.state.services = services
    app.add_middleware(
        Door,
        body_bytes_max=services.body_bytes_max,
        traffic=Traffic(services.registry),
        tls=services.tls,
    )
    return app


def bare_app(writer: IngestWriter) -> FastAPI:
    """Every route, with nothing behind it yet: what the OpenAPI file is made of."""
    app = FastAPI(
        title="tokentill",
        version=VERSION,
        description=DESCRIPTION,
        docs_url=None,  # the pages load scripts from elsewhere
        redoc_url=None,
        dependencies=[Depends(_only_known_parameters)],
        responses=ERRORS,
    )
    problem.install(app)
    for each in (*ROUTERS, ingest_router(writer, authenticate)):
        app.include_router(each)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = completed(generate(), permissions())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign] # FastAPI's own way to extend the file
    return app


def permissions() -> dict[tuple[str, str], str]:
    """What a key needs for each (path, method) of ours; the ingest routes need ingest:write."""
    return {
        (route.path, method.lower()): needed.call.permission
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for needed in route.dependant.dependencies
        if isinstance(needed.call, Permitted)
        for method in route.methods or ()
    }


def _only_known_parameters(request: Request) -> None:
    """A misspelt filter must not be no filter; a repeated one must not be the last of them."""
    operation = request.app.openapi()["paths"].get(request.scope["route"].path, {})
    parameters = operation.get(request.method.lower(), {}).get("parameters", [])
    known = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
    for name in request.query_params:
        if name not in known:
            raise RequestInvalid(
                f"{name[:100]!r} is no parameter of this route.",
                remedy=f"Its parameters are: {', '.join(known) or 'none'}.",
            )
        if known[name].get("type") != "array" and len(request.query_params.getlist(name)) > 1:
            raise RequestInvalid(f"{name} is given more than once.", remedy="Give it once.")
