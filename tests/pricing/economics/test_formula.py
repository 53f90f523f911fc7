"""The revenue model against the white paper's figures and the vectors of facts/economics.md §1."""

import json
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.formula import (
    SECONDS_PER_DAY,
    Throughput,
    TokenPrices,
    blended_input_price,
    exact_decimal,
    plain_text,
    service_factor,
    throughput_of_counts,
    window_revenue,
)

GLM = TokenPrices(input_price=8, cached_price=2, output_price=28)  # CNY per million tokens
ANCHOR = Throughput(input_tokens_per_second=Decimal("83670.6"), hit_ratio=Decimal("0.9"))
MONTH = 30 * SECONDS_PER_DAY


def anchor_month(**change: object) -> Decimal:
    """CNY per 30-day month of the anchor with a changed throughput field."""
    fields = {"input_tokens_per_second": Decimal("83670.6"), "hit_ratio": Decimal("0.9")}
    return exact_decimal(window_revenue(MONTH, Throughput(**(fields | change)), prices=GLM).total)


def test_anchor_of_white_paper_1():
    """Published: about 564 thousand CNY a month; 2.592 · 83,670.6 · 2.6 by hand."""
    assert anchor_month() == Decimal("563872.90752")


def test_anchor_at_40_percent():
    """Published: about 226 thousand CNY a month at 40 % utilisation."""
    earned = window_revenue(MONTH, ANCHOR, prices=GLM, utilization=Decimal("0.4"))
    assert exact_decimal(earned.total) == Decimal("225549.163008")


def test_tokens_per_minute_and_per_month():
    """83,670.6 · 60 = 5,020,236 a minute (published: 5.02 M); 216,874,195,200 in 30 days."""
    assert ANCHOR.input_tokens_per_second * 60 == 5_020_236
    assert ANCHOR.input_tokens_per_second * MONTH == 216_874_195_200


@pytest.mark.parametrize(
    ("days", "factor", "revenue"),
    [
        (28, "2.4192", "526281.380352"),
        (29, "2.5056", "545077.143936"),
        (30, "2.592", "563872.90752"),
        (31, "2.6784", "582668.671104"),
        (365, "31.536", "6860453.70816"),
    ],
)
def test_months_and_years(days, factor, revenue):
    """economics.md §1.1, table of K and R."""
    seconds = days * SECONDS_PER_DAY
    assert exact_decimal(service_factor(seconds)) == Decimal(factor)
    assert exact_decimal(window_revenue(seconds, ANCHOR, prices=GLM).total) == Decimal(revenue)


def test_twelve_months_of_30_days_understate_a_year():
    """31.104 against 31.536: 1.389 % of 31.104."""
    assert float(Fraction("31.536") / Fraction("31.104") - 1) == pytest.approx(0.01389, abs=1e-5)


@pytest.mark.parametrize(
    ("ratio", "blended", "revenue"),
    [
        ("0", "8", "1734993.5616"),
        ("0.5", "5", "1084370.976"),
        ("0.8", "3.2", "693997.42464"),
        ("0.95", "2.3", "498810.648960"),
        ("1", "2", "433748.3904"),
    ],
)
def test_hit_ratio_with_traffic_fixed(ratio, blended, revenue):
    """economics.md §1.1: with T fixed, revenue falls as r rises."""
    assert exact_decimal(blended_input_price(Decimal(ratio), GLM)) == Decimal(blended)
    assert anchor_month(hit_ratio=Decimal(ratio)) == Decimal(revenue)


def test_line_split_of_the_anchor():
    """69.23 % of the anchor's revenue is the cached line (economics.md §0.4)."""
    earned = window_revenue(MONTH, ANCHOR, prices=GLM)
    assert exact_decimal(earned.uncached) == Decimal("173499.35616")
    assert exact_decimal(earned.cached) == Decimal("390373.55136")
    assert float(earned.cached / earned.total) == pytest.approx(0.6923, abs=5e-5)


@pytest.mark.parametrize(
    ("cached_price", "revenue"), [("0.8", 329648.78), (Fraction(8, 120), 186511.81)]
)
def test_repricing_only_the_cached_line(cached_price, revenue):
    """economics.md §1.1: p_h = p_m / 10 and p_m / 120."""
    prices = TokenPrices(input_price=8, cached_price=Fraction(cached_price))
    assert float(window_revenue(MONTH, ANCHOR, prices=prices).total) == pytest.approx(
        revenue, abs=0.005
    )


