"""Quotes: which entry, which rules, in which order."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from pricing.errors import BookInvalid
from pricing.money import exact_sum, token_charge
from pricing.price_book import Catalogue, PriceQuery
from pricing.price_entry import Contract, ServiceTier, Tier
from tests.pricing.price_rows import START, book, entry, prices, quote, utc

LONG = Tier(prices=prices(input="5.00", cached_input="0.50", output="15.00"), input_from=200_001)
BASE = prices(input="2.50", cached_input="0.25", output="10.00")


def charge(of, input_tokens: int, cached: int, output_tokens: int, **change) -> Decimal:
    """Amount of a request, its three lines each at their own price."""
    price = quote(of, input_tokens=input_tokens, output_tokens=output_tokens, **change).price
    lines = (
        (input_tokens - cached, price.input_price),
        (cached, price.cached_price),
        (output_tokens, price.output_price),
    )
    return exact_sum([token_charge(tokens, of_line) for tokens, of_line in lines])


def test_case_c01_cached_tokens_are_charged_once():
    """Case C01: 4,500 uncached + 176,500 cached + 2,400 output = 0.063500."""
    assert charge(book(entry()), 181_000, 176_500, 2_400) == Decimal("0.063500")


def test_case_c03_a_missing_price_is_no_price():
    """Case C03: m-river-xl has no entry; once it has one, its 41.2 M tokens cost 82.40."""
    missing = quote(book(entry()), "m-river-xl")
    assert (missing.price, missing.reason) == (None, "no_price")
    later = book(entry(), entry("m-river-xl"))
    assert charge(later, 41_200_000, 0, 0, model_id="m-river-xl") == Decimal("82.40")


def test_case_c08_the_entry_in_force_at_the_request_decides():
    """Case C08: v1 until 2026-06-16 exclusive costs 2.80, v2 from then 2.20; v3 is too late."""
    versions = book(
        entry(effective_from=utc("2026-05-01T00:00:00Z")),
        entry(
            effective_from=utc("2026-06-16T00:00:00Z"),
            prices=prices(input="1.60", cached_input="0.16", output="6.00"),
        ),
        entry(
            effective_from=utc("2026-07-01T00:00:00Z"),
            prices=prices(input="1.00", cached_input="0.10", output="4.00"),
        ),
    )
    one_tenth = (1_000_000, 0, 100_000)
    assert charge(versions, *one_tenth, at=utc("2026-06-15T23:59:59.999Z")) == Decimal("2.80")
    assert charge(versions, *one_tenth, at=utc("2026-06-16T00:00:00Z")) == Decimal("2.20")


@pytest.mark.parametrize(
    ("input_tokens", "cached", "amount"),
    [(200_000, 0, "0.510000"), (200_001, 0, "1.015005"), (250_000, 200_000, "0.365000")],
)
def test_case_c18_the_whole_request_moves_to_the_tier(input_tokens, cached, amount):
    """Case C18: strictly above 200,000 of all input, cached included; every line moves."""
    of = book(entry(prices=BASE, tiers=(LONG,)))
    assert charge(of, input_tokens, cached, 1000) == Decimal(amount)


def test_the_next_entry_ends_the_one_before():
    """Start inclusive, end exclusive, to the microsecond; before the first nothing is known."""
    second = START + timedelta(days=1)
    of = book(entry(), entry(effective_from=second, effective_until=second + timedelta(days=1)))
    just = timedelta(microseconds=1)
    instants = (START - just, START, second - just, second, second + timedelta(days=1))
    names = [(q.price.entry if (q := quote(of, at=at)).price else q.reason) for at in instants]
    first, then = "m-river@2026-01-01T00:00:00Z", "m-river@2026-01-02T00:00:00Z"
    assert names == ["no_price", first, first, then, "no_price"]


def test_a_promotion_wins_and_ends_by_itself():
    """Half price for a day over a list that goes on; the list is back to the microsecond."""
    until = START + timedelta(days=1)
    half = entry(promotion=True, effective_until=until, prices=prices(output="4.00"))
    of = book(entry(), half)
    paid = [
        quote(of, at=at).price.output_price for at in (START, until - timedelta.resolution, until)
    ]
    assert paid == [4, 4, 8]


def test_names_exact_before_alias_before_longest_glob():
    """A name is looked for as a model, then as an alias, then by the longest glob."""
    of = book(
        entry("m"),
        entry("n", aliases=("m-1",), match=("m-*",)),
        entry("o", match=("m-1*", "m.?")),
    )
    found = {name: quote(of, name).price for name in ("m", "m-1", "m-2", "m-12", "m.x", "mxx")}
    models = {name: price and price.entry.partition("@")[0] for name, price in found.items()}
    assert models == {"m": "m", "m-1": "n", "m-2": "n", "m-12": "o", "m.x": "o", "mxx": None}


def test_a_tie_of_names_is_unpriced_and_names_both():
    """Two globs of equal length match: no guess."""
    of = book(entry("a", match=("m-?x",)), entry("b", match=("m-x?",)))
    tie = quote(of, "m-xx")
    assert (tie.price, tie.reason) == (None, "ambiguous_name")
    assert "a, b" in tie.detail


def test_names_belong_to_the_model_at_all_its_dates():
    """An alias written in the newer entry also finds the older price."""
    of = book(entry(), entry(effective_from=START + timedelta(days=9), aliases=("river",)))
    assert quote(of, "river").price.entry == "m-river@2026-01-01T00:00:00Z"


def test_missing_prices_follow_the_rules():
    """cache_write is input, its 1h cache_write, explicit reads cached input, reasoning output."""
    price = quote(book(entry(prices=prices(input="3", cached_input="same", output="9")))).price
    assert (price.cached_price, price.cached_explicit_price) == (3, 3)
    assert (price.cache_write_price, price.cache_write_1h_price) == (3, 3)
    assert price.reasoning_price == 9
    write = prices(input="3", cached_input="1", cache_write="4")
    price = quote(book(entry(prices=write))).price
    assert (price.cached_explicit_price, price.cache_write_1h_price) == (1, 4)
    assert (price.output_price, price.reasoning_price) == (None, None)


def test_same_follows_the_input_price_in_force():
    """cached "same": the tier's input price 5, not the base's 2.50."""
    same = prices(input="2.50", cached_input="same", output="10")
    tier = Tier(prices=prices(input="5"), input_from=10)
    price = quote(book(entry(prices=same, tiers=(tier,))), input_tokens=10).price
    assert (price.input_price, price.cached_price, price.output_price) == (5, 5, 10)


def test_the_highest_bounds_that_hold_win():
    """GLM-4.7: output from 200 on costs 14, but with 32,000 input 16 whatever the output."""
    tiers = (
        Tier(prices=prices(output="14"), output_from=200),
        Tier(prices=prices(output="16"), input_from=32_000),
    )
    of = book(entry(tiers=tiers))
    sizes = [(31_999, 199), (31_999, 200), (32_000, 199), (32_000, 200)]
    paid = [quote(of, input_tokens=i, output_tokens=o).price.output_price for i, o in sizes]
    assert paid == [8, 14, 16, 16]


def test_rules_act_in_their_order():
    """By hand: tier 15 × batch 0.5 × us 1.1 × (1 - 10 %) = 7.425; each step is named."""
    of = book(
        entry(
            prices=BASE,
            tiers=(LONG,),
            service_tiers=(ServiceTier(name="batch", multiplier=Decimal("0.5")),),
            regions={"us": Decimal("1.1")},
        ),
        contracts=(Contract(tenant="t1", effective_from=START, percent_off=Decimal(10)),),
    )
    got = quote(of, input_tokens=200_001, service_tier="batch", region="us", tenant_id="t1")
    assert got.price.output_price == Decimal("7.425")
    assert [step.rule for step in got.steps] == [
        "entry", "context_tier", "service_tier", "region", "contract",
    ]  # fmt: skip
    assert (got.price.context_tier, got.price.service_tier) == ("input>200000", "batch")
    assert got.price.contract == "t1@2026-01-01T00:00:00Z -10%"


def test_a_service_tier_with_prices_keeps_what_it_leaves_out_and_has_tiers_of_its_own():
    """Priority: output 20, above 200,000 30; input stays with the entry's tier."""
    own = Tier(prices=prices(output="30"), input_from=200_001)
    priority = ServiceTier(name="priority", prices=prices(output="20"), tiers=(own,))
    of = book(entry(prices=BASE, tiers=(LONG,), service_tiers=(priority,)))
    small, large = (quote(of, input_tokens=n, service_tier="priority").price for n in (1, 200_001))
    assert (small.input_price, small.output_price) == (Decimal("2.5"), 20)
    assert (large.input_price, large.output_price) == (5, 30)


