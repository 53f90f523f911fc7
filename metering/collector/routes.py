"""Where usage comes in over HTTP (docs/wire.md). The event loop never calls DuckDB.

A request is read, decoded on a worker thread, queued for the writer, and answered after COMMIT.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Protocol

import msgspec
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, Request, Response
from starlette.requests import ClientDisconnect

from metering.collector.body import read_body
from metering.collector.decode import (
    Body,
    Origin,
    leg_batch,
    litellm_batch,
    reject_batch,
    sample_batch,
    watermark,
)
from metering.collector.examples import (
    EVENTS_ROUTE,
    LEGS_ROUTE,
    LITELLM_ROUTE,
    REJECTS_ROUTE,
    SAMPLES_ROUTE,
)
from metering.collector.limits import Limits
from metering.collector.node_key import bound_batch, bound_origin
from metering.collector.writer import IngestWriter
from metering.errors import BatchUnreadable
from metering.store.batches import Answer, Batch
from metering.usage import TEXT_LENGTH_MAX, Stage

PERMISSION: Final = "ingest:write"
DECODERS: Final = 2  # bodies decoded at once: each may unpack to Limits.unpacked_bytes


class Sender(Protocol):
    """Whose credential a request carries. node_id: the only node that it may write for."""

    @property
    def key_id(self) -> str:
        """The credential; ids that a sender chose are unique within it."""

    @property
    def node_id(self) -> str | None:
        """The only node that the credential may write for; None: any."""

    def require(self, permission: str) -> None:
        """Raise unless the credential holds `permission`."""


Decode = Callable[[Body, Origin, Limits], Batch]


@dataclass(frozen=True, slots=True)
class Intake:
    """The way of one body from the wire to the store."""

    writer: IngestWriter
    limits: Limits
    decoders: CapacityLimiter

    async def take(self, request: Request, sender: Sender, decode: Decode) -> Answer:
        """The answer to the body of `request`, once it is durable."""
        sender.require(PERMISSION)
        self.writer.require_room()
        origin = _origin(request, sender)
        headers = request.headers
        try:
            data = await read_body(
                request.stream(), headers.get("content-length"), self.limits.body_bytes
            )
        except ClientDisconnect:
            raise BatchUnreadable("the body ended before its length was reached") from None
        body = Body(
            data=data,
            content_type=headers.get("content-type", ""),
            encoding=headers.get("content-encoding"),
        )
        batch = await to_thread.run_sync(
            self._decode, decode, body, origin, sender.node_id, limiter=self.decoders
        )
        if headers.get("tokentill-import") == "true":
            batch = replace(batch, imported=True)
        return await asyncio.wrap_future(self.writer.submit(batch))

    def _decode(self, decode: Decode, body: Body, origin: Origin, node_id: str | None) -> Batch:
        batch = decode(body, origin, self.limits)
        return batch if node_id is None else bound_batch(batch, node_id)


def router(
    writer: IngestWriter, authenticate: Callable[..., Any], *, limits: Limits | None = None
) -> APIRouter:
    """The ingest routes. authenticate: a dependency that gives a `Sender` or raises."""
    intake = Intake(writer, limits or Limits(), CapacityLimiter(DECODERS))
    routes = APIRouter(tags=["ingest"])
    who = Depends(authenticate)

    @routes.post("/v1/usage/legs", **LEGS_ROUTE)
    async def post_legs(request: Request, sender: Annotated[Any, who]) -> Response:
        """Store finished parts of requests; a resend is a duplicate, never a second row."""
        return _json(await intake.take(request, sender, leg_batch))

    @routes.post("/v1/usage/samples", **SAMPLES_ROUTE)
    async def post_samples(request: Request, sender: Annotated[Any, who]) -> Response:
        """Store scrapes of nodes."""
        return _json(await intake.take(request, sender, sample_batch))

    @routes.post("/v1/usage/rejects", **REJECTS_ROUTE)
    async def post_rejects(request: Request, sender: Annotated[Any, who]) -> Response:
        """Keep records that a sidecar could not read in the quarantine."""
        return _json(await intake.take(request, sender, reject_batch))

    @routes.post("/v1/usage/litellm", **LITELLM_ROUTE)
    async def post_litellm(request: Request, sender: Annotated[Any, who]) -> Response:
        """Store what LiteLLM's generic logger posts, in any of its formats; prompts are not kept.

        The gateway's record says whose a request is; the engines' say what it was.
        """
        return _json(await intake.take(request, sender, litellm_batch))

    @routes.post("/api/v1/events", **EVENTS_ROUTE)
    async def post_events(request: Request, sender: Annotated[Any, who]) -> Response:
        """CloudEvents at the path that OpenMeter's clients use: 204, or what was set aside."""
        answer = await intake.take(request, sender, leg_batch)
        return _json(answer) if answer.records else Response(status_code=204)

    return routes


def _origin(request: Request, sender: Sender) -> Origin:
    """Who sends, and what the headers say of its node."""
    said = {
        name: request.headers.get(f"Tokentill-{name}") or None for name in ("Node", "Stage", "Pool")
    }
    for name, text in said.items():
        if text is not None and len(text) > TEXT_LENGTH_MAX:
            raise BatchUnreadable(f"header Tokentill-{name}: at most {TEXT_LENGTH_MAX} characters")
    if said["Stage"] is not None and said["Stage"] not in set(Stage):
        raise BatchUnreadable(f"header Tokentill-Stage: expected one of {', '.join(Stage)}")
    origin = Origin(
        sender=sender.key_id,
        node=said["Node"],
        stage=said["Stage"],
        pool=said["Pool"],
        watermark_at=watermark(request.headers.get("Tokentill-Watermark")),
    )
    return origin if sender.node_id is None else bound_origin(origin, sender.node_id)


def _json(answer: Answer) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
