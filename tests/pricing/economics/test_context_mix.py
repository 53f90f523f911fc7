"""Equivalent throughput of mixed contexts: facts/economics.md §1.2, §2o, §5.3."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.context_mix import (
    equivalence_ratio,
    equivalent_throughput,
    linear_throughput,
    mean_context,
    slower_class_throughput,
    time_shares,
    token_shares,
)
from pricing.formula import SECONDS_PER_DAY, Throughput, TokenPrices, window_revenue

RATES = (Decimal("95920.5"), 80_000, 45_000)
SHARES = (Decimal("0.5"), Decimal("0.3"), Decimal("0.2"))
LENGTHS = (64_000, 128_000, 256_000, 400_000)
LENGTH_SHARES = (Decimal("0.4"), Decimal("0.3"), Decimal("0.2"), Decimal("0.1"))
A, B = Decimal("8e-6"), Decimal("3.8e-11")  # seconds per token, per token and context token


def test_harmonic_mean_of_the_vector():
    """T_eq 74,587.3761; the arithmetic mean 80,960.25 overstates by 8.544 %."""
    equivalent = equivalent_throughput(RATES, SHARES)
    assert float(equivalent) == pytest.approx(74587.3761, abs=5e-5)
    arithmetic = sum(Fraction(t) * Fraction(w) for t, w in zip(RATES, SHARES, strict=True))
    assert arithmetic == Fraction("80960.25")
    assert float(arithmetic / equivalent - 1) == pytest.approx(0.08544, abs=5e-6)


def test_what_the_arithmetic_mean_would_cost():
    """+42,948 CNY a month at r = 0.9 and 8/2."""
    monthly = [
        window_revenue(
            30 * SECONDS_PER_DAY,
            Throughput(input_tokens_per_second=rate, hit_ratio=Decimal("0.9")),
            prices=TokenPrices(input_price=8, cached_price=2),
        ).total
        for rate in (Fraction("80960.25"), equivalent_throughput(RATES, SHARES))
    ]
    assert float(monthly[0] - monthly[1]) == pytest.approx(42_948, abs=1)


def test_time_shares():
    """τ = 0.388798, 0.279703, 0.331499; they sum to 1 and give T_eq as a mean by time."""
    shares = time_shares(RATES, SHARES)
    assert [float(s) for s in shares] == pytest.approx([0.388798, 0.279703, 0.331499], abs=5e-7)
    assert sum(shares) == 1
    by_time = sum(t * Fraction(r) for t, r in zip(shares, RATES, strict=True))
    assert by_time == equivalent_throughput(RATES, SHARES)


@pytest.mark.parametrize(
    ("share", "slower"),
    [("0.2", 55380.35), ("0.3", 64461.80), ("0.5", 74195.21), ("0.7", 79328.75)],
)
def test_inversion_of_the_white_paper(share, slower):
    """If that share of tokens ran slower and the rest at 95,920.5, the mix gives 83,670.6."""
    rate = slower_class_throughput(Decimal("83670.6"), Decimal("95920.5"), Decimal(share))
    assert float(rate) == pytest.approx(slower, abs=0.005)
    back = equivalent_throughput((rate, Decimal("95920.5")), (Decimal(share), 1 - Decimal(share)))
    assert back == Fraction("83670.6")


def test_linear_context_both_ways():
    """L̄ = 155,200 and T_eq = 71,954.8699 from the closed form and from the classes."""
    context = mean_context(LENGTHS, LENGTH_SHARES)
    assert context == 155_200
    closed = linear_throughput(A, B, context)
    rates = [linear_throughput(A, B, length) for length in LENGTHS]
    assert closed == equivalent_throughput(rates, LENGTH_SHARES)
    assert float(closed) == pytest.approx(71954.8699, abs=5e-5)


def test_equal_request_counts_weigh_long_contexts():
    """E[L] = 212,000 but L̄ = 290,113.21: 52,564.35 tok/s; E[L] would say 62,282.01 (+18 %)."""
    shares = token_shares((1, 1, 1, 1), LENGTHS)
    context = mean_context(LENGTHS, shares)
    assert float(context) == pytest.approx(290_113.21, abs=0.005)
    assert float(linear_throughput(A, B, context)) == pytest.approx(52_564.35, abs=0.005)
    assert float(linear_throughput(A, B, 212_000)) == pytest.approx(62_282.01, abs=0.005)


def test_equivalence_on_a_mix():
    """economics.md §5.3: 0.497756, not the mean of the ratios 0.512."""
    fast, slow = (100, 70, 40), (54, 35, Decimal("18.4"))
    ratio = equivalence_ratio(slow, fast, SHARES)
    assert float(ratio) == pytest.approx(0.497756, abs=5e-7)
    mean = sum(Fraction(w) * Fraction(s) / f for w, s, f in zip(SHARES, slow, fast, strict=True))
    assert mean == Fraction("0.512")


def test_combined_input_and_output_rate():
    """economics.md §2o: (in + out) / (in/prefill + out/decode) is the same law."""
    rate = equivalent_throughput((20_000, 400), token_shares((1, 1), (3_000, 60)))
    assert rate == Fraction(3_060) / (Fraction(3_000, 20_000) + Fraction(60, 400))


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 100)), min_size=1, max_size=6))
def test_never_above_the_arithmetic_mean(classes):
    """Property: harmonic ≤ arithmetic, equal only if all classes are equally fast."""
    rates = [rate for rate, _ in classes]
    shares = token_shares([1] * len(classes), [weight for _, weight in classes])
    arithmetic = sum(s * r for s, r in zip(shares, rates, strict=True))
    assert equivalent_throughput(rates, shares) <= arithmetic


@pytest.mark.parametrize("shares", [(Decimal("0.5"), Decimal("0.4")), (2, -1)])
def test_shares_must_sum_to_one(shares):
    """A forgotten class would inflate the throughput."""
    with pytest.raises(ValueError, match="sum to 1"):
        equivalent_throughput((1, 1), shares)


def test_a_class_without_throughput_is_refused():
    """A class that a server cannot serve makes the mix impossible, not fast."""
    with pytest.raises(ValueError, match="above 0"):
        equivalent_throughput((0,), (1,))


def test_no_tokens_have_no_shares():
    """Shares of nothing are unknown."""
    with pytest.raises(ValueError, match="no tokens"):
        token_shares((0,), (5,))


def test_vectors(shared):
    """facts/vectors.json: harmonic and linear_ctx."""
    vectors = json.loads((shared / "facts/vectors.json").read_text(), parse_float=Decimal)
    row = vectors["harmonic"]
    assert float(equivalent_throughput(row["T"], row["w"])) == pytest.approx(
        float(row["Teq"]), rel=1e-14
    )
    row = vectors["linear_ctx"]
    rate = linear_throughput(row["a"], row["b"], mean_context(row["L"], row["w"]))
    assert float(rate) == pytest.approx(float(row["Teq"]), rel=1e-14)
