"""LiteLLM's map as books: all of it imported or listed, and equal to that library's calculator."""

import json
from decimal import Decimal

import pytest

from pricing.books.imported import Imported, ImportOptions
from pricing.books.litellm import import_litellm
from pricing.books.litellm_hours import off_peak_hours
from pricing.books.toml_book import read_book, write_book
from pricing.books.validate import errors
from pricing.errors import BookInvalid
from pricing.money import exact_sum, token_charge
from pricing.price_book import Catalogue, PriceQuery
from tests.pricing.price_rows import utc

ENTRIES = 4878  # in the file, counted with jq
MONDAY, NOON = "2026-11-16T02:00Z", "2026-11-16T12:00Z"


def imported(text: str, provider: str) -> Imported:
    """One provider's book in USD."""
    return import_litellm(text, ImportOptions(provider=provider, currency="USD"))


def minimal(**fields) -> str:
    """A map with one entry "p/m" of provider p."""
    return json.dumps({"p/m": {"litellm_provider": "p"} | fields})


def paid(result: Imported, model_id: str, **query) -> Decimal:
    """Price per million output tokens."""
    base = {"model_id": model_id, "at": utc(NOON)}
    catalogue = Catalogue([result.book], result.book.name)
    return catalogue.quote(PriceQuery(**(base | query))).price.output_price


def test_every_entry_is_imported_or_listed(litellm_text, litellm_map):
    """4,878 entries: each has a price, is an alias of one, or is listed; no book is refused."""
    held, listed = set(), set()
    providers = {raw.get("litellm_provider", "one of") for raw in litellm_map.values()}
    for provider in sorted(p for p in providers if not p.startswith("one of")):
        result = imported(litellm_text, provider)
        assert errors(result.book) == []
        for entry in result.book.entries:
            held |= {entry.model, *(set(entry.aliases) & litellm_map.keys())}
        listed |= {item.model for item in result.unsaid if item.kind == "model"}
    assert held | listed == litellm_map.keys()
    assert not held & listed
    assert (len(litellm_map), len(held), len(listed)) == (ENTRIES, 4092, 786)


@pytest.mark.parametrize("provider", ["deepseek", "dashscope", "anthropic", "openai", "tencent"])
def test_an_imported_book_can_be_written_and_read(litellm_text, provider):
    """The TOML says all that the import says: thresholds, service tiers, hours, regions."""
    book = imported(litellm_text, provider).book
    assert read_book(write_book(book)).entries == book.entries


@pytest.mark.parametrize(
    ("model", "when", "counts", "amount"),
    [
        ("deepseek-v4-pro", (MONDAY, None), (181000, 176500, 0, 2400, 0), "0.02321"),
        ("deepseek-v4-pro", ("2026-11-16T04:00Z", None), (181000, 176500, 0, 2400, 0), "0.011605"),
        ("deepseek-v4-pro", ("2026-11-15T02:00Z", None), (181000, 176500, 0, 2400, 0), "0.011605"),
        ("tencent/deepseek-v4-pro-0813", ("2026-11-20T16:00Z", None), (1000, 0, 0, 1000, 0),
         "0.00264"),
        ("dashscope/qwen3-max", (MONDAY, None), (32000, 0, 0, 100, 0), "0.039"),
        ("dashscope/qwen3-max", (MONDAY, None), (32001, 0, 0, 100, 0), "0.0780024"),
        ("dashscope/qwen-plus-2025-07-28", (MONDAY, None), (300000, 1000, 0, 900, 700), "0.36912"),
        ("xai/grok-4.20-multi-agent-beta-0309", (MONDAY, None), (199999, 1000, 0, 900, 0),
         "0.25119875"),
        ("xai/grok-4.20-multi-agent-beta-0309", (MONDAY, None), (200000, 1000, 0, 900, 0),
         "0.5024"),
        ("gpt-6-astra", (MONDAY, None), (272000, 100000, 0, 1000, 0), "1.87"),
        ("gpt-6-astra", (MONDAY, None), (272001, 100000, 0, 1000, 0), "3.71502"),
        ("gpt-6-astra", (MONDAY, "priority"), (272001, 100000, 0, 1000, 0), "7.43004"),
        ("gpt-6-astra", (MONDAY, "flex"), (1000, 100, 0, 1000, 300), "0.02955"),
        ("moonshot/kimi-k3", (MONDAY, None), (100000, 40000, 20000, 1000, 0), "0.207"),
        ("zai/glm-5.2", (MONDAY, None), (100000, 90000, 0, 1000, 0), "0.0418"),
        ("minimax/MiniMax-M3", (MONDAY, None), (512001, 500000, 0, 1000, 0), "0.0696006"),
    ],
)  # fmt: skip
def test_amounts_equal_the_librarys_own_calculator(
    litellm_text, litellm_map, model, when, counts, amount
):
    """Independent implementation: generic_cost_per_token of LiteLLM 1.110.2, run by itself.

    when: time and service tier. counts: input, of it cached, written; output, of it reasoning.
    """
    result = imported(litellm_text, litellm_map[model]["litellm_provider"])
    tokens, cached, written, output, reasoning = counts
    query = PriceQuery(
        model_id=model,
        at=utc(when[0]),
        input_tokens=tokens,
        output_tokens=output,
        service_tier=when[1],
    )
    price = Catalogue([result.book], result.book.name).quote(query).price
    lines = (
        (tokens - cached - written, price.input_price),
        (cached, price.cached_price),
        (written, price.cache_write_price),
        (output - reasoning, price.output_price),
        (reasoning, price.reasoning_price),
    )
    assert exact_sum([token_charge(n, unit) for n, unit in lines]) == Decimal(amount)


