"""SLO attainment from histograms, availability and credits: facts/economics.md §6."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.slo import (
    UNKNOWN,
    Bucket,
    Share,
    Weight,
    attainment,
    both_limits,
    bucket_of,
    credit_ratio,
    error_budget_minutes,
    log_spaced,
    merged,
    percentile_seconds,
    request_availability,
    token_attainment,
    tpot_seconds,
    window_mean_availability,
    with_revenue,
)

AWS = [("0.999", "0.10"), ("0.99", "0.25"), ("0.95", "1")]  # Bedrock's ladder, below → credit
AWS_LADDER = [(Fraction(below), Fraction(ratio)) for below, ratio in AWS]
latencies = st.lists(st.floats(0.0001, 1000), min_size=1, max_size=40)


def histogram(seconds, tokens=1, revenue="0.5"):
    """A histogram of latencies, each with the same tokens and revenue."""
    return merged({bucket_of(s): Weight(1, tokens, Decimal(revenue))} for s in seconds)


def test_buckets_are_the_stores():
    """latency_hourly: bucket b holds (2^((b−1)/8), 2^(b/8)] ms; 0 up to 1 ms; 1 s is 80."""
    found = [bucket_of(s) for s in (0.0005, 0.001, 0.00105, 1.024)]
    assert found == [log_spaced(number) for number in (0, 0, 1, 80)]
    assert log_spaced(0) == (0, 0.001)
    assert log_spaced(80) == pytest.approx((1.024 * 2 ** (-1 / 8), 1.024))


@given(latencies, st.floats(0.001, 1000))
def test_the_true_share_lies_in_the_bounds(seconds, limit):
    """Property: low ≤ what a list of latencies says ≤ high, by request."""
    found = attainment(histogram(seconds), limit, window_seconds=60)
    true = Fraction(sum(s <= limit for s in seconds), len(seconds))
    assert found.by_request.low <= true <= found.by_request.high
    assert found.goodput.low <= true * len(seconds) / 60 <= found.goodput.high


def test_by_request_by_token_and_by_revenue():
    """98 short and 2 long requests: 98 % of requests, but 49.5 % of tokens and of revenue."""
    hours = [
        {bucket_of(1.0): Weight(98, 98, Decimal("0.98"))},
        {bucket_of(20.0): Weight(2, 100, Decimal(1))},
    ]
    found = attainment(merged(hours), 6.0, window_seconds=3600)
    assert found.by_request == Share(Fraction(98, 100), Fraction(98, 100))
    assert found.by_token.high == Fraction(98, 198)
    assert found.by_revenue.low == Fraction(98, 198)
    assert found.revenue_at_risk == 1
    assert found.goodput.low == Fraction(98, 3600)


def test_refused_requests_count_as_missed():
    """1 served well and 1 refused is 50 %, not 100 %."""
    found = attainment(histogram([0.5]), 6.0, window_seconds=60, failed_requests=1)
    assert found.by_request == Share(Fraction(1, 2), Fraction(1, 2))


def test_a_limit_inside_a_bucket_gives_two_bounds():
    """6 s lies inside bucket 101 (5.793, 6.317]: a latency there may have met it or not."""
    found = attainment(histogram([6.1]), 6.0, window_seconds=1)
    assert found.by_request == Share(Fraction(0), Fraction(1))


def test_percentiles_come_from_added_counts():
    """Two hours: 99 at 1 s and 1 at 9 s; 1 at 9 s. P99 of all is 9 s, no mean of two P99."""
    hours = [histogram([1.0] * 99 + [9.0]), histogram([9.0])]
    assert percentile_seconds(merged(hours), Fraction("0.99")) == pytest.approx(9, rel=0.09)
    assert percentile_seconds(merged(hours), Fraction("0.5")) == pytest.approx(1, rel=0.09)
    assert percentile_seconds({}, Fraction("0.5")) is None


def test_a_percentile_is_a_ratio():
    """99 instead of 0.99 is caught."""
    with pytest.raises(ValueError, match=r"0\.\.1"):
        percentile_seconds(histogram([1]), 99)


def test_unknown_is_unknown():
    """Nothing measured: no share; revenue not known per bucket: no money at risk is claimed."""
    nothing = attainment({}, 6.0, window_seconds=60)
    assert nothing.by_request == Share(None, None)
    unpriced = attainment({bucket_of(1.0): Weight(1, 1)}, 6.0, window_seconds=60)
    assert unpriced.by_revenue == Share(None, None)
    assert unpriced.revenue_at_risk is None


def test_revenue_by_output_tokens():
    """10.00 over 1 and 3 tokens: 7.50 lie in the slow bucket, at risk; no token, no guess."""
    hours = {bucket_of(1.0): Weight(1, 1), bucket_of(9.0): Weight(1, 3)}
    found = attainment(with_revenue(hours, Decimal("10.00")), 6.0, window_seconds=60)
    assert found.revenue_at_risk == Decimal("7.5")
    silent = {bucket_of(1.0): Weight(1, 0)}
    assert with_revenue(silent, Decimal(1)) == silent


def test_two_limits_at_once():
    """90 and 95 of 100 met: both between 85 and 90 %; 10 refusals: of 110; 60 s: 1.4 to 1.5 /s."""
    ttft = histogram([1.0] * 90 + [9.0] * 10)
    tpot = histogram([0.01] * 95 + [0.9] * 5)
    both = both_limits((ttft, 6.0), (tpot, 0.05), window_seconds=60)
    assert both.by_request == both.by_token == Share(Fraction("0.85"), Fraction("0.9"))
    assert both.goodput == Share(Fraction(85, 60), Fraction(90, 60))
    refused = both_limits((ttft, 6.0), (tpot, 0.05), window_seconds=60, failed_requests=10)
    assert refused.by_request == Share(Fraction(85, 110), Fraction(90, 110))


def test_what_one_measure_does_not_know_stays_open():
    """Four answers, two of one token (no TPOT): two surely met both, the others may have."""
    found = both_limits(
        (histogram([1.0] * 4), 6.0), (histogram([0.01] * 2), 0.05), window_seconds=1
    )
    assert found.by_request == Share(Fraction(1, 2), Fraction(1))
    nothing = both_limits(({}, 6.0), ({}, 0.05), window_seconds=1)
    assert nothing.by_request == Share(None, None)


@given(st.lists(st.tuples(st.floats(0.1, 20), st.floats(0.001, 1)), min_size=1, max_size=40))
def test_the_true_number_that_met_both_lies_in_the_bounds(pairs):
    """Property: whichever requests they are, low ≤ true ≤ high."""
    found = both_limits(
        (histogram([a for a, _ in pairs]), 6.0),
        (histogram([b for _, b in pairs]), 0.05),
        window_seconds=1,
    )
    true = Fraction(sum(a <= 6.0 and b <= 0.05 for a, b in pairs), len(pairs))
    assert found.by_request.low <= true <= found.by_request.high


def test_tokens_alone_say_nothing_of_requests():
    """8 intervals up to 10 ms, 2 above 25 ms: 80 % by token at 10 ms and no word of requests."""
    engines = {Bucket(0.0, 0.01): Weight(0, 8), Bucket(0.025, math.inf): Weight(0, 2)}
    found = token_attainment(engines, 0.01)
    assert found.by_token == Share(Fraction(8, 10), Fraction(8, 10))
    assert found.by_request == found.by_revenue == found.goodput == UNKNOWN
    assert percentile_seconds(engines, Fraction("0.8"), by_token=True) == 0.01
    assert percentile_seconds(engines, Fraction("0.9"), by_token=True) is None


def test_tpot():
    """(E2E − TTFT) / (o − 1); one token has none."""
    assert tpot_seconds(3.0, 1.0, 101) == pytest.approx(0.02)
    assert tpot_seconds(3.0, 1.0, 1) is None


def test_the_definition_decides_the_credit():
    """12 of 8,640 windows fail: 99.8611 % by window (10 % credit); 95.0 % if they held 5 %."""
    windows = [(1, 1)] * 12 + [(0, 1)] * 8_628
    mean = window_mean_availability(windows)
    assert float(mean) == pytest.approx(0.998611, abs=5e-7)
    assert credit_ratio(mean, AWS_LADDER) == Fraction("0.1")
    heavy = [(719, 719)] * 12 + [(0, 19)] * 8_628
    by_request = request_availability(heavy)
    assert float(by_request) == pytest.approx(0.95, abs=5e-5)


def test_ladder_bounds_are_half_open():
    """Exactly 99.0 % is not below it: 10 %; exactly 95 % is 25 %; 99.9 % earns nothing."""
    rates = [credit_ratio(Fraction(a), AWS_LADDER) for a in ("0.99", "0.95", "0.999", "0.94")]
    assert rates == [Fraction("0.1"), Fraction("0.25"), 0, 1]


def test_an_empty_window_stays_in_the_divisor():
    """0 of 0 failed is an error rate of 0: one bad window of two is 50 %."""
    assert window_mean_availability([(3, 3), (0, 0)]) == Fraction(1, 2)
    assert request_availability([(0, 0)]) is None
    with pytest.raises(ValueError, match="at least one window"):
        window_mean_availability([])


@pytest.mark.parametrize(("days", "minutes"), [(30, "43.2"), (31, "44.64")])
def test_error_budget(days, minutes):
    """99.9 % allows 43.2 minutes in 30 days, 44.64 in 31."""
    assert error_budget_minutes(Fraction("0.999"), days) == Fraction(minutes)


def test_sla_vector(shared):
    """facts/vectors.json: sla."""
    row = json.loads((shared / "facts/vectors.json").read_text())["sla"]
    assert {days: 288 * int(days) for days in row["windows"]} == row["windows"]
    windows = [(1, 1)] * 12 + [(0, 1)] * (row["windows"]["30"] - 12)
    assert float(window_mean_availability(windows)) == pytest.approx(row["avail_12bad"], rel=1e-15)
