"""Sums of the pages: exact, per currency, against values worked by hand."""

from decimal import Decimal

from dashboard.cache_value import cache_value
from dashboard.findings import grouped, kind_text, remedy_text
from dashboard.summary import main_currency, summary
from dashboard.texts import Words
from dashboard.whatif import price_of, revenue_at

D = Decimal


def usage(**change):
    """A row of /v1/usage: 100 tokens, 90 of them cached; 8 out; 1 CNY."""
    base = {
        "requests": 1, "uncached_tokens": 10, "cached_tokens": 90, "cache_write_tokens": 0,
        "unsplit_tokens": 0, "output_tokens": 8, "reasoning_tokens": 0, "currency": "CNY",
        "input_amount": D("0.5"), "cached_amount": D("0.3"), "cache_write_amount": D(0),
        "output_amount": D("0.2"), "reasoning_amount": D(0), "amount": D(1), "amount_max": D(1),
        "disposition": "billed",
    }  # fmt: skip
    return base | change


def test_only_billed_rows_are_revenue():
    """1 CNY billed; the undelivered 3 CNY are at risk; retries are neither."""
    rows = [
        usage(),
        usage(disposition="undelivered", amount=D(3), amount_max=D(3)),
        usage(disposition="cost", amount=D(9), amount_max=D(9)),
    ]
    found = summary(rows)
    assert (found.amount, found.at_risk, found.requests) == (D(1), D(3), 3)


def test_the_hit_ratio_is_weighted_by_tokens():
    """(90 + 0) ÷ (100 + 900) = 0.09, not the mean of 0.9 and 0."""
    rows = [usage(), usage(uncached_tokens=900, cached_tokens=0)]
    assert summary(rows).hit_ratio == D("0.09")


def test_currencies_are_never_added():
    """Two requests in CNY, one in USD: CNY is shown and USD is named."""
    rows = [usage(requests=2), usage(currency="USD", amount=D(7))]
    found = summary(rows)
    assert (found.currency, found.amount, found.others) == ("CNY", D(1), ("USD",))
    assert main_currency([usage(currency=None)]) is None


def test_without_usage_nothing_is_known():
    """No rows: no currency, no ratio, no money."""
    found = summary([])
    assert (found.currency, found.hit_ratio, found.amount) == (None, None, 0)


def test_the_worth_of_a_point_is_that_of_the_formulas():
    """docs/formulas.md rows 9.1 and 9.2: T 83,670.6, r 0.9, 8/2: −1,301,245.17 per unit of r;
    C 32,000, κ 0.02: 10,960,712.44. T of C is 32,000 ÷ (1 − 0.9 + 0.018) = 271,186.44.
    """
    fixed = cache_value([_month("83670.6")], seconds=D(30 * 86_400), kappa=D(0))
    assert fixed.traffic_fixed is not None
    assert abs(fixed.traffic_fixed * 100 + D("1301245.17")) < D("0.01")
    full = cache_value([_month(D(32_000) / D("0.118"))], seconds=D(30 * 86_400), kappa=D("0.02"))
    assert full.compute_fixed is not None
    assert abs(full.compute_fixed * 100 - D("10960712.44")) < D("0.01")


def _month(per_second):
    """30 days of input at r 0.9 and prices of 8 and 2."""
    tokens = D(per_second) * 30 * 86_400
    uncached, cached = tokens / 10, tokens * 9 / 10
    return usage(
        uncached_tokens=uncached,
        cached_tokens=cached,
        input_amount=uncached * 8 / 10**6,
        cached_amount=cached * 2 / 10**6,
    )


def test_other_prices_on_the_same_tokens_are_exact():
    """White paper: 64,000 in, 57,600 cached, 1,000 out at 8/2/28 is 0.1944 CNY."""
    tokens = {"uncached": 6_400, "cached": 57_600, "output": 1_000}
    prices = {"uncached": D(8), "cached": D(2), "output": D(28)}
    assert revenue_at(tokens, prices) == D("0.1944")


def test_what_is_no_price_is_refused():
    """Decimal numbers from 0 on; neither words nor infinity."""
    assert price_of(" 7.2 ") == D("7.2")
    assert [price_of(text) for text in ("", "x", "-1", "inf", "nan", "1e99")] == [None] * 6


def finding(**change):
    """A row of /v1/findings."""
    base = {
        "kind": "unpriced", "reason": "no_price", "requests": 2, "currency": None,
        "amount_max": None, "remedy": "as the API says", "decision": None,
    }  # fmt: skip
    return base | change


def test_findings_come_worst_first_and_without_the_accepted():
    """¥5 at risk before many requests without a price; what was accepted is gone."""
    rows = [
        finding(),
        finding(requests=40),
        finding(kind="undelivered", reason="undelivered", currency="CNY", amount_max=D(5)),
        finding(kind="flag", reason="cached_exceeds_input", decision="accepted"),
    ]
    assert [(g.reason, g.requests) for g in grouped(rows)] == [("undelivered", 2), ("no_price", 42)]


def test_a_reason_that_is_new_keeps_the_words_of_the_api():
    """Nothing is hidden because the catalogue does not know it."""
    (group,) = grouped([finding(kind="new", reason="brand_new")])
    words = Words("zh")
    assert kind_text(words, group) == "new: brand new"
    assert remedy_text(words, group) == "as the API says"
