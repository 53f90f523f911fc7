"""Numbers as people read them; the right texts are written by hand."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from dashboard.formats import UNKNOWN, Formats, change, exact, instant

EN, ZH = (Formats(language, ZoneInfo("Asia/Shanghai")) for language in ("en", "zh"))
D = Decimal


@pytest.mark.parametrize(
    ("amount", "currency", "right"),
    [
        (D("1284310.42"), "CNY", "¥1,284,310.42"),
        (D("0.125"), "USD", "$0.13"),  # halves away from zero, as on a document
        (D("-0.125"), "USD", "−$0.13"),
        (D("1234.5"), "JPY", "JP¥1,235"),  # no minor unit
        (D("0.0042"), "CNY", "<¥0.01"),
        (D("0"), "CNY", "¥0.00"),
        (D("2"), "CHF", "CHF 2.00"),
        (None, "CNY", UNKNOWN),
        (float("nan"), "CNY", UNKNOWN),
        (D("1"), None, UNKNOWN),
    ],
)
def test_money_in_minor_units(amount, currency, right):
    """ISO 4217 digits, thousands separated; unknown is an em dash."""
    assert EN.money(amount, currency) == right


@pytest.mark.parametrize(
    ("number", "english", "chinese"),
    [
        (144_793_823, "144.8M", "1.45亿"),
        (563_873, "563.9k", "56.4万"),
        (1_000_000_000, "1B", "10亿"),
        (9_999, "10k", "9,999"),
        (999, "999", "999"),
        (1_500_000_000_000, "1.5T", "1.5万亿"),
    ],
)
def test_short_numbers(number, english, chinese):
    """k, M, B, T in English; 万, 亿, 万亿 in Chinese."""
    assert (EN.short(number), ZH.short(number)) == (english, chinese)


def test_exact_money_keeps_every_digit():
    """949.177462 is the conversation trace's revenue; trailing zeros say nothing."""
    assert EN.money_exact(D("949.177462000000000"), "CNY") == "¥949.177462"
    assert EN.money_exact(D("1E+6"), "CNY") == "¥1,000,000"


@pytest.mark.parametrize(
    ("seconds", "right"),
    [(0.084, "84 ms"), (0.84, "0.84 s"), (200, "3 min 20 s"), (18_000, "5 h"), (200_000, "2 d")],
)
def test_durations(seconds, right):
    """Each in the unit that a person would choose."""
    assert EN.seconds(seconds) == right


def test_percent_has_one_digit_and_a_sign_where_asked():
    """English sets a space that does not break before the sign, Chinese none."""
    assert EN.percent(D("0.9056")) == "90.6\u00a0%"
    assert ZH.percent(D("-0.031"), signed=True) == "−3.1%"
    assert EN.percent(None) == UNKNOWN


def test_times_are_in_the_billing_zone():
    """16:30 UTC is half past midnight of the next day in Shanghai (UTC+8)."""
    at = datetime(2026, 11, 30, 16, 30, 5, tzinfo=UTC)
    assert EN.moment(at) == "2026-12-01 00:30"
    assert EN.clock(at) == "00:30:05"


def test_what_is_no_number_or_time_is_none():
    """Infinity, absent texts and times without zone are unknown."""
    assert exact(float("inf")) is None
    assert instant("yesterday") is None
    assert instant("2026-01-01T00:00:00") is None


def test_change_needs_something_to_compare_with():
    """(150 − 100) ÷ 100 = 0.5; nothing can be said against zero."""
    assert change(150, 100) == D("0.5")
    assert change(150, 0) is None
    assert change(None, 100) is None


def test_axes_speak_the_language():
    """250,000 is 250k, or 25万; 1.5 × 10⁹ is 1.5B, or 15亿: never the G of SI."""
    english, chinese = (Formats(language, ZoneInfo("UTC")).axis() for language in ("en", "zh"))
    assert "datum.value / 1000000000, ',.4~r') + 'B'" in english
    assert "datum.value / 100000000, ',.4~r') + '亿'" in chinese
