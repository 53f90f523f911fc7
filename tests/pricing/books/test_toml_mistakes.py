"""Mistakes in a book: each named with its line and what to do, all of them at once."""

import pytest

from pricing.books.findings import BookRefused
from pricing.books.toml_book import read_book
from pricing.errors import BookInvalid

TEXT = """book = "b"
currency = "CNY"
timezone = "America/New_York"
[[price]]
model = "m"
effective_from = 2026-01-01T00:00:00Z
per_million_tokens = { input = "8", cached_input = "2", output = "28" }
"""
BAND = """[[price.band]]
from = "{}"
until = "{}"
{}
per_million_tokens = {{ output = "1" }}
"""


@pytest.mark.parametrize(
    ("wrong", "line", "says"),
    [
        (TEXT.replace("cached_input", "cached"), 7, "Did you mean cached_input?"),
        (TEXT.replace("model =", "modle ="), 5, "Did you mean model?"),
        (TEXT.replace('"8"', '"-8"'), 7, "number of 0 or more"),
        (TEXT.replace('"8"', '"eight"'), 7, "number of 0 or more"),
        (TEXT.replace('"8"', "true"), 7, "expected a number"),
        (TEXT.replace("CNY", "RMB"), 2, "ISO 4217"),
        (TEXT.replace("America/New_York", "Mars/Base"), 3, "time zone"),
        (TEXT.replace("America/New_York", "../etc/passwd"), 3, "time zone"),
        (TEXT.replace("2026-01-01T00:00:00Z", "2026-03-08T02:30:00"), 6, "clocks of America"),
        (TEXT.replace("2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"), 6, "a year of 1900"),
        (TEXT.replace("2026-01-01T00:00:00Z", '"2026"'), 6, "expected a time"),
        (TEXT.replace("effective_from = 2026-01-01T00:00:00Z\n", ""), 4, "is missing"),
        (TEXT.replace('model = "m"', 'model = ""'), 5, "text of 1 to"),
        (TEXT + "[[price.tier]]\ninput_tokens_above = -1\nper_million_tokens = {output='1'}", 9,
         "count of tokens"),
        (TEXT + "[[price.tier]]\ninput_tokens_above = 1\ninput_tokens_from = 1\n"
         "per_million_tokens = {output='1'}", 9, "Keep one"),
        (TEXT + "[[price.tier]]\ninput_tokens_above = 1\nper_million_tokens = {}", 10, "no price"),
        (TEXT + BAND.format("25:00", "08:00", "days = ['mon']"), 9, "up to 24:00"),
        (TEXT + BAND.format("08:00", "08:00", "days = ['mon']"), 10, "For the whole day"),
        (TEXT + BAND.format("08:00", "09:00", "days = ['monday']"), 11, "mon, tue"),
        (TEXT + BAND.format("08:00", "09:00", "days = []"), 11, "mon, tue"),
        (TEXT + "[[price.service_tier]]\nname = 'batch'", 9, "Give one of the two"),
        (TEXT + "[price.region]\nus = 'much'", 9, "number of 0 or more"),
        (TEXT + "[[contract]]\ntenant = 't'\neffective_from = 2026-01-01\npercent_off = 110", 11,
         "more than 100"),
        (TEXT + "[[contract]]\ntenant = 't'\neffective_from = 2026-01-01\nminimum = '9'", 11,
         "reserved"),
        (TEXT + "[[volume]]\nmodel = 'm'\nmode = 'graduated'", 8, "reserved"),
        (TEXT.replace("[[price]]", "[[price]"), None, "at line 4"),
        ("", None, "no [[price]]"),
        ("price = 3", 1, "expected a list"),
        ("x = " + "[" * 9999, None, "TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(wrong, line, says):
    """The message holds file and line, what was found, and what to do."""
    with pytest.raises(BookRefused, match=r"list\.toml") as refused:
        read_book(wrong, name_of_file="list.toml")
    assert says in str(refused.value)
    assert line in {finding.line for finding in refused.value.findings}


def test_all_mistakes_come_at_once():
    """Two mistakes, two findings, one answer of the kind that routes turn into 422."""
    wrong = TEXT.replace('"8"', '"-8"').replace("CNY", "RMB")
    with pytest.raises(BookInvalid) as refused:
        read_book(wrong)
    assert len(str(refused.value).splitlines()) == 2
    assert refused.value.status == 422


def test_a_long_list_of_mistakes_is_cut():
    """Twenty are shown, the rest is counted."""
    wrong = TEXT + "".join(f"x{n} = 1\n" for n in range(30))
    with pytest.raises(BookRefused, match="and 10 more") as refused:
        read_book(wrong)
    assert len(refused.value.findings) == 30


def test_a_holiday_calendar_must_be_known():
    """Neither a made-up country nor free text is taken in silence."""
    for calendar in ("ZZ", "DE-XX", "ours"):
        with pytest.raises(BookRefused, match="List its days"):
            read_book(TEXT + BAND.format("08:00", "09:00", f"holidays = '{calendar}'"))
    own = BAND.format("08:00", "09:00", "holidays = 'ours'") + "[holidays]\nours = [2026-01-01]"
    assert len(read_book(TEXT + own).holidays["ours"]) == 1
