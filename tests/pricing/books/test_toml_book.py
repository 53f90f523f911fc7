"""The TOML form: what it says, and that writing and reading it changes nothing."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from hypothesis import given

from pricing.books.toml_book import parse_book, read_book, write_book
from pricing.price_book import Book
from pricing.price_entry import SAME, Band, Contract, Tier
from tests.pricing.price_rows import START
from tests.pricing.price_strategies import books

TEXT = """
book = "list-cny"
currency = "CNY"
timezone = "Asia/Shanghai"

[[price]]
model = "glm-5.2"
aliases = ["GLM-5.2-FP8"]
match = ["glm-5.2-????????"]
effective_from = 2026-08-20T00:00:00+08:00
published_at = 2026-08-18T10:00:00+08:00
source = "https://prices.example/2026-08-20"
checked_on = 2026-08-20
per_million_tokens = { input = "8", cached_input = "same", output = 28.5 }

[[price.tier]]
input_tokens_above = 200000
per_million_tokens = { input = "12" }

[[price.band]]
from = "00:30"
until = "24:00"
days = ["mon", "sun"]
holidays = "CN"
per_million_tokens = { input = "4" }

[[price.service_tier]]
name = "batch"
multiplier = "0.5"

[price.region]
us = "1.1"

[[contract]]
tenant = "t-alder"
effective_from = 2026-09-01
percent_off = "10"
"""


def test_every_key_says_what_the_format_says():
    """The example of the format, key by key."""
    book = read_book(TEXT)
    (entry,) = book.entries
    assert (book.name, book.currency, book.zone.key) == ("list-cny", "CNY", "Asia/Shanghai")
    assert (entry.model, entry.aliases, entry.match) == (
        "glm-5.2",
        ("GLM-5.2-FP8",),
        ("glm-5.2-????????",),
    )
    assert entry.effective_from == datetime(2026, 8, 19, 16, tzinfo=UTC)
    assert entry.checked_on == date(2026, 8, 20)
    assert entry.prices == {"input": 8, "cached_input": SAME, "output": Decimal("28.5")}
    assert entry.tiers == (Tier(prices={"input": Decimal(12)}, input_from=200_001),)
    assert entry.regions == {"us": Decimal("1.1")}
    assert (entry.line, entry.tiers[0].line, entry.bands[0].line) == (6, 16, 20)


def test_bands_and_contracts():
    """00:30 to midnight on Mondays and Sundays; a date is midnight of the book's zone."""
    book = read_book(TEXT)
    assert book.entries[0].bands == (
        Band(
            prices={"input": Decimal(4)},
            from_second=1800,
            until_second=86_400,
            days=frozenset({0, 6}),
            holidays="CN",
        ),
    )
    assert book.contracts == (
        Contract(
            tenant="t-alder",
            effective_from=datetime(2026, 8, 31, 16, tzinfo=UTC),
            percent_off=Decimal(10),
        ),
    )


def test_holidays_come_from_the_library_unless_the_book_lists_them():
    """2026-10-01 is a public holiday of CN; a book's own list is taken as it is."""
    assert date(2026, 10, 1) in read_book(TEXT).holidays["CN"]
    own = read_book(TEXT + "[holidays]\nCN = [2026-12-31]\n")
    assert own.holidays == {"CN": frozenset({date(2026, 12, 31)})}


def test_writing_keeps_the_holidays_it_was_read_with():
    """A published text prices the same for ever, whatever a newer library knows."""
    written = write_book(read_book(TEXT))
    assert "[holidays]\nCN = [" in written
    assert "2026-10-01" in written


def test_a_number_is_read_as_it_is_written():
    """0.1 is one tenth, not the float nearest to it."""
    book = read_book(TEXT.replace("28.5", "0.1"))
    assert book.entries[0].prices["output"] == Decimal("0.1")


def test_two_texts_have_two_revisions():
    """The revision is a digest of the text."""
    revisions = {read_book(text).revision for text in (TEXT, TEXT, TEXT + "# a word\n")}
    assert len(revisions) == 2


def bare(book: Book) -> Book:
    """The book without the digest of its text."""
    return replace(book, revision="")


def test_the_example_survives_writing():
    """Read, written, read: the same book; written again: the same text."""
    book = read_book(TEXT)
    text = write_book(book)
    assert bare(read_book(text)) == bare(book)
    assert write_book(read_book(text)) == text


@given(books(START))
def test_any_book_survives_writing(book):
    """Property: valid or not, what is written is what is read."""
    read, _ = parse_book(write_book(book))
    assert read is not None
    assert bare(read) == bare(book)


def test_names_with_quotes_and_control_characters_survive():
    """Anything that a model can be called is escaped."""
    book = read_book(TEXT)
    odd = 'a "b" \\ 中文 \x7f\t'
    renamed = replace(book, entries=(replace(book.entries[0], model=odd),))
    assert read_book(write_book(renamed)).entries[0].model == odd


def test_an_old_offset_with_seconds_is_written_in_utc():
    """Monrovia was 44:30 behind UTC until 1972, which TOML cannot say."""
    book = replace(read_book(TEXT), zone=ZoneInfo("Africa/Monrovia"), contracts=())
    old = replace(book.entries[0], effective_from=datetime(1970, 1, 1, tzinfo=UTC))
    text = write_book(replace(book, entries=(old,)))
    assert "effective_from = 1970-01-01T00:00:00+00:00" in text
    assert read_book(text).entries[0].effective_from == old.effective_from
