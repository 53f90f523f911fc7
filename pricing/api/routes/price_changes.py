"""/v1/prices/what-if and …/effects: what a price book would change, and what one has changed."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Any, Protocol

import duckdb
from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.representation import one
from pricing.api.routes.prices import BOOK_CHARACTERS_MAX, EXAMPLE_BOOK
from pricing.api.shapes import Amount, Currency, Id, Shape, Shown, Time
from pricing.api.windows import WindowQuery
from pricing.books.toml_book import read_book
from pricing.errors import NotFound
from pricing.ledger.price_books import get_revision, next_publication
from pricing.money import exact_sum
from pricing.reports.price_effects import PriceEffect, price_effects, rated_by
from pricing.runs.price_cells import PriceCells
from pricing.runs.what_if import WhatIfLine, added_up, what_if, what_if_days

router = APIRouter(tags=["prices"])
Reading = Annotated[Call, may("books:read")]


class Changed(Shown):
    """Money before and after, exact."""

    amount_before: Amount
    amount_after: Amount
    difference: Amount


class CurrencyChange(Changed):
    """All of one currency; nothing converts."""

    currency: Currency


class LineChange(Changed):
    """One line of the bill of one tenant and model, as it is and as it would be."""

    tenant_id: str | None = Field(description="null: unattributed")
    model_id: str
    currency: Currency
    line: str = Field(examples=["cached_input"])
    tokens_before: int = Field(description="billed; what has no price leaves the line")
    tokens_after: int


class WhatIf(BaseModel):
    """A window under another book."""

    book: str
    start_at: Time
    end_at: Time
    totals: list[CurrencyChange]
    items: list[LineChange]


class WhatIfAsked(Shape, WindowQuery):
    """The book to try, and the window of billing instants to try it on."""

    toml: str = Field(min_length=1, max_length=BOOK_CHARACTERS_MAX, examples=[EXAMPLE_BOOK])


class TenantEffect(Changed):
    """What a publication changed for one tenant; a tenant without any change is not listed."""

    tenant_id: str | None
    currency: Currency | None = Field(description="null: requests that have no price")
    requests: int = Field(description="requests that were rated anew")
    unpriced: int = Field(description="those of them that the books now have no price for")


class Effects(BaseModel):
    """What was rated anew since a revision was published, until the next publication."""

    book: str
    revision: int
    since_at: Time
    until_at: Time | None = Field(description="when a book was published next; null: not yet")
    finished: bool = Field(description="false: open requests are still being rated anew")
    totals: list[CurrencyChange]
    items: list[TenantEffect]


@router.post("/v1/prices/what-if", summary="Try a price book on past usage", response_model=WhatIf)
def post_what_if(call: Reading, asked: WhatIfAsked) -> Response:
    """What the window would have cost, by tenant, model and line; nothing is changed.

    The text takes the place of the published book of its name, else of the default book. Closed
    months can be tried too. A long window is read day by day.
    """
    window = asked.window()
    book = read_book(asked.toml)
    cells = PriceCells(call.services.catalogue().trying(book))

    def tried(day: Window) -> list[WhatIfLine]:
        return call.usage(lambda cursor: what_if(cursor, cells, day))

    days = call.usage(lambda cursor: what_if_days(cursor, window))
    lines = list(added_up(line for day in days for line in tried(day)))
    shown = WhatIf(
        book=book.name,
        start_at=window.start_at,
        end_at=window.end_at,
        totals=_totals(lines),
        items=[LineChange.model_validate(line) for line in lines],
    )
    return one(call.request, shown)


@router.get(
    "/v1/prices/{book}/{revision}/effects",
    summary="Read what a publication changed",
    response_model=Effects,
)
def get_effects(call: Reading, book: Id, *, revision: int) -> Response:
    """What the re-rate after a publication changed, by tenant, in money.

    Read from the reversals themselves, so it can be asked for ever. Closed months are not in it:
    they never change.
    """
    with call.ledger() as connection:
        since = get_revision(connection, book, revision=revision).published_at
        if since is None:
            raise NotFound(
                f"Revision {revision} of book {book!r} is not published.",
                remedy="POST /v1/prices/what-if shows what it would change.",
            )
        until = next_publication(connection, since)

    def read(cursor: duckdb.DuckDBPyConnection) -> tuple[list[PriceEffect], str | None]:
        return price_effects(cursor, since=since, until=until), rated_by(cursor)

    effects, catalogue_id = call.usage(read)
    shown = Effects(
        book=book,
        revision=revision,
        since_at=since,
        until_at=until,
        finished=until is not None or f" {book}@{revision} " in f"{catalogue_id} ",
        totals=_totals(each for each in effects if each.currency is not None),
        items=[TenantEffect.model_validate(each) for each in effects],
    )
    return one(call.request, shown)


class _Changing(Protocol):
    """Money before and after in a currency."""

    @property
    def currency(self) -> Any: ...
    @property
    def amount_before(self) -> Decimal: ...
    @property
    def amount_after(self) -> Decimal: ...


def _totals(changes: Iterable[_Changing]) -> list[CurrencyChange]:
    by_currency: dict[str, list[_Changing]] = defaultdict(list)
    for each in changes:
        by_currency[each.currency].append(each)
    return [
        CurrencyChange(
            currency=currency,
            amount_before=exact_sum(each.amount_before for each in ours),
            amount_after=exact_sum(each.amount_after for each in ours),
            difference=exact_sum(
                amount for each in ours for amount in (each.amount_after, -each.amount_before)
            ),
        )
        for currency, ours in sorted(by_currency.items())
    ]
