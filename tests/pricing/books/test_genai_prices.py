"""genai-prices as books: all of it imported or listed, and equal to that library's calculator."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product

import pytest
from genai_prices import Usage, calc_price

from pricing.books.genai_prices import import_genai_prices
from pricing.books.imported import Imported, ImportOptions
from pricing.books.toml_book import read_book, write_book
from pricing.books.validate import errors
from pricing.errors import BookInvalid
from pricing.money import exact_sum, token_charge
from pricing.price_book import Catalogue, PriceQuery
from tests.pricing.price_rows import utc

MODELS = 2330  # in the dump, counted with jq
NOON, PEAK = datetime(2026, 6, 1, 12, tzinfo=UTC), datetime(2026, 11, 20, 2, 30, tzinfo=UTC)
# input, of it cached, of it written, output: around the thresholds of the list
SIZES = ((1_000, 300, 100, 50), (200_000, 150_000, 0, 7), (200_001, 1, 0, 7), (300_000, 0, 9, 1))


def imported(text: str, provider: str) -> Imported:
    """One provider's book in USD."""
    return import_genai_prices(text, ImportOptions(provider=provider, currency="USD"))


def minimal(*models: dict) -> str:
    """A file of one provider "p" with these models."""
    return json.dumps({"providers": [{"id": "p", "models": models}]})


def model(name: str = "m", **change) -> dict:
    """A model that costs 1 and 2."""
    match = {"equals": name}
    return {"id": name, "match": match, "prices": {"input_mtok": "1", "output_mtok": "2"}} | change


def test_every_model_is_imported_or_listed(genai_text, genai_providers):
    """2,330 models: each has an entry or is listed with a reason, and no book is refused."""
    held, listed = 0, 0
    for provider, raw in genai_providers.items():
        result = imported(genai_text, provider)
        models = {entry.model for entry in result.book.entries}
        left = {item.model for item in result.unsaid if item.kind == "model"}
        assert models | left == {m["id"] for m in raw["models"]}
        assert not models & left
        assert errors(result.book) == []
        held, listed = held + result.models, listed + len(left)
    assert (held, held + listed) == (2125, MODELS)


@pytest.mark.parametrize("provider", ["anthropic", "deepseek", "openai", "google", "x-ai"])
def test_an_imported_book_can_be_written_and_read(genai_text, provider):
    """The TOML says all that the import says."""
    book = imported(genai_text, provider).book
    read = read_book(write_book(book))
    assert (read.entries, read.name, read.currency) == (book.entries, book.name, "USD")


def charge(catalogue: Catalogue, query: PriceQuery, cached: int, written: int) -> Decimal | None:
    """What a request costs under the book; None where a line has no price."""
    price = catalogue.quote(query).price
    lines = (
        (query.input_tokens - cached - written, price.input_price),
        (cached, price.cached_price),
        (written, price.cache_write_price),
        (query.output_tokens, price.output_price),
    )
    if any(tokens and unit is None for tokens, unit in lines):
        return None
    return exact_sum([token_charge(tokens, unit) for tokens, unit in lines if unit is not None])


def names(result: Imported) -> Iterator[tuple[str, str]]:
    """(model, a name that finds it), for models priced by token alone, digit for digit."""
    unlike = {
        item.model
        for item in result.unsaid
        if item.kind in {"model", "rounded"} or item.what == "requests_kcount"
    }
    for entry in result.book.entries:
        if entry.model not in unlike:
            globs = (glob.replace("*", "") for glob in entry.match)
            yield from ((entry.model, name) for name in (entry.model, *entry.aliases, *globs))


def theirs(provider: str, name: str, at: datetime, tier: str | None, size: tuple[int, ...]):
    """genai-prices' own calculation."""
    counts = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    return calc_price(
        Usage(**dict(zip(counts, size, strict=True))),
        name,
        provider_id=provider,
        genai_request_timestamp=at,
        price_context={"processing": tier} if tier else None,
    )


def found_by_both(
    provider: str, result: Imported, catalogue: Catalogue
) -> Iterator[tuple[str, str]]:
    """(model, name) where the library and the book find the same model under the name."""
    for model_id, name in names(result):
        quote = catalogue.quote(PriceQuery(model_id=name, at=PEAK))
        try:
            calculation = theirs(provider, name, PEAK, None, SIZES[0])
        except LookupError:
            continue
        same_price_list = calculation.provider.id == provider and calculation.model.id == model_id
        if same_price_list and quote.price and quote.price.entry.startswith(f"{model_id}@"):
            yield model_id, name


def test_amounts_equal_the_librarys_own_calculator(genai_text, genai_providers):
    """Independent implementation: calc_price of genai-prices 0.2.3, at every size, time and tier.

    Left out: models priced by request too; prices that were rounded; lines without a price (there
    they cost 0, here they are unpriced); names under which the library finds another model.
    """
    compared: set[tuple[str, str]] = set()
    for provider in genai_providers:
        result = imported(genai_text, provider)
        catalogue = Catalogue([result.book], result.book.name)
        for model_id, name in found_by_both(provider, result, catalogue):
            for size, (at, tier) in product(SIZES, ((NOON, None), (PEAK, None), (PEAK, "batch"))):
                query = PriceQuery(
                    model_id=name,
                    at=at,
                    input_tokens=size[0],
                    output_tokens=size[3],
                    service_tier=tier,
                )
                ours = charge(catalogue, query, size[1], size[2])
                if ours is not None:
                    compared.add((provider, model_id))
                    assert ours == theirs(provider, name, at, tier, size).total_price, query
    assert len(compared) > 2000


