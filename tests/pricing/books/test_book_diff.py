"""What a newer list changes, and the draft that keeps the past."""

import gzip
from datetime import timedelta
from decimal import Decimal

import pytest

from pricing.books.book_diff import changes, draft
from pricing.books.imported import ImportOptions
from pricing.books.litellm import import_litellm
from pricing.books.validate import errors, findings
from pricing.price_entry import Band, ServiceTier, Tier
from tests.pricing.price_rows import START, book, entry, prices, quote

DAY = timedelta(days=1)
MARCH = START + 59 * DAY
DEARER = prices(input="3", cached_input="0.20", output="8")


def test_equal_books_do_not_differ():
    """Sources and dates of checking are not prices."""
    assert changes(book(entry(source="a")), book(entry(source="b"))) == ()


def test_each_rule_that_differs_is_a_change():
    """input 2 to 3, a new tier, a model gone, a model come."""
    tier = Tier(prices=prices(output="9"), input_from=200_001)
    old = book(entry(), entry("gone", prices=prices(output="1")))
    new = book(entry(prices=DEARER, tiers=(tier,)), entry("come", prices=prices(output="1")))
    found = [
        (c.kind, c.entry.partition("@")[0], c.what, c.before, c.after) for c in changes(old, new)
    ]
    assert found == [
        ("added", "come", "output", None, "1"),
        ("removed", "gone", "output", "1", None),
        ("changed", "m-river", "input", "2", "3"),
        ("changed", "m-river", "tier input>200000 output", None, "9"),
    ]


def test_a_draft_dates_the_new_price_and_keeps_the_past():
    """The undated new list becomes an entry of March; February still pays 2."""
    made = draft(book(entry()), book(entry(prices=DEARER)), MARCH)
    assert findings(made) == []
    paid = [quote(made, at=at).price.input_price for at in (MARCH - timedelta.resolution, MARCH)]
    assert paid == [2, 3]


def test_a_draft_of_the_same_list_is_the_old_book():
    """Nothing differs, nothing is added."""
    old = book(entry())
    assert draft(old, book(entry(source="again")), MARCH) == old


def test_a_draft_adds_models_from_the_date_on_and_keeps_those_that_vanished():
    """No usage before the date gets a price that nobody had published."""
    made = draft(book(entry("gone")), book(entry("come")), MARCH)
    assert quote(made, "gone", at=MARCH).price is not None
    assert quote(made, "come", at=MARCH).price is not None
    assert quote(made, "come", at=START).reason == "no_price"


def test_a_draft_takes_the_new_lists_own_later_dates():
    """What the newer list announces for later comes with it; the old announcement does not."""
    later = MARCH + timedelta(days=30)
    old = book(entry(), entry(effective_from=later, prices=prices(input="9", cached_input="same")))
    new = book(entry(), entry(effective_from=later, prices=DEARER))
    made = draft(old, new, MARCH)
    assert [e.prices["input"] for e in made.entries] == [2, 3]


def test_a_draft_leaves_names_with_the_model_they_have():
    """The newer list calls another model "river"; in the draft the old one keeps the name."""
    old = book(entry(aliases=("river",), match=("r-*",)))
    new = book(entry("lake", aliases=("river", "lakes"), match=("r-*", "l-*")))
    added = draft(old, new, MARCH).entries[-1]
    assert (added.model, added.aliases, added.match) == ("lake", ("lakes",), ("l-*",))


def test_an_alias_that_becomes_a_model_keeps_its_history():
    """The newer list prices "river" by itself: until the date it still pays what m-river paid."""
    old = book(entry(aliases=("river",)))
    made = draft(old, book(entry(), entry("river", prices=DEARER)), MARCH)
    assert errors(made) == []
    paid = [quote(made, "river", at=at).price.input_price for at in (MARCH - DAY, MARCH)]
    assert paid == [2, 3]


def test_bands_service_tiers_regions_and_names_are_compared():
    """Each kind of rule has a line of its own."""
    band = Band(prices=prices(output="4"), from_second=0, until_second=3600)
    batch = ServiceTier(name="batch", multiplier=Decimal("0.5"))
    rich = entry(
        aliases=("x",),
        match=("y*",),
        effective_until=MARCH,
        bands=(band,),
        service_tiers=(batch,),
        regions={"us": Decimal("1.1")},
    )
    assert {(c.what, c.after) for c in changes(book(entry()), book(rich))} == {
        ("alias x", "yes"),
        ("match y*", "yes"),
        ("effective_until", "2026-03-01T00:00:00Z"),
        ("band 00:00-01:00 output", "4"),
        ("service tier batch multiplier", "0.5"),
        ("region us", "1.1"),
    }


@pytest.mark.parametrize("provider", ["anthropic", "deepseek", "gemini", "openai"])
def test_a_year_of_a_public_list_as_a_draft(shared, litellm_text, provider):
    """LiteLLM of August 2025, then 1.110.2 from MARCH on: each side pays its own list."""
    old_path = shared / "data/prices/tokencost_0.1.26_model_prices_2025-08.json.gz"
    options = ImportOptions(provider=provider, currency="USD")
    old = import_litellm(gzip.decompress(old_path.read_bytes()).decode(), options).book
    new = import_litellm(litellm_text, options).book
    made = draft(old, new, MARCH)
    assert errors(made) == []
    newer = {listed.model for listed in new.entries}
    for model in {listed.model for listed in old.entries}:
        before, after = (quote(made, model, at=at).price for at in (MARCH - DAY, MARCH))
        assert before.output_price == quote(old, model, at=MARCH).price.output_price
        current = new if model in newer else old
        assert after.output_price == quote(current, model, at=MARCH).price.output_price
