"""One answer as JSON, CSV or an Arrow stream, whichever was asked for, with its ETag."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse

from pricing.api.chosen import SORT, chosen_fields, ordered
from pricing.api.encoding import ARROW, CSV, ENCODERS
from pricing.api.shapes import Listing, Report
from pricing.errors import PricingError

JSON: Final = "application/json"
LIST_CONTENT: Final[dict[int | str, dict[str, Any]]] = {  # what the OpenAPI file says of a list
    200: {
        "content": {
            CSV: {"schema": {"type": "string"}},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        }
    }
}


class NotAcceptable(PricingError):
    """None of the media types that were asked for can be made."""

    status = 406
    problem = "not-acceptable"
    remedy = f"Accept {JSON}; lists also come as {CSV} and {ARROW}."


def one(request: Request, value: BaseModel) -> Response:
    """A single value as JSON."""
    _chosen(request, (JSON,))
    return tagged(request, value.model_dump_json().encode(), JSON)


def many(
    request: Request,
    shape: type[BaseModel],
    rows: Sequence[Any],
    next_cursor: str | None = None,
    *,
    beside: Mapping[str, Any] | None = None,
) -> Response:
    """A list of `shape`: `rows` are dicts or values with its fields; `fields` and `sort` choose.

    beside: what the JSON says of the whole list, as pricing.api.figures makes it.
    """
    names = chosen_fields(request, shape)
    items = ordered(request, shape, [shape.model_validate(row) for row in rows])
    kind = list_type(request)
    headers = {} if next_cursor is None else {"Tokentill-Next-Cursor": next_cursor}
    if kind == JSON:
        kind_of_list: Any = Listing if beside is None else Report  # the row type is a value here
        listing = kind_of_list[shape](items=items, next_cursor=next_cursor, **(beside or {}))
        around = dict.fromkeys(kind_of_list.model_fields, True)
        shown = around | {"items": {"__all__": set(names)}}
        body = listing.model_dump_json(include=shown).encode()
    else:
        body = b"".join(ENCODERS[kind](shape, names, [items]))
    return tagged(request, body, kind, headers=headers)


def streamed(request: Request, shape: type[BaseModel], chunks: Iterable[Sequence[Any]]) -> Response:
    """A list of any length as CSV or Arrow: `chunks` of its rows, read while the answer is sent.

    What fails before the second chunk is a problem; what fails later breaks the connection, so that
    no part can be taken for the whole. A list of one chunk has an ETag like any other.
    """
    names, kind = chosen_fields(request, shape), list_type(request)
    ahead = iter(chunks)
    begin = [chunk for _, chunk in zip(range(2), ahead, strict=False)]
    if len(begin) < 2:  # noqa: PLR2004 - it is whole already
        return many(request, shape, begin[0] if begin else [])
    rows = ([shape.model_validate(row) for row in chunk] for chunk in chain(begin, ahead))
    return StreamingResponse(ENCODERS[kind](shape, names, rows), media_type=kind)


def is_streamed(request: Request) -> bool:
    """Whether a list that has no pages is sent in chunks: as CSV or Arrow, in its own order."""
    return list_type(request) != JSON and SORT not in request.query_params


def list_type(request: Request) -> str:
    """What a list is asked for as. Raises NotAcceptable."""
    return _chosen(request, (JSON, *ENCODERS))


def _chosen(request: Request, able: Sequence[str]) -> str:
    """The first media type of Accept that we are able to make; JSON where any will do."""
    accept = request.headers.get("accept", "*/*")
    for wanted in (part.partition(";")[0].strip().lower() for part in accept.split(",")):
        if wanted in ("*/*", "application/*", ""):
            return JSON
        if wanted in able:
            return wanted
    raise NotAcceptable(f"The answer cannot be {accept[:200]}.")


def tagged(
    request: Request,
    body: bytes,
    media_type: str,
    *,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The body with its ETag, or 304 if the asker has it already."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if has_already(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, 200, {"ETag": tag, **(headers or {})}, media_type=media_type)


def has_already(request: Request, tag: str) -> bool:
    """Whether If-None-Match of a GET names the ETag, so that 304 is the answer."""
    given = request.headers.get("if-none-match", "").split(",")
    known = {part.strip().removeprefix("W/") for part in given}
    return request.method == "GET" and (tag in known or "*" in known)