def test_hit_ratio_that_the_rounding_pins():
    """56.4万 rounds from 563,500 to 564,500: r in [0.8995, 0.9003] (economics.md §0.1)."""
    full = Fraction("2.592") * Fraction("83670.6")
    low, high = ((8 - Fraction(amount) / full) / 6 for amount in (564_500, 563_500))
    assert (float(low), float(high)) == pytest.approx((0.8995, 0.9003), abs=5e-5)
    assert float((8 - Fraction("563872.91") / (Fraction("2.592") * Fraction("95920.5"))) / 6) == (
        pytest.approx(0.955, abs=5e-4)
    )


@pytest.mark.parametrize(
    ("ratio", "revenue"),
    [("1", "433748.3904"), ("1.8", "-607247.74656"), ("0", "1734993.5616")],
)
def test_what_a_decode_nodes_cached_count_would_do(ratio, revenue):
    """economics.md §0.5: all-hit −23.08 %, doubled is negative, missing as zero ×3.077."""
    amount = service_factor(MONTH) * Fraction("83670.6") * blended_input_price(Decimal(ratio), GLM)
    assert exact_decimal(amount) == Decimal(revenue)


def test_a_hit_ratio_above_one_is_refused():
    """A doubled cached count would be negative revenue; the message says where to look."""
    with pytest.raises(ValueError, match=r"hit_ratio must lie in 0..1, got 1.8.*prefill"):
        Throughput(hit_ratio=Decimal("1.8"))


def test_adding_cached_tokens_instead_of_subtracting_them():
    """economics.md §1.6.2: all tokens at full price plus hits again: 2,125,367.11 (×3.769)."""
    double = service_factor(MONTH) * Fraction("83670.6") * (8 + Fraction("0.9") * 2)
    assert float(double) == pytest.approx(2_125_367.11, abs=0.005)
    assert float(double / Fraction("563872.90752")) == pytest.approx(3.769, abs=5e-4)


def test_partial_month():
    """2026-08-20 09:30 to 2026-09-01 00:00 in Shanghai: 1,002,600 s, K 1.0026."""
    start, end = (
        datetime.fromisoformat(text)
        for text in ("2026-08-20T09:30+08:00", "2026-09-01T00:00+08:00")
    )
    seconds = int((end - start).total_seconds())
    assert seconds == 1_002_600
    assert exact_decimal(window_revenue(seconds, ANCHOR, prices=GLM).total) == Decimal(
        "218109.173256"
    )


def test_decode_and_unified_servers():
    """economics.md §1.4: 5,000 tok/s at 28 → 362,880; a mixed server 163,814.40."""
    decode = Throughput(output_tokens_per_second=5_000)
    assert window_revenue(MONTH, decode, prices=GLM).total == 362_880
    unified = Throughput(
        input_tokens_per_second=20_000, hit_ratio=Decimal("0.9"), output_tokens_per_second=400
    )
    assert window_revenue(MONTH, unified, prices=GLM).total == Fraction("163814.4")


def test_utilisation_is_linear_in_tokens():
    """40 % of 83,670.6 is 33,468.24 tokens/s."""
    slower = Throughput(input_tokens_per_second=Decimal("33468.24"), hit_ratio=Decimal("0.9"))
    assert window_revenue(MONTH, slower, prices=GLM).total == Fraction("225549.163008")


def test_averaging_the_ratio_over_time_misstates_by_the_covariance():
    """economics.md §1.5: true 15,552, naive 19,699.20, difference (D/10⁶)(p_m−p_h)·Cov(T, r)."""
    halves = [(100_000, Fraction("0.9")), (20_000, Fraction("0.5"))]
    half_day = SECONDS_PER_DAY // 2
    true = sum(
        window_revenue(
            half_day, Throughput(input_tokens_per_second=t, hit_ratio=r), prices=GLM
        ).total
        for t, r in halves
    )
    mean = Throughput(input_tokens_per_second=60_000, hit_ratio=Fraction("0.7"))
    naive = window_revenue(SECONDS_PER_DAY, mean, prices=GLM).total
    covariance = sum(t * r for t, r in halves) / 2 - 60_000 * Fraction("0.7")
    assert (true, naive) == (15_552, Fraction("19699.2"))
    assert naive - true == service_factor(SECONDS_PER_DAY) * 6 * covariance


