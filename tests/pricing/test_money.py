"""Money: exact until the invoice line, rounded once."""

import re
from decimal import Decimal, Inexact

import pytest
from babel.numbers import get_currency_precision, list_currencies
from hypothesis import given
from hypothesis import strategies as st

from pricing.money import (
    MINOR_UNIT,
    decimal_from_text,
    exact_arithmetic,
    exact_sum,
    fraction_digits,
    invoice_total,
    plain,
    to_invoice_amount,
    token_charge,
)

prices = st.decimals(min_value=0, max_value=10**8, places=9)
tokens = st.integers(0, 10**12)


def test_case_c01_lines():
    """Case C01: 4,500 x 2.00, 176,500 x 0.20 and 2,400 x 8.00 over 10^6; total 0.063500."""
    lines = [(4_500, "2.00"), (176_500, "0.20"), (2_400, "8.00")]
    amounts = [token_charge(tokens, Decimal(price)) for tokens, price in lines]
    assert amounts == [Decimal("0.009000"), Decimal("0.035300"), Decimal("0.019200")]
    assert exact_sum(amounts) == Decimal("0.063500")


@given(tokens, tokens, prices)
def test_a_charge_is_additive_in_tokens(first, second, price):
    """Property: two requests apart or together are the same money, to the last digit."""
    apart = exact_sum([token_charge(first, price), token_charge(second, price)])
    assert apart == token_charge(first + second, price)


def test_a_lost_digit_is_an_error():
    """One third has no exact decimal."""
    with exact_arithmetic(), pytest.raises(Inexact):
        Decimal(1) / Decimal(3)


@pytest.mark.parametrize(
    ("amount", "currency", "rounded"),
    [
        ("0.005", "CNY", "0.01"),
        ("-0.005", "CNY", "-0.01"),
        ("0.0049999", "USD", "0.00"),
        ("-0.001", "USD", "0.00"),
        ("2.5", "JPY", "3"),
        ("1.0005", "KWD", "1.001"),
    ],
)
def test_halves_round_away_from_zero(amount, currency, rounded):
    """By hand, to the minor unit of ISO 4217: CNY and USD 2 digits, JPY 0, KWD 3."""
    assert str(to_invoice_amount(Decimal(amount), currency)) == rounded


def test_case_c19_total_is_the_sum_of_rounded_lines():
    """Case C19 b under "total = sum of rounded lines": 10.00 three times, 30.00."""
    lines = [Decimal(text) for text in ("10.0049", "10.0030", "10.0041")]
    assert invoice_total(lines, "CNY") == Decimal("30.00")


def test_unknown_currency_is_refused():
    """A misspelt currency must not round to some default."""
    with pytest.raises(ValueError, match="ISO 4217"):
        to_invoice_amount(Decimal(1), "RMB")


def test_minor_units_agree_with_cldr_where_it_quotes_iso():
    """CLDR lists the same digits but for currencies whose small coins are out of use."""
    coins_out_of_use = set(
        re.findall(
            r"\w+",
            """
        AFN ALL COP HUF IDR IQD IRR KPW LAK LBP MGA MMK SOS SYP YER
    """,
        )
    )
    differing = {
        code
        for code, unit in MINOR_UNIT.items()
        if fraction_digits(unit) != get_currency_precision(code)
    }
    assert differing == coins_out_of_use
    assert MINOR_UNIT.keys() <= list_currencies()


@pytest.mark.parametrize("text", ["", "free", "-1", "NaN", "Infinity", "1,5"])
def test_a_price_is_a_finite_number_of_zero_or_more(text):
    """Anything else is refused, never read as 0."""
    with pytest.raises(ValueError, match="expected a number"):
        decimal_from_text(text)


def test_digits_and_text_of_a_price():
    """1e-7 needs seven digits; trailing zeros need none; no text has an exponent."""
    assert [fraction_digits(Decimal(text)) for text in ("1e-7", "2.50", "1200")] == [7, 1, 0]
    assert [plain(Decimal(text)) for text in ("1e-7", "2.50", "1.2E+3", "0E-9")] == [
        "0.0000001",
        "2.5",
        "1200",
        "0",
    ]


@given(tokens, tokens, prices)
def test_a_charge_is_never_negative_and_grows_with_tokens(first, second, price):
    """Property: nothing is owed back, and more tokens never cost less."""
    fewer, more = sorted((first, second))
    assert 0 <= token_charge(fewer, price) <= token_charge(more, price)
