"""/v1/prices: the books that are published, and what a request would pay."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import Amount, Currency, Id, Listing, Shape, Shown, Text, Time
from pricing.books.toml_book import read_book, write_book
from pricing.books.validate import findings
from pricing.ledger.connect import Change
from pricing.ledger.policies import policy_in_force
from pricing.ledger.price_books import (
    add_revision,
    get_revision,
    list_revisions,
    published_books,
)
from pricing.ledger.tables import BookState
from pricing.price_book import Catalogue, PriceQuery, Quote
from pricing.price_key import PRICE_FIELDS

router = APIRouter(tags=["prices"])
Reading = Annotated[Call, may("books:read")]
Writing = Annotated[Call, may("books:write")]
Quoting = Annotated[Call, may("prices:read")]
BOOK_CHARACTERS_MAX = 8 * 1024 * 1024
EXAMPLE_BOOK = """book = "list-cny"
currency = "CNY"
timezone = "Asia/Shanghai"

[[price]]
model = "glm-5.2"
effective_from = 2026-08-20T00:00:00+08:00
per_million_tokens = { input = "8", cached_input = "2", output = "28" }
"""


class BookShown(Shown):
    """A revision of a price book, without its text."""

    book: str = Field(examples=["list-cny"])
    revision: int = Field(examples=[1])
    state: BookState
    currency: Currency
    sha256: str
    created_at: Time
    created_by: str
    published_at: Time | None = None
    published_by: str | None = None


class BookText(BookShown):
    """A revision of a price book with its text."""

    toml_text: str = Field(examples=[EXAMPLE_BOOK])


class BookWarning(Shown):
    """Something that looks wrong in a book that can be used."""

    line: int | None = Field(description="of the text as it was sent")
    where: str = Field(examples=["glm-5.2"])
    message: str = Field(examples=["no price from 2026-08-01 to 2026-08-20."])
    remedy: str


class BookKept(BookText):
    """A revision as it is kept: holidays are in its text as dates."""

    warnings: list[BookWarning]


class NewBook(Shape):
    """A price book to publish, or to keep as a draft, or a draft that somebody has reviewed."""

    toml: str = Field(min_length=1, max_length=BOOK_CHARACTERS_MAX, examples=[EXAMPLE_BOOK])
    state: BookState = Field(BookState.PUBLISHED, description="only published books price usage")


class PriceQuoted(BaseModel):
    """What a request pays per million tokens, and the rules that said so, in their order.

    Without a price, `reason` says why: no_price or ambiguous_name.
    """

    model_id: str = Field(examples=["glm-5.2"])
    at: Time
    reason: str | None = None
    detail: str | None = None
    findings: list[str] = []
    currency: Currency | None = None
    book: str | None = None
    book_revision: str | None = None
    rules: dict[str, str] = Field({}, examples=[{"entry": "glm-5.2@2026-08-19T16:00:00Z"}])
    per_million_tokens: dict[str, Amount] = Field({}, examples=[{"input": "8"}])


class QuoteQuery(BaseModel):
    """A request to price."""

    model_id: Text = Field(examples=["glm-5.2"])
    at: Time | None = Field(None, description="billing instant; left out: now")
    tenant_id: Id | None = Field(None, description="whose contract counts")
    input_tokens: int = Field(0, ge=0, le=10**12)
    output_tokens: int = Field(0, ge=0, le=10**12)
    service_tier: Text | None = Field(None, examples=["batch"])
    region: Text | None = None


@router.get(
    "/v1/prices",
    summary="List price books",
    response_model=Listing[BookShown],
    responses=LIST_CONTENT,
)
def get_books(call: Reading, paging: Paged) -> Response:
    """Every revision of every book."""
    return ledger_list(call, BookShown, paging, list_revisions, book=str, revision=int)


@router.post("/v1/prices", summary="Publish a price book", response_model=BookKept, status_code=201)
def post_book(call: Writing, new: NewBook) -> Response:
    """The book is checked as a whole first; requests of open months are rated anew.

    The same text again is the same revision, and moves it on: draft, reviewed, published. A review
    needs another key than the draft's. A price published late for an earlier date never touches a
    closed month; /v1/prices/{book}/{revision}/effects says what it changed.
    """
    book = read_book(new.toml)
    warnings = [BookWarning.model_validate(each) for each in findings(book)]

    def publish(change: Change) -> BookKept:
        policy = policy_in_force(change.connection, change.at)
        kept = add_revision(
            change,
            book.name,
            toml_text=write_book(book),
            currency=book.currency,
            state=new.state,
            reviewed_first=policy.book_review == "second_person",
        )
        if new.state is BookState.PUBLISHED:
            books = [read_book(each.toml_text) for each in published_books(change.connection)]
            for name in {each.name for each in books if each.contracts}:
                Catalogue(books, name)  # refuses a contract that leads to no book
        return BookKept(**asdict(kept), warnings=warnings)

    answer = call.created(publish, new)
    call.services.changed("books")
    return answer


@router.get("/v1/prices/quote", summary="Quote a price", response_model=PriceQuoted)
def get_quote(call: Quoting, asked: Annotated[QuoteQuery, Query()]) -> Response:
    """What a request of this size would pay; a tenant's key quotes its own contract."""
    scope = call.scope(asked.tenant_id)
    at = asked.at or call.at
    query = PriceQuery(
        model_id=asked.model_id,
        at=at,
        tenant_id=scope.tenant_id,
        input_tokens=asked.input_tokens,
        output_tokens=asked.output_tokens,
        service_tier=asked.service_tier,
        region=asked.region,
    )
    quote = call.services.catalogue().quote(query)
    return one(call.request, PriceQuoted(model_id=asked.model_id, at=at, **_quoted(quote)))


@router.get("/v1/prices/{book}/{revision}", summary="Read a price book", response_model=BookText)
def get_book(call: Reading, book: Id, *, revision: int) -> Response:
    """One revision with its text, as it was published."""
    with call.ledger() as connection:
        found = get_revision(connection, book, revision=revision)
    return one(call.request, BookText.model_validate(found))


def _quoted(quote: Quote) -> Mapping[str, Any]:
    findings = sorted(quote.findings)
    if quote.price is None:
        return {"reason": quote.reason, "detail": quote.detail, "findings": findings}
    price = quote.price
    prices = {name.removesuffix("_price"): getattr(price, name) for name in PRICE_FIELDS}
    return {
        "findings": findings,
        "currency": price.currency,
        "book": price.book,
        "book_revision": price.book_revision,
        "rules": {step.rule: step.name for step in quote.steps},
        "per_million_tokens": {name: value for name, value in prices.items() if value is not None},
    }
