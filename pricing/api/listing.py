"""A list with a key: a page of it, or the whole of it streamed."""

from collections.abc import Callable, Sequence
from typing import Any

from fastapi import Request
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from pricing.api.call import Call
from pricing.api.paging import Paging
from pricing.api.representation import JSON, list_type, many, streamed
from pricing.ledger.rows import Page


def listed(
    request: Request,
    shape: type[BaseModel],
    paging: Paging,
    read: Callable[[Page], Sequence[Any]],
    **key: type,
) -> Response:
    """The page that is asked for; CSV and Arrow without `limit` hold every row, in chunks.

    read: the rows of a page, as dicts or values. key: their order, unique together; rows that
    arrive meanwhile make no other come twice or never.
    """
    if paging.is_bounded or list_type(request) == JSON:
        return many(request, shape, *paging.cut(read(paging.page(**key)), *key))
    return streamed(request, shape, paging.chunks(read, *key))


def ledger_list(
    call: Call,
    shape: type[BaseModel],
    paging: Paging,
    read: Callable[[Connection, Page], Sequence[Any]],
    **key: type,
) -> Response:
    """A list whose rows are in the ledger: each page is read in a transaction of its own."""

    def rows(page: Page) -> Sequence[Any]:
        with call.ledger() as connection:
            return read(connection, page)

    return listed(call.request, shape, paging, rows, **key)
