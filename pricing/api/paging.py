"""Pages by key, not by number: rows that arrive meanwhile make no other row come twice or never."""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar
from uuid import UUID

from fastapi import Depends, Query, Request

from metering.windows import parse_time
from pricing.errors import RequestInvalid
from pricing.ledger.rows import Page

LIMIT_DEFAULT: Final = 100
LIMIT_MAX: Final = 1_000
CHUNK_ROWS: Final = 4_000  # of a list that is streamed; the store finds up to 5,000 without sorting
CURSOR_LENGTH_MAX: Final = 2_000
LIMIT_MEANS: Final = "rows of one page; CSV and Arrow without it are the whole list, streamed"
POSITION_PARAMETERS: Final = frozenset({"cursor", "limit", "fields"})  # others say which rows
Order = Literal["forward", "backward"]
Item = TypeVar("Item")


class Paging:
    """The page that a request asks for."""

    def __init__(
        self,
        request: Request,
        limit: Annotated[int, Query(ge=1, le=LIMIT_MAX, description=LIMIT_MEANS)] = LIMIT_DEFAULT,
        cursor: Annotated[
            str | None,
            Query(max_length=CURSOR_LENGTH_MAX, description="next_cursor of the page before"),
        ] = None,
        order: Annotated[
            Order, Query(description="backward: the order of this list, from its other end")
        ] = "forward",
    ) -> None:
        self.limit = limit
        self.cursor = cursor
        self.backward = order == "backward"
        self.is_bounded = cursor is not None or "limit" in request.query_params
        # a cursor belongs to one list with one set of filters; elsewhere it would skip rows
        asked = sorted(p for p in request.query_params.multi_items() if p[0] not in _POSITION)
        self._list = hashlib.sha256(repr((request.url.path, asked)).encode()).hexdigest()[:16]

    def page(self, **kinds: type) -> Page:
        """One row more than was asked for, to know if more follow. kinds: the key, in order."""
        after = None if self.cursor is None else self._decode(self.cursor, list(kinds.values()))
        return Page(self.limit + 1, after, backward=self.backward)

    def cut(self, rows: Sequence[Item], *key: str) -> tuple[Sequence[Item], str | None]:
        """The rows of this page, and the cursor of the next one if there is one."""
        if len(rows) <= self.limit:
            return rows, None
        return rows[: self.limit], self._encode(_key_of(rows[self.limit - 1], key))

    def chunks(self, read: Callable[[Page], Sequence[Item]], *key: str) -> Iterator[Sequence[Item]]:
        """Every row of the list, in chunks that each are of one moment; at least one chunk."""
        after = None
        while True:
            rows = read(Page(CHUNK_ROWS, after, backward=self.backward))
            yield rows
            if len(rows) < CHUNK_ROWS:
                return
            after = tuple(_key_of(rows[-1], key))

    def _encode(self, values: Sequence[Any]) -> str:
        plain = [v.isoformat() if isinstance(v, datetime) else v for v in values]
        text = json.dumps([self._list, *plain], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def _decode(self, cursor: str, kinds: Sequence[type]) -> tuple[Any, ...]:
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            of_list, *values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
            if of_list != self._list:
                raise RequestInvalid(
                    "The cursor belongs to another list or to other filters.",
                    remedy="Keep path and filters while you follow next_cursor.",
                )
            return tuple(_typed(v, kind) for v, kind in zip(values, kinds, strict=True))
        except (ValueError, TypeError, AttributeError, binascii.Error) as error:
            raise RequestInvalid(
                "The cursor is not one of ours.", remedy="Send next_cursor as it came."
            ) from error


_POSITION = POSITION_PARAMETERS
Paged = Annotated[Paging, Depends()]


def _key_of(row: Any, key: Sequence[str]) -> list[Any]:
    return [row[name] if isinstance(row, dict) else getattr(row, name) for name in key]


def _typed(value: Any, kind: type) -> Any:
    if kind is datetime:
        return parse_time(value)
    if kind is UUID:
        return str(UUID(value))
    if not isinstance(value, kind) or isinstance(value, bool) or "\x00" in str(value):
        raise TypeError(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return value