@given(
    seconds=st.integers(1, 40_000_000),
    counts=st.tuples(*[st.integers(0, 10**15)] * 3),
    prices=st.tuples(*[st.decimals(0, 1000, places=9)] * 3),
)
def test_formula_equals_the_ledger_to_the_last_digit(seconds, counts, prices):
    """Σ tokens × price / 10⁶ = K·T·b(r) + K·T_out·p_o in exact fractions, whatever the inputs."""
    uncached, cached, output = counts
    key = TokenPrices(input_price=prices[0], cached_price=prices[1], output_price=prices[2])
    measured = throughput_of_counts(
        seconds, input_tokens=uncached + cached, cached_tokens=cached, output_tokens=output
    )
    ledger = sum(n * Fraction(p) for n, p in zip(counts, prices, strict=True)) / 10**6
    assert window_revenue(seconds, measured, prices=key).total == ledger


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (Decimal("1E+3"), "1000"), (Decimal("-0.50"), "-0.5"), (Fraction(1, 8), "0.125")],
)
def test_plain_text_has_no_exponent_and_no_trailing_zero(value, text):
    """By hand."""
    assert plain_text(value) == text


def test_a_third_is_not_money():
    """1/3 has no finite decimal; the error shows the fraction."""
    with pytest.raises(ArithmeticError, match="1/3 has no finite decimal"):
        exact_decimal(Fraction(1, 3))


@pytest.mark.parametrize("change", [{"utilization": 2}, {"seconds": -1}, {"tokens": -1}])
def test_impossible_inputs_are_refused(change):
    """Negative time or tokens and a utilisation above 1 cannot be."""
    with pytest.raises(ValueError, match="must"):
        window_revenue(
            change.get("seconds", 1),
            Throughput(output_tokens_per_second=change.get("tokens", 0)),
            prices=GLM,
            utilization=change.get("utilization", 1),
        )


@pytest.fixture(scope="module")
def vectors(shared):
    """facts/vectors.json with its decimals as written."""
    return json.loads((shared / "facts/vectors.json").read_text(), parse_float=Decimal)


def test_every_revenue_vector(vectors):
    """facts/vectors.json: revenue."""
    for row in vectors["revenue"]:
        load = Throughput(input_tokens_per_second=row["T"], hit_ratio=row["r"])
        prices = TokenPrices(input_price=row["pm"], cached_price=row["ph"])
        earned = window_revenue(
            row["days"] * SECONDS_PER_DAY, load, prices=prices, utilization=row["U"]
        ).total
        assert float(earned) == pytest.approx(float(row["R"]), rel=1e-15)


def test_partial_vector(vectors):
    """facts/vectors.json: partial."""
    row = vectors["partial"]
    seconds = datetime.fromisoformat(row["end"]) - datetime.fromisoformat(row["start"])
    assert seconds.total_seconds() == row["seconds"]
    assert exact_decimal(window_revenue(row["seconds"], ANCHOR, prices=GLM).total) == row["R"]


def test_covariance_vector(vectors):
    """facts/vectors.json: cov."""
    row = vectors["cov"]
    parts = [
        window_revenue(
            hours * 3600, Throughput(input_tokens_per_second=t, hit_ratio=r), prices=GLM
        ).total
        for t, r, hours in zip(row["T"], row["r"], row["hours"], strict=True)
    ]
    assert sum(parts) == Fraction(row["R_true"])
    mean = Throughput(
        input_tokens_per_second=Fraction(sum(row["T"]), 2), hit_ratio=Fraction(sum(row["r"])) / 2
    )
    assert window_revenue(SECONDS_PER_DAY, mean, prices=GLM).total == Fraction(row["R_naive"])


def test_cached_tokens_bug_vector(vectors):
    """facts/vectors.json: pd_cached_tokens_bug."""
    row = vectors["pd_cached_tokens_bug"]
    full = service_factor(MONTH) * Fraction("83670.6")
    for key, ratio in (
        ("decode_reports_all_hit", 1),
        ("doubled_r1.8", Decimal("1.8")),
        ("missing_as_zero", 0),
    ):
        found = full * blended_input_price(ratio, GLM)
        assert float(found) == pytest.approx(float(row[key]), rel=1e-15)
