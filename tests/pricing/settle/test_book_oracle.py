"""Random books and usage through the real settler: exact, whatever the order (V3, V5, V6)."""

from datetime import timedelta
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pricing.price_strategies import books
from tests.pricing.settle.legs import Till, decode, prefill
from tests.pricing.settle.priced_usage import DAY, exact_price, ruled, usage

SOON = DAY + timedelta(days=20)


def charged(till):
    """Amount of each request that is billed, as a fraction."""
    rows = till.requests().items()
    return {name: Fraction(row[2]) for name, row in rows if row[0] == "billed"}


def settled(listed, *batches):
    """A till that settled these batches of legs by one book."""
    till = Till(ruled(listed))
    for legs in batches:
        till.feed(*legs, now=SOON)
    return till


@settings(max_examples=40)
@given(listed=books(DAY), legs=usage())
def test_sql_equals_exact_fractions_on_any_book_and_usage(listed, legs):
    """Bands, tiers, service tiers, regions, contracts, promotions: tokens × price ÷ 10^6."""
    expected = {row["event_id"]: exact_price(listed, row) for row in legs}
    assert charged(settled(listed, legs)) == {k: v for k, v in expected.items() if v is not None}


@settings(max_examples=12)
@given(listed=books(DAY), legs=usage(), data=st.data())
def test_order_duplicates_and_splits_change_nothing(listed, legs, data):
    """Any order, cut in two anywhere, every leg sent twice: the same charges and the same sums."""
    order = data.draw(st.permutations(legs))
    cut = data.draw(st.integers(0, len(legs)))
    whole, split = settled(listed, legs), settled(listed, order[:cut] or order, order)
    assert charged(split) == charged(whole)
    assert split.amount() == whole.amount() == split.amount("node_money")


@settings(max_examples=12)
@given(listed=books(DAY), legs=usage(legs_max=3), data=st.data())
def test_a_pair_pays_what_one_engine_would_have_paid(listed, legs, data):
    """Split into prefill and decode halves, in any order: the price does not see the cluster."""
    halves = [
        {**build(f"{kind}{index}"), **row, "stage": kind, "join_key": f"k{index}"}
        | {"event_id": build(f"{kind}{index}")["event_id"]}
        for index, row in enumerate(legs)
        for kind, build in (("prefill", prefill), ("decode", decode))
    ]
    split = settled(listed, data.draw(st.permutations(halves)))
    assert split.amount() == settled(listed, legs).amount()


@settings(max_examples=12)
@given(listed=books(DAY), legs=usage())
def test_no_line_is_ever_negative(listed, legs):
    """No token count and no amount of a request below 0 (case C02's kind)."""
    till = settled(listed, legs)
    assert all(amount >= 0 for amount in charged(till).values())
    least = "min(least(uncached_tokens, cached_tokens, unsplit_tokens, output_tokens))"
    assert till.rows(least, "request")[0][0] >= 0


@settings(max_examples=12)
@given(listed=books(DAY), legs=usage(legs_max=1), more=st.integers(1, 1000))
def test_more_output_never_costs_less_without_tiers(listed, legs, more):
    """A charge grows with its tokens; only a tier, another price key, may cut the price."""
    (row,) = legs
    longer = row | {"output_tokens": row["output_tokens"] + more}
    both = [exact_price(listed, each) for each in (row, longer)]
    keys = [settled(listed, [each]).rows("price_key", "request") for each in (row, longer)]
    sums = [sum(charged(settled(listed, [each])).values()) for each in (row, longer)]
    assert None in both or keys[0] != keys[1] or sums[0] <= sums[1]
