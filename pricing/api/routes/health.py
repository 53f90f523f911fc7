"""/health and /metrics: whether it lives, whether it can write, how far it has come."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from pricing.api.call import Call, may
from pricing.api.services import Services

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """How it is. details: lag and queue, in the units of their names."""

    status: str = Field(examples=["ready"])
    reason: str | None = None
    details: dict[str, Any] = {}


@router.get("/health/live", summary="Is the process alive")
async def live() -> Health:
    """200 while the event loop turns."""
    return Health(status="live")


@router.get(
    "/health/ready",
    summary="Can usage be accepted",
    response_model=Health,
    responses={503: {"model": Health, "description": "A store cannot be written."}},
)
def ready(request: Request) -> Response:
    """503 only while a store cannot be written; the lag is in the body and fails nothing."""
    services: Services = request.app.state.services
    found = services.readiness()
    health = Health(
        status="ready" if found.writable else "not_ready",
        reason=found.reason,
        details=found.details,
    )
    return JSONResponse(health.model_dump(mode="json"), 200 if found.writable else 503)


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(call: Annotated[Call, may("metrics:read")]) -> Response:
    """Revenue, tokens, hit ratio, lag, findings and traffic; no tenant is named.

    docs/api/grafana.json charts them.
    """
    body = generate_latest(call.services.registry)
    return Response(body, media_type=CONTENT_TYPE_LATEST)