def test_dates_become_entries_and_hours_bands():
    """Last active condition wins: 3 from March on, 2 by night; before it 1."""
    prices = [
        {"prices": {"output_mtok": "1"}},
        {"constraint": {"start_date": "2026-03-01"}, "prices": {"output_mtok": "3"}},
        {
            "constraint": {"start_time": "22:00:00+00:00", "end_time": "06:00:00+00:00"},
            "prices": {"output_mtok": "2"},
        },
    ]
    book = imported(minimal(model(prices=prices)), "p").book
    paid = [
        Catalogue([book], book.name).quote(PriceQuery(model_id="m", at=utc(at))).price.output_price
        for at in (
            "2026-02-28T21:59Z",
            "2026-02-28T23:59Z",
            "2026-03-01T00:00Z",
            "2026-03-01T06:00Z",
        )
    ]
    assert paid == [1, 2, 2, 3]
    assert [entry.source for entry in book.entries] == [
        "genai-prices, provider p; no date in the source, 1970-01-01T00:00:00Z assumed",
        "genai-prices, provider p",
    ]


def test_an_undated_price_begins_where_the_user_says():
    """--effective-from moves the beginning; dates inside the source after it are kept."""
    prices = [
        {"prices": {"output_mtok": "1"}},
        {"constraint": {"start_date": "2025-03-01"}, "prices": {"output_mtok": "3"}},
        {"constraint": {"start_date": "2026-03-01"}, "prices": {"output_mtok": "5"}},
    ]
    options = ImportOptions(provider="p", currency="USD", effective_from=utc("2026-01-01T00:00Z"))
    entries = import_genai_prices(minimal(model(prices=prices)), options).book.entries
    assert [
        (e.effective_from.year, e.effective_from.month, e.prices["output"]) for e in entries
    ] == [
        (2026, 1, 3),
        (2026, 3, 5),
    ]


def test_clauses_become_aliases_and_globs_or_are_listed():
    """equals, starts_with, ends_with, contains are said; a regex and an and are listed."""
    clauses = [
        {"equals": "m-1"},
        {"starts_with": "m-2"},
        {"ends_with": "m-3"},
        {"contains": "m-4"},
        {"regex": "^m-5$"},
        {"regex": "("},
        {"starts_with": 5},
        {"and_": [{"starts_with": "m-6"}, {"ends_with": "x"}]},
    ]
    result = imported(minimal(model(match={"or_": clauses})), "p")
    entry = result.book.entries[0]
    assert (entry.aliases, entry.match) == (("m-1",), ("m-2*", "*m-3", "*m-4*"))
    assert [item.what.partition(" ")[0] for item in result.unsaid] == [
        "regex",
        "regex",
        "clause",
        "clause",
    ]


def test_the_first_model_that_matches_owns_a_name():
    """The library takes the file's order; a name that the book gives to another model is listed."""
    early = model("a", match={"starts_with": "b"})
    result = imported(minimal(early, model("b", match={"equals": "b-1"})), "p")
    assert result.book.entries[1].aliases == ()
    assert {item.what for item in result.unsaid if item.model == "b"} == {"b", "b-1"}


def test_other_units_and_conditions_are_listed():
    """Searches are no token price; a variant by route is no service tier."""
    prices = {"output_mtok": "1", "web_searches_kcount": "10"}
    variants = [{"when": {"route": "eu"}, "prices": {"output_mtok": "2"}}]
    result = imported(minimal(model(prices=prices, price_variants=variants)), "p")
    assert [item.what for item in result.unsaid] == [
        "web_searches_kcount",
        'variant {"route": "eu"}',
    ]


def test_digits_beyond_the_twelfth_are_cut_and_listed():
    """0.18000000000000002 is the float of 0.18."""
    result = imported(minimal(model(prices={"output_mtok": "0.18000000000000002"})), "p")
    assert result.book.entries[0].prices["output"] == Decimal("0.18")
    assert result.unsaid[0].kind == "rounded"


@pytest.mark.parametrize(
    "broken",
    [
        {"prices": {"output_mtok": "-1"}},
        {"prices": {"output_mtok": "a lot"}},
        {"prices": {"output_mtok": {"tiers": []}}},
        {"prices": [{"prices": {"output_mtok": "1"}, "constraint": {"start_date": "soon"}}]},
    ],
)
def test_a_malformed_model_is_listed_and_the_rest_imported(broken):
    """One bad entry of a source never hides, and never stops the others."""
    result = imported(minimal(model("bad") | broken, model("good")), "p")
    assert [entry.model for entry in result.book.entries] == ["good"]
    (item,) = [item for item in result.unsaid if item.kind == "model"]
    assert "cannot be read" in item.reason


def test_a_start_date_alone_leaves_the_first_price_before_it():
    """Without a condition that holds, the library takes the first price; so does the book."""
    prices = [{"prices": {"output_mtok": "1"}, "constraint": {"start_date": "2026-03-01"}}]
    (entry,) = imported(minimal(model(prices=prices)), "p").book.entries
    assert (entry.effective_from.year, entry.prices["output"]) == (1970, 1)


def test_a_later_date_without_token_price_is_listed():
    """From March on only searches are priced: what came before goes on, and the list says so."""
    prices = [
        {"prices": {"output_mtok": "1"}},
        {"constraint": {"start_date": "2026-03-01"}, "prices": {"web_searches_kcount": "3"}},
    ]
    result = imported(minimal(model(prices=prices)), "p")
    assert len(result.book.entries) == 1
    assert "prices from 2026-03-01" in {item.what for item in result.unsaid}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "Expected the JSON"),
        ('{"providers": [{"id": "q"}]}', "Expected the JSON"),
        (minimal(), "no provider 'q'"),
    ],
)
def test_another_file_is_refused(text, says):
    """The message says what was expected."""
    with pytest.raises(BookInvalid, match=says):
        imported(text, "q")