@pytest.mark.parametrize("name", [None, "", "auto", "default", "standard"])
def test_no_service_tier_has_many_names(name):
    """What engines and gateways write when nothing was asked for is no finding."""
    assert quote(book(entry()), service_tier=name).findings == frozenset()


def test_an_unknown_service_tier_pays_the_base_and_is_found():
    """Nothing is guessed from a name that the book lacks."""
    got = quote(book(entry()), service_tier="turbo")
    assert (got.price.output_price, got.price.service_tier) == (8, None)
    assert got.findings == {"unknown_service_tier"}


def test_contracts_hold_between_their_dates():
    """10 percent off from day 1, 20 from day 2 until day 3; other tenants pay the list."""
    day = timedelta(days=1)
    contracts = (
        Contract(tenant="t1", effective_from=START + day, percent_off=Decimal(10)),
        Contract(
            tenant="t1",
            effective_from=START + 2 * day,
            effective_until=START + 3 * day,
            percent_off=Decimal(20),
        ),
    )
    of = book(entry(), contracts=contracts)
    paid = [quote(of, at=START + n * day, tenant_id="t1").price.output_price for n in range(4)]
    assert paid == [8, Decimal("7.2"), Decimal("6.4"), 8]
    assert quote(of, at=START + day, tenant_id="t2").price.output_price == 8


