"""What every request passes: an id, a bound on its body, headers of the answer, one log line."""

import re
import time
from http import HTTPStatus
from typing import Final
from uuid import uuid4

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pricing.api.problem import of_status, respond

REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{8,64}")
SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",  # kept by its ETag, never shared, always asked again
    "Vary": "Authorization, Accept",
}
BODY_TOO_LARGE: Final = "The body is larger than {limit:,} bytes."
log = structlog.get_logger()


class Traffic:
    """Counts of requests and their seconds, for /metrics; by route, never by tenant."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self.requests = Counter(
            "tokentill_http_requests_total", "Answered requests.", labels, registry=registry
        )
        self.seconds = Histogram(
            "tokentill_http_request_seconds", "Time to answer.", ("route",), registry=registry
        )


class Door:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, *, body_bytes_max: int, traffic: Traffic, tls: bool) -> None:
        self.app = app
        self.body_bytes_max = body_bytes_max
        self.traffic = traffic
        self.headers = SECURITY_HEADERS | (
            {"Strict-Transport-Security": "max-age=31536000"} if tls else {}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request_id = given if REQUEST_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status, began = 500, time.perf_counter()

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                answer = MutableHeaders(scope=message)
                answer["X-Request-Id"] = request_id
                for name, value in self.headers.items():
                    answer.setdefault(name, value)
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                if _length(headers) > self.body_bytes_max:
                    detail = BODY_TOO_LARGE.format(limit=self.body_bytes_max)
                    refusal = respond(of_status(413, detail, request_id=request_id))
                    await refusal(scope, receive, send_on)
                else:
                    await self.app(scope, self._bounded(receive), send_on)
            finally:
                self._record(scope, status, time.perf_counter() - began)

    def _bounded(self, receive: Receive) -> Receive:
        """The same body, until it turns out longer than allowed whatever its header said."""
        seen_bytes = 0

        async def receive_bounded() -> Message:
            nonlocal seen_bytes
            message = await receive()
            seen_bytes += len(message.get("body", b""))
            if seen_bytes > self.body_bytes_max:
                raise HTTPException(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    BODY_TOO_LARGE.format(limit=self.body_bytes_max),
                )
            return message

        return receive_bounded

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unknown")
        self.traffic.requests.labels(scope["method"], route, status).inc()
        self.traffic.seconds.labels(route).observe(seconds)
        log.info(
            "request_answered",
            method=scope["method"],
            route=route,
            status=status,
            duration_seconds=round(seconds, 4),
            key_id=scope["state"].get("key_id"),
        )


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "")
    return int(text) if text.isdecimal() else 0
