"""A book as a whole: overlaps, gaps, names, missing and odd prices, too many digits."""

from datetime import timedelta
from decimal import Decimal

import pytest

from pricing.books.globs import NEVER, shortest_match
from pricing.books.validate import errors, findings
from pricing.price_entry import Band, Contract, ServiceTier, Tier
from tests.pricing.price_rows import START, book, entry, prices

DAY = timedelta(days=1)


def messages(of) -> str:
    """Severity and message of every finding."""
    return "\n".join(f"{found.severity} {found.message}" for found in findings(of))


def band(start: int, end: int, **change) -> Band:
    """A band from hour to hour."""
    base = {"prices": prices(output="1"), "from_second": start * 3600, "until_second": end * 3600}
    return Band(**(base | change))


def test_a_plain_book_has_no_findings():
    """Cases C01 and C18 as books are fine, next entry and promotion included."""
    tier = Tier(prices=prices(input="5", cached_input="0.5"), input_from=200_001)
    half = entry(promotion=True, effective_until=START + 2 * DAY, prices=prices(output="4"))
    assert findings(book(entry(tiers=(tier,)), entry(effective_from=START + DAY), half)) == []


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([entry(), entry()], "error two entries begin"),
        ([entry(effective_until=START)], "error effective_until is not after"),
        ([entry(effective_until=START + 2 * DAY), entry(effective_from=START + DAY)],
         "error the entry of line None still holds"),
        ([entry(effective_until=START + DAY), entry(effective_from=START + 2 * DAY)],
         "warning no price from 2026-01-02"),
        ([entry(promotion=True)], "error a promotion has no effective_until"),
        ([entry(promotion=True, effective_until=START + 2 * DAY),
          entry(promotion=True, effective_from=START + DAY, effective_until=START + 3 * DAY)],
         "error the entry of line None still holds"),
        ([entry("a", aliases=("x",)), entry("b", aliases=("x",))], "error alias 'x' also belongs"),
        ([entry("a"), entry("b", aliases=("a",))], "error alias 'a' also belongs"),
        ([entry("a", match=("x*",)), entry("b", match=("x*",))], "error match 'x*' also belongs"),
        ([entry("a", match=("m-?x",)), entry("b", match=("m-x?",))], "warning match 'm-x?' and"),
        ([entry(prices=prices(input="1", output="2"))], "error input has no cached_input"),
        ([entry(prices=prices(input="1", cached_input="same"))], "warning output has no price"),
        ([entry(prices=prices(input="0", cached_input="same", output="0"))], "warning every price"),
        ([entry(prices=prices(input="1", cached_input="2", output="3"))], "warning a hit (2)"),
        ([entry(prices=prices(output="0.000008"))], "warning output = 0.000008 looks like"),
        ([entry(prices=prices(output="28000"))], "warning output = 28000 CNY"),
        ([entry(prices=prices(output="1000000000"))], "error output 1000000000 is too large"),
        ([entry(prices=prices(output="0.1234567891"))], "error 0.1234567891 = 0.1234567891"),
    ],
)  # fmt: skip
def test_what_a_book_gets_wrong(entries, says):
    """Each fault alone gives its finding."""
    assert says in messages(book(*entries))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"tiers": (Tier(prices=prices(output="1")),)}, "error a tier holds for every request"),
        ({"tiers": tuple(Tier(prices=prices(output=p), input_from=9) for p in "12")},
         "error this tier has the bounds"),
        ({"bands": (band(0, 8), band(7, 9))}, "overlap"),
        ({"bands": (band(22, 6), band(5, 7))}, "overlap"),
        ({"bands": (band(22, 6, days=frozenset({6})), band(5, 7, days=frozenset({0})))}, "overlap"),
        ({"bands": (band(22, 6, days=frozenset({0})), band(5, 7, days=frozenset({0})))}, ""),
        ({"service_tiers": (ServiceTier(name="x", multiplier=Decimal(1)),) * 2}, "given twice"),
    ],
)  # fmt: skip
def test_what_an_entry_gets_wrong(change, says):
    """Tiers, bands (Sunday night runs into Monday) and service tiers of one entry."""
    found = messages(book(entry(**change)))
    assert says in found if says else not found


def test_products_must_fit_nine_digits():
    """0.0000001 × 0.5 × 1.1 × 0.9 needs ten digits: refused with the whole product named."""
    tier = ServiceTier(name="batch", multiplier=Decimal("0.5"))
    small = entry(
        prices=prices(input="1.0000001", cached_input="same", output="1"),
        service_tiers=(tier,),
        regions={"us": Decimal("1.1")},
    )
    off = Contract(tenant="t1", effective_from=START, percent_off=Decimal(10))
    assert errors(book(small)) == []
    (found,) = errors(book(small, contracts=(off,)))
    assert found.message.startswith("1.0000001 × batch × us × t1@2026-01-01T00:00:00Z -10% = ")


def test_contracts_of_one_tenant_do_not_overlap():
    """Same start, or an end after the next start."""
    base = {"tenant": "t1", "percent_off": Decimal(10)}
    first = Contract(**base, effective_from=START, effective_until=START + 2 * DAY)
    second = Contract(**base, effective_from=START + DAY)
    assert "holds at the same time" in messages(book(entry(), contracts=(first, second)))
    other = Contract(tenant="t2", percent_off=Decimal(10), effective_from=START + DAY)
    assert findings(book(entry(), contracts=(first, other))) == []


def test_a_currency_without_cents_has_larger_numbers():
    """28,000 JPY is about 190 USD."""
    assert findings(book(entry(prices=prices(output="28000")), currency="JPY")) == []


@pytest.mark.parametrize(
    ("first", "second", "length"),
    [
        ("abc*", "abd*", NEVER),
        ("a*", "*b", 2),
        ("a?c*", "ab*", 3),
        ("*aa*", "*aa*", 2),
        ("", "*", 0),
        ("???", "a*", 3),
    ],
)
def test_shortest_name_that_two_globs_match(first, second, length):
    """By hand: ab for a* and *b, abc for a?c* and ab*, nothing for abc* and abd*."""
    assert shortest_match(first, second) == length
    assert shortest_match(second, first) == length
