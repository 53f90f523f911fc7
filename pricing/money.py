"""Money is an exact decimal; one function rounds (docs/decisions/0003-money.md).

Prices have at most 9 fraction digits per million tokens, so a charge has at most 15. Sums are per
currency and nothing converts. There is no division but by a power of ten.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation, localcontext
from typing import Final

PRICE_FRACTION_DIGITS: Final = 9  # per million tokens; DECIMAL(18, 9) in the usage store
PRICE_MAX: Final = Decimal(10**9)  # exclusive; the 9 digits before the point of DECIMAL(18, 9)
TOKENS_PER_PRICE_UNIT_EXPONENT: Final = 6  # prices are per 10^6 tokens
EXACT_DIGITS: Final = 60  # far above 38, the widest decimal of the stores

_EXACT: Final = Context(prec=EXACT_DIGITS, traps=[Inexact, InvalidOperation])


def _minor_units() -> dict[str, Decimal]:
    """Currency → its minor unit, from ISO 4217 List One (six-group.com, amendment 176).

    CLDR's digits are not used: they say how people quote prices (HUF 0), not what may be owed.
    """
    codes_by_digits = {
        0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
        2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN"
        " BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP"
        " GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT"
        " LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN"
        " NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE"
        " SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES"
        " WST XCD XCG YER ZAR ZMW ZWG",
        3: "BHD IQD JOD KWD LYD OMR TND",
        4: "CLF UYW",
    }
    return {
        code: Decimal(1).scaleb(-digits)
        for digits, codes in codes_by_digits.items()
        for code in codes.split()
    }


MINOR_UNIT: Final = _minor_units()


@contextmanager
def exact_arithmetic() -> Iterator[None]:
    """Any Decimal operation that would drop a digit raises decimal.Inexact."""
    with localcontext() as context:
        context.prec = EXACT_DIGITS
        context.traps[Inexact] = True
        yield


def token_charge(tokens: int, price_per_million_tokens: Decimal) -> Decimal:
    """Exact charge for `tokens`, in the currency of the price."""
    with exact_arithmetic():
        return (tokens * price_per_million_tokens).scaleb(-TOKENS_PER_PRICE_UNIT_EXPONENT)


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """Sum of amounts of one currency, no digit dropped."""
    with exact_arithmetic():
        return sum(amounts, Decimal(0))


def to_invoice_amount(amount: Decimal, currency: str) -> Decimal:
    """`amount` rounded to the currency's minor unit, halves away from zero.

    The only rounding in the money path. Raises ValueError for a currency that ISO 4217 lacks.
    """
    unit = minor_unit(currency)
    with localcontext() as context:
        context.prec = EXACT_DIGITS
        # + 0 turns -0.00 into 0.00
        return amount.quantize(unit, rounding=ROUND_HALF_UP) + 0


def invoice_total(line_amounts: Iterable[Decimal], currency: str) -> Decimal:
    """Sum of the rounded lines, in `currency`: what is printed adds up."""
    return exact_sum([to_invoice_amount(amount, currency) for amount in line_amounts])


def minor_unit(currency: str) -> Decimal:
    """Smallest amount that can be owed in `currency`, for example 0.01 USD.

    Raises ValueError for a currency that ISO 4217 lacks.
    """
    try:
        return MINOR_UNIT[currency]
    except KeyError:
        raise ValueError(
            f"expected an ISO 4217 currency code in capitals, such as CNY or USD; got {currency!r}"
        ) from None


def decimal_from_text(text: str) -> Decimal:
    """An exact, finite, non-negative decimal (a price or a multiplier) from its text.

    Raises ValueError with what was expected; nothing is rounded.
    """
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0:
        raise ValueError(f'expected a number of 0 or more such as "0.5", got {text!r}')
    return value


def fraction_digits(value: Decimal) -> int:
    """Digits after the point that `value` needs, trailing zeros not counted."""
    return len(plain(value).partition(".")[2])


def plain(value: Decimal) -> str:
    """`value` as the shortest text without exponent: 8, 0.115, 1200."""
    return f"{value.normalize(_EXACT):f}"
