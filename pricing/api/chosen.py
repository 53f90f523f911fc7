"""`fields` and `sort`: which columns of a list are shown, and in which order its rows come.

Every list takes `fields`. A list that comes whole takes `sort`; one that comes in pages has the
order of its key, forward or backward (pricing/api/paging.py).
"""

from datetime import date
from decimal import Decimal
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel

from pricing.errors import RequestInvalid

FIELDS: Final = "fields"
SORT: Final = "sort"
DESCENDING: Final = "-"
COMPARABLE: Final = (str, int, float, Decimal, date)
Item = TypeVar("Item", bound=BaseModel)


def chosen_fields(request: Request, shape: type[BaseModel]) -> list[str]:
    """The fields to show, in the order in which they were asked for; all of them by default."""
    asked = list(dict.fromkeys(request.query_params.getlist(FIELDS)))
    for name in asked:
        _require(FIELDS, name, shape)
    return asked or list(shape.model_fields)


def ordered(request: Request, shape: type[BaseModel], items: list[Item]) -> list[Item]:
    """The rows in the order that was asked for; unknown values last, equals as they came."""
    asked = request.query_params.get(SORT)
    if asked is None:
        return items
    name = asked.removeprefix(DESCENDING)
    _require(SORT, name, shape)
    known = [item for item in items if getattr(item, name) is not None]
    unknown = [item for item in items if getattr(item, name) is None]
    known.sort(key=lambda item: _key(getattr(item, name)), reverse=asked != name)
    return known + unknown


def parameters(row: dict[str, Any], *, paged: bool) -> list[dict[str, Any]]:
    """What the OpenAPI file says of both. row: the schema of one row of the list."""
    names = list(row["properties"])
    fields = {
        "name": FIELDS,
        "in": "query",
        "required": False,
        "description": "show these fields alone",
        "schema": {"type": "array", "uniqueItems": True, "items": {"enum": names}},
    }
    orders = [sign + name for name in names for sign in ("", DESCENDING)]
    sort = {
        "name": SORT,
        "in": "query",
        "required": False,
        "description": "order of the rows; with a minus the largest first; unknown values are last",
        "schema": {"enum": orders},
    }
    return [fields] if paged else [fields, sort]


def _require(parameter: str, name: str, shape: type[BaseModel]) -> None:
    if name not in shape.model_fields:
        raise RequestInvalid(
            f"{parameter}: {name[:100]!r} is no field of this list.",
            remedy=f"Its fields are: {', '.join(shape.model_fields)}.",
        )


def _key(value: Any) -> Any:
    return value if isinstance(value, COMPARABLE) else str(value)
