"""Every failure as application/problem+json (RFC 9457): stable type, what is wrong, what to do."""

from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from metering.errors import MeteringError
from pricing.books.findings import BookRefused, Finding
from pricing.errors import (
    BookInvalid,
    NotAuthenticated,
    PricingError,
    RequestInvalid,
    TooManyRequests,
)

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:tokentill:problem:"  # stable; docs/api/errors.md lists what follows it
ERRORS_LISTED_MAX: Final = 20
INTERNAL_REMEDY: Final = PricingError.remedy
REMEDIES: Final = {
    403: "Use the key of that node, or one that may write for every node.",
    404: "Check the path; /openapi.json lists every route.",
    405: "Use one of the methods in the Allow header; /openapi.json lists every route.",
    413: "Send less at once, or raise server.body_bytes_max.",
    415: "Send one of the content types that are named; docs/wire.md describes each.",
    429: "Wait for the seconds in Retry-After, then send the same again.",
    503: "Send the same again later. /health/ready says what is wrong; 'tokentill doctor' looks at "
    "the disk.",
}
log = structlog.get_logger()


class FieldError(BaseModel):
    """One field that cannot be used."""

    field: str
    reason: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457)."""

    type: str = Field(examples=[TYPE_PREFIX + "not-found"])
    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no tenant 't-oak', or this credential may not see it."])
    remedy: str = Field(examples=["Check the id; list the collection to see what may be read."])
    request_id: str = Field(examples=["5b1c4f0e8f2a4d0f9d2f6f5f8f3c2a11"])
    errors: list[FieldError] | None = None


def respond(
    problem: Problem, headers: dict[str, str] | None = None, *, head: bool = False
) -> Response:
    """The problem as an answer."""
    body = b"" if head else problem.model_dump_json(exclude_none=True).encode()
    return Response(body, problem.status, headers, media_type=MEDIA_TYPE)


def of_status(status: int, detail: str, *, request_id: str) -> Problem:
    """A problem that only its HTTP status describes."""
    phrase = HTTPStatus(status).phrase
    return Problem(
        type=TYPE_PREFIX + phrase.lower().replace(" ", "-"),
        title=phrase.capitalize(),
        status=status,
        detail=detail,
        remedy=REMEDIES.get(status, RequestInvalid.remedy),
        request_id=request_id,
    )


def of_error(error: PricingError, request_id: str) -> Problem:
    """The problem that an expected failure is."""
    return Problem(
        type=TYPE_PREFIX + error.problem,
        title=error.problem.replace("-", " ").capitalize(),
        status=error.status,
        detail=str(error.args[0]),
        remedy=error.remedy or type(error).remedy,
        request_id=request_id,
    )


def install(app: FastAPI) -> None:
    """Answer every exception of `app` with a problem."""
    app.add_exception_handler(PricingError, _pricing_error)
    app.add_exception_handler(MeteringError, _metering_error)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(Exception, _unexpected)


def _id(request: Request) -> str:
    return str(request.state.request_id)


def _pricing_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PricingError)  # noqa: S101 - registered for it
    headers = {}
    if isinstance(error, TooManyRequests):
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="tokentill"'
    answer = of_error(error, _id(request))
    if isinstance(error, BookRefused):
        found = [_of_finding(finding) for finding in error.findings[:ERRORS_LISTED_MAX]]
        answer = answer.model_copy(update={"errors": found, "remedy": BookInvalid.remedy})
    return respond(answer, headers)


def _of_finding(finding: Finding) -> FieldError:
    """A mistake of a price book: its line and place, what is wrong and what to do."""
    line = "" if finding.line is None else f"line {finding.line}, "
    return FieldError(field=line + finding.where, reason=f"{finding.message} {finding.remedy}")


def _metering_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, MeteringError)  # noqa: S101 - registered for it
    problem = of_status(error.status, str(error), request_id=_id(request))
    headers = {"Retry-After": "1"} if error.status == HTTPStatus.TOO_MANY_REQUESTS else None
    return respond(problem, headers)


def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    problem = of_status(error.status_code, str(error.detail), request_id=_id(request))
    headers = dict(error.headers) if error.headers else None
    return respond(problem, headers, head=request.method == "HEAD")


def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    found = [_field_error(item) for item in error.errors()[:ERRORS_LISTED_MAX]]
    invalid = RequestInvalid(f"{found[0].field}: {found[0].reason}.")
    return respond(of_error(invalid, _id(request)).model_copy(update={"errors": found}))


def _field_error(item: dict[str, Any]) -> FieldError:
    """Where and why; never the value, which may be a secret."""
    where = [str(part) for part in item["loc"]]
    # of JSON that cannot be read, only the place of the first wrong character is known
    field = where[0] if item["type"] == "json_invalid" else ".".join(where[1:]) or where[0]
    return FieldError(field=field, reason=str(item["msg"]).removeprefix("Value error, "))


def _unexpected(request: Request, error: Exception) -> Response:
    """Nobody expected it: logged here, once, with its stack; the answer tells nothing of it."""
    log.error("request_failed", exc_info=error, request_id=_id(request))
    return respond(of_error(PricingError("Something went wrong here."), _id(request)))
