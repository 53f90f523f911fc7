"""Bands: local times, days, holidays, clocks that change."""

from datetime import date
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from pricing.price_entry import Band, Tier
from tests.pricing.price_rows import book, entry, prices, quote, utc

HOUR = 3600
NIGHT = Band(
    prices=prices(output="4.00"),
    from_second=22 * HOUR,
    until_second=6 * HOUR,
    days=frozenset(range(5)),
)
LONG = Tier(prices=prices(output="16.00"), input_from=1001)


def output_price(of, at: str, **change) -> Decimal:
    """Price per million output tokens at a time."""
    return quote(of, at=utc(at), **change).price.output_price


@pytest.mark.parametrize(
    ("at", "price"),
    [
        ("2026-08-21T21:59:59.999999+08:00", 8),
        ("2026-08-21T22:00:00+08:00", 4),  # Friday
        ("2026-08-22T05:59:59.999999+08:00", 4),  # Saturday morning: the band of Friday
        ("2026-08-22T06:00:00+08:00", 8),
        ("2026-08-22T23:00:00+08:00", 8),  # Saturday is not in days
        ("2026-08-24T05:00:00+08:00", 8),  # Monday morning would be Sunday's band
    ],
)
def test_a_band_over_midnight_belongs_to_the_day_on_which_it_starts(at, price):
    """Monday to Friday 22:00-06:00 in Shanghai, half-open."""
    assert output_price(book(entry(bands=(NIGHT,))), at) == price


def test_a_band_replaces_tiers_unless_it_has_its_own():
    """Long input by night: the band's 4, or the 6 of the band's own tier."""
    own = Band(
        prices=NIGHT.prices,
        from_second=NIGHT.from_second,
        until_second=NIGHT.until_second,
        tiers=(Tier(prices=prices(output="6.00"), input_from=1001),),
    )
    night, day = "2026-08-21T23:00:00+08:00", "2026-08-21T12:00:00+08:00"
    for band, price in ((NIGHT, 4), (own, 6)):
        of = book(entry(tiers=(LONG,), bands=(band,)))
        assert output_price(of, night, input_tokens=2000) == price
        assert output_price(of, day, input_tokens=2000) == 16


def test_a_band_keeps_the_price_of_every_key_it_leaves_out():
    """Only output is given; input and cached input stay the base's."""
    price = quote(book(entry(bands=(NIGHT,))), at=utc("2026-08-21T23:00:00+08:00")).price
    assert (price.input_price, price.cached_price) == (2, Decimal("0.2"))
    assert price.band == "22:00-06:00 mon,tue,wed,thu,fri"


def test_on_holidays_the_band_does_not_apply():
    """2026-10-01 is National Day, a Thursday; the Wednesday before is not."""
    band = Band(
        prices=prices(output="16"), from_second=9 * HOUR, until_second=18 * HOUR, holidays="CN"
    )
    of = book(entry(bands=(band,)), holidays={"CN": frozenset({date(2026, 10, 1)})})
    assert output_price(of, "2026-09-30T10:00:00+08:00") == 16
    assert output_price(of, "2026-10-01T10:00:00+08:00") == 8


def test_unknown_holidays_are_a_finding():
    """A year without any listed day: the band holds as on any day, and the quote says so."""
    band = Band(
        prices=prices(output="16"), from_second=9 * HOUR, until_second=18 * HOUR, holidays="CN"
    )
    of = book(entry(bands=(band,)), holidays={"CN": frozenset({date(2026, 10, 1)})})
    in_band = quote(of, at=utc("2027-10-01T10:00:00+08:00"))
    assert (in_band.price.output_price, in_band.findings) == (16, {"holidays_unknown"})
    assert quote(of, at=utc("2027-10-01T20:00:00+08:00")).findings == frozenset()


@pytest.mark.parametrize(
    ("at", "price"),
    [
        ("2026-03-08T06:59:59Z", 8),  # 01:59:59 EST
        ("2026-03-08T07:00:00Z", 4),  # 03:00 EDT: the clock skipped 02:30 and shows 03:00
        ("2026-03-08T08:00:00Z", 8),  # 04:00 EDT
        ("2026-11-01T05:30:00Z", 4),  # 01:30 EDT
        ("2026-11-01T06:30:00Z", 4),  # 01:30 EST, the same hour again
        ("2026-11-01T07:00:00Z", 8),  # 02:00 EST
    ],
)
def test_a_band_follows_the_clock_on_the_wall(at, price):
    """New York skips 02:00-03:00 on 2026-03-08 and shows 01:00-02:00 twice on 2026-11-01."""
    hours = (1, 2) if "-11-" in at else (2.5, 4)
    band = Band(
        prices=prices(output="4"),
        from_second=int(hours[0] * HOUR),
        until_second=int(hours[1] * HOUR),
    )
    assert output_price(book(entry(bands=(band,)), zone=ZoneInfo("America/New_York")), at) == price