def test_float_noise_is_cut_and_listed():
    """1.0000000000000001e-07 per token is 0.1 per million."""
    result = imported(minimal(output_cost_per_token=1.0000000000000001e-07), "p")
    assert result.book.entries[0].prices["output"] == Decimal("0.1")
    (item,) = [item for item in result.unsaid if item.kind == "rounded"]
    assert item.what == "output_cost_per_token"


def test_an_explicit_zero_is_a_price_and_a_missing_one_is_the_input():
    """cache_read 0 is free; without cache_read a hit costs what input costs."""
    free = minimal(input_cost_per_token=1e-06, cache_read_input_token_cost=0)
    assert imported(free, "p").book.entries[0].prices["cached_input"] == 0
    missing = minimal(input_cost_per_token=1e-06)
    assert imported(missing, "p").book.entries[0].prices["cached_input"] == "same"


def test_a_name_answers_without_its_providers_prefix():
    """LiteLLM asks for provider and name apart."""
    result = imported(minimal(output_cost_per_token=1e-06), "p")
    assert paid(result, "m") == paid(result, "p/m") == 1


def test_what_has_no_token_price_is_listed():
    """An image model is no entry; a search beside tokens is left out by name."""
    image = imported(minimal(output_cost_per_image=0.04), "p")
    assert image.book.entries == ()
    assert "only priced by output_cost_per_image" in image.unsaid[0].reason
    search = imported(minimal(output_cost_per_token=1e-06, input_cost_per_query=0.01), "p")
    assert [item.what for item in search.unsaid] == ["input_cost_per_query"]


def test_a_fast_mode_is_a_service_tier_and_a_geography_a_region():
    """provider_specific_entry {"us": 1.1, "fast": 2}: 1 × 2 × 1.1 = 2.2."""
    entry = minimal(output_cost_per_token=1e-06, provider_specific_entry={"us": 1.1, "fast": 2})
    result = imported(entry, "p")
    assert paid(result, "m", service_tier="fast", region="us") == Decimal("2.2")


@pytest.mark.parametrize(
    ("off_peak", "hours"),
    [
        ({"hours_utc": "16:30-00:30"}, {(0, 1800): 7, (59_400, 86_400): 7}),
        ({"hours_utc": "00:00-00:00"}, {(0, 86_400): 7}),
        ({"hours_utc": ["00:00-02:00", "01:00-03:00"]}, {(0, 10_800): 7}),
        (
            {
                "windows": [{"hours_utc": "00:00-00:00", "weekdays": [6]}],
                "weekday_timezone": "Asia/Shanghai",
            },
            {(0, 57_600): 1, (57_600, 86_400): 1},
        ),
    ],
)
def test_off_peak_windows_in_seconds_of_the_utc_day(off_peak, hours):
    """By hand; Saturday in Shanghai is Friday from 16:00 UTC (57,600 s) and Saturday until then."""
    found = off_peak_hours(off_peak)
    assert {seconds: len(days) for seconds, days in found.items()} == hours
    if "windows" in off_peak:
        assert found == {(0, 57_600): {5}, (57_600, 86_400): {4}}


def test_weekdays_of_a_zone_whose_clocks_change_are_listed():
    """New York's Saturday begins at another UTC hour in summer."""
    off_peak = {"windows": [{"hours_utc": "00:00-01:00"}], "weekday_timezone": "America/New_York"}
    entry = minimal(output_cost_per_token=1e-06, off_peak_pricing=off_peak)
    assert "whose clocks change" in imported(entry, "p").unsaid[0].reason


@pytest.mark.parametrize(
    "broken",
    [
        {"output_cost_per_token": -1},
        {"output_cost_per_token": "a lot"},
        {"output_cost_per_token": 1, "provider_specific_entry": {"us": "much"}},
        {"tiered_pricing": [{"input_cost_per_token": 1}]},
        {"output_cost_per_token": 1e-06, "off_peak_pricing": {"hours_utc": "at night"}},
    ],
)
def test_a_malformed_entry_is_listed(broken):
    """Nothing of it is guessed: the model is listed, or what could not be read of it."""
    result = imported(minimal(**broken), "p")
    assert result.unsaid
    assert len(result.book.entries) == ("off_peak_pricing" in broken)


def test_an_old_name_of_the_hit_price_is_read_unless_the_new_one_differs():
    """input_cost_per_token_cache_hit alone is the hit price; beside another one it is listed."""
    old = {"input_cost_per_token": 1e-06, "input_cost_per_token_cache_hit": 1e-07}
    assert imported(minimal(**old), "p").book.entries[0].prices["cached_input"] == Decimal("0.1")
    both = imported(minimal(**old, cache_read_input_token_cost=2e-07), "p")
    assert both.book.entries[0].prices["cached_input"] == Decimal("0.2")
    assert "differs from" in both.unsaid[0].reason


def test_an_alias_of_nothing_is_listed():
    """alias_of must lead to an entry of the file."""
    text = json.dumps({"p/m": {"litellm_provider": "p"}, "x": {"alias_of": "gone"}})
    assert "which the file lacks" in imported(text, "p").unsaid[0].reason


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "not JSON"), ("[]", "Expected LiteLLM"), (minimal(), "no entry of provider 'q'")],
)
def test_another_file_is_refused(text, says):
    """The message says what was expected."""
    with pytest.raises(BookInvalid, match=says):
        imported(text, "q")
