"""The variance bridge: each effect by hand, and effects that add up exactly."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.variance import SegmentSales, WindowSales, variance_bridge

DAY = 86_400
counts = st.integers(0, 10**12)
prices = st.decimals(0, 1000, places=9)


def sales(uncached, cached, output=0, prices=(8, 2, 28)):
    """Sales of a segment at prices per million tokens."""
    amounts = [
        tokens * Fraction(price) / 10**6
        for tokens, price in zip((uncached, cached, output), prices, strict=True)
    ]
    return SegmentSales(
        uncached_tokens=uncached,
        cached_tokens=cached,
        output_tokens=output,
        uncached_amount=amounts[0],
        cached_amount=amounts[1],
        output_amount=amounts[2],
    )


def window(days=30, **segments):
    """Sales of a window of whole days."""
    return WindowSales(days * DAY, segments)


BASE = window(glm=sales(10**9, 9 * 10**9))


def effects(bridge):
    """The five effects in order."""
    return [bridge.calendar, bridge.volume, bridge.mix, bridge.hit_ratio, bridge.price]


def test_only_the_calendar():
    """31 days at the same rate: one day of 30 more, 78 / 30 = 2.6, nothing else."""
    before = window(30, glm=sales(3 * 10**6, 27 * 10**6))
    after = window(31, glm=sales(31 * 10**5, 279 * 10**5))
    assert effects(variance_bridge(before, after)) == [Fraction("2.6"), 0, 0, 0, 0]


def test_only_the_hit_ratio():
    """Same tokens, r from 0.9 to 0.95: 10,000 MTok · (2 − 8) · 0.05 = −3,000."""
    bridge = variance_bridge(BASE, window(glm=sales(5 * 10**8, 95 * 10**8)))
    assert effects(bridge) == [0, 0, 0, -3000, 0]


def test_only_the_price():
    """The cached price from 2 to 1.5: 9,000 MTok · −0.5 = −4,500."""
    cheaper = sales(10**9, 9 * 10**9, prices=(8, Decimal("1.5"), 28))
    assert effects(variance_bridge(BASE, window(glm=cheaper))) == [0, 0, 0, 0, -4500]


def test_only_the_volume():
    """Half as many tokens in the same month: −13,000."""
    bridge = variance_bridge(BASE, window(glm=sales(5 * 10**8, 45 * 10**8)))
    assert effects(bridge) == [0, -13_000, 0, 0, 0]


def test_only_the_mix():
    """1,000 MTok move from a model at 2.6 to one at 8: mix +5,400."""
    before = window(glm=sales(10**9, 9 * 10**9), dear=sales(10**9, 0))
    after = window(glm=sales(9 * 10**8, 81 * 10**8), dear=sales(2 * 10**9, 0))
    assert effects(variance_bridge(before, after)) == [0, 0, 5400, 0, 0]


def test_a_new_model_is_volume_and_mix_not_price():
    """A model that was not sold before has no old price to differ from."""
    bridge = variance_bridge(BASE, window(glm=BASE.segments["glm"], new=sales(10**9, 0, 10**8)))
    assert (bridge.hit_ratio, bridge.price) == (0, 0)
    assert bridge.volume + bridge.mix == bridge.after - bridge.before == 10_800


def test_from_and_to_an_empty_window():
    """Everything that comes or goes is volume."""
    empty = window()
    assert effects(variance_bridge(empty, BASE)) == [0, 26_000, 0, 0, 0]
    assert effects(variance_bridge(BASE, empty)) == [0, -26_000, 0, 0, 0]


segments = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(sales, counts, counts, counts, st.tuples(prices, prices, prices)),
    max_size=3,
)
windows = st.builds(WindowSales, st.integers(1, 10**7), segments)


@given(windows, windows)
def test_effects_add_up_exactly(before, after):
    """Property: before + Σ effects = after to the last digit, whatever the windows."""
    bridge = variance_bridge(before, after)
    assert bridge.before + sum(effects(bridge)) == bridge.after == after.amount


@given(windows)
def test_nothing_changed(same):
    """Property: a window against itself has no effect."""
    assert effects(variance_bridge(same, same)) == [0, 0, 0, 0, 0]


def test_amount_without_tokens_is_refused():
    """A minimum charge has no price per token; it is shown beside the bridge."""
    with pytest.raises(ValueError, match="output_amount without output_tokens"):
        SegmentSales(output_amount=5)


def test_a_window_needs_a_length():
    """Rates per second of no time do not exist."""
    with pytest.raises(ValueError, match="longer than 0"):
        variance_bridge(WindowSales(0, {}), BASE)