def test_a_contract_may_name_another_book():
    """The tenant pays that book as it stands; what it lacks has no price, not the list's."""
    moved = Contract(tenant="t1", effective_from=START, book="alder")
    listed = book(entry(), entry("m-lake"), contracts=(moved,))
    alder = book(entry(prices=prices(output="1")), name="alder", currency="USD")
    catalogue = Catalogue([listed, alder], "list")
    at = datetime(2026, 1, 2, tzinfo=UTC)
    ours = catalogue.quote(PriceQuery(model_id="m-river", at=at, tenant_id="t1")).price
    assert (ours.output_price, ours.currency, ours.book) == (1, "USD", "alder")
    assert catalogue.quote(PriceQuery(model_id="m-lake", at=at, tenant_id="t1")).price is None
    assert catalogue.quote(PriceQuery(model_id="m-lake", at=at)).price is not None


def test_books_that_are_missing_are_named():
    """A default or a contract that points nowhere is an error of the catalogue."""
    moved = Contract(tenant="t1", effective_from=START, book="alder")
    with pytest.raises(BookInvalid, match="alder"):
        Catalogue([book(entry(), contracts=(moved,))], "list")
    with pytest.raises(BookInvalid, match="default book 'other'"):
        Catalogue([book(entry())], "other")


def test_deepseek_day():
    """608 B in, 342 B of them hits, 168 B out at 0.55 / 0.14 / 2.19 USD: 562,100 by hand."""
    r1 = book(entry(prices=prices(input="0.55", cached_input="0.14", output="2.19")))
    amount = charge(r1, 608 * 10**9, 342 * 10**9, 168 * 10**9)
    exact = (266 * Fraction("0.55") + 342 * Fraction("0.14") + 168 * Fraction("2.19")) * 1000
    assert amount == exact == 562_100
