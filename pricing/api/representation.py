"""One answer as JSON, CSV or an Arrow stream, whichever was asked for, with its ETag."""

import csv
import hashlib
import io
import types
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Union, get_args, get_origin

import pyarrow as pa
from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from metering.wire import to_ipc
from pricing.api.chosen import chosen_fields, ordered
from pricing.api.shapes import Listing, Report
from pricing.errors import PricingError
from pricing.money import plain

JSON: Final = "application/json"
CSV: Final = "text/csv"
ARROW: Final = "application/vnd.apache.arrow.stream"
LIST_CONTENT: Final[dict[int | str, dict[str, Any]]] = {  # what the OpenAPI file says of a list
    200: {
        "content": {
            CSV: {"schema": {"type": "string"}},
            ARROW: {"schema": {"type": "string", "format": "binary"}},
        }
    },
    304: {"description": "The ETag of If-None-Match is still right."},
}
ARROW_TYPES: Final[Mapping[type, pa.DataType]] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    float: pa.float64(),
    Decimal: pa.decimal128(38, 15),
    datetime: pa.timestamp("us", tz="UTC"),
    date: pa.date32(),
}
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


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
    kind = _chosen(request, (JSON, CSV, ARROW))
    headers = {} if next_cursor is None else {"Tokentill-Next-Cursor": next_cursor}
    if kind == JSON:
        kind_of_list: Any = Listing if beside is None else Report  # the row type is a value here
        listing = kind_of_list[shape](items=items, next_cursor=next_cursor, **(beside or {}))
        around = dict.fromkeys(kind_of_list.model_fields, True)
        shown = around | {"items": {"__all__": set(names)}}
        body = listing.model_dump_json(include=shown).encode()
    elif kind == CSV:
        body = _csv(names, items)
    else:
        body = _arrow(shape, items, names)
    return tagged(request, body, kind, headers=headers)


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
    known = {part.strip().removeprefix("W/") for part in _if_none_match(request)}
    if request.method == "GET" and (tag in known or "*" in known):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, 200, {"ETag": tag, **(headers or {})}, media_type=media_type)


def _if_none_match(request: Request) -> list[str]:
    return request.headers.get("if-none-match", "").split(",")


def _csv(names: Sequence[str], items: Sequence[BaseModel]) -> bytes:
    """UTF-8, a header line, ids as text; what a spreadsheet would run as a formula gets a quote."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(names)
    for item in items:
        writer.writerow([_cell(getattr(item, name)) for name in names])
    return out.getvalue().encode()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, (list, tuple)):
        return " ".join(str(each) for each in value)
    text = str(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def _arrow(shape: type[BaseModel], items: Sequence[BaseModel], names: Sequence[str]) -> bytes:
    """An IPC stream with a fixed schema: counts int64, money decimal128(38, 15)."""
    fields = [(name, _arrow_type(shape.model_fields[name].annotation)) for name in names]
    columns = [
        pa.array([_arrow_value(getattr(item, name), kind) for item in items], kind)
        for name, kind in fields
    ]
    return to_ipc(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)))


def _arrow_type(annotation: Any) -> pa.DataType:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _arrow_type(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _arrow_type(next(arg for arg in get_args(annotation) if arg is not type(None)))
    if origin is list:
        return pa.list_(_arrow_type(get_args(annotation)[0]))
    return ARROW_TYPES.get(annotation, pa.string())


def _arrow_value(value: Any, kind: pa.DataType) -> Any:
    return str(value) if value is not None and pa.types.is_string(kind) else value
