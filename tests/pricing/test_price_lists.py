"""Real lists as books, priced at each of their edges."""

import csv
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import pytest

from pricing.books.toml_book import read_book
from pricing.books.validate import findings
from pricing.price_book import Book
from tests.pricing.price_rows import quote, utc

MICROSECOND = timedelta(microseconds=1)
K = 1000


def rows(shared: Path, name: str) -> list[dict[str, str]]:
    """Rows of one CSV of public prices."""
    with (shared / "data/prices" / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def deepseek_book(shared: Path) -> tuple[Book, list[tuple[Decimal, ...]]]:
    """deepseek_price_history.csv as one book, and its rows as (hit, miss, output)."""
    columns = ("cache_hit_usd_per_mtok", "cache_miss_usd_per_mtok", "output_usd_per_mtok")
    listed = [[row[c] for c in columns] for row in rows(shared, "deepseek_price_history.csv")]

    def prices(row: int) -> str:
        hit, miss, output = listed[row]
        table = f'input = "{miss}", cached_input = "{hit}", output = "{output}"'
        return f"per_million_tokens = {{ {table} }}"

    def entry(model: str, start: str, row: int, *bands: str) -> str:
        head = f'[[price]]\nmodel = "{model}"\neffective_from = {start}\n{prices(row)}'
        return "\n".join([head, *bands])

    def band(start: str, end: str, row: int, more: str = "") -> str:
        return f'[[price.band]]\nfrom = "{start}"\nuntil = "{end}"\n{more}\n{prices(row)}'

    def peak(row: int, more: str = "") -> tuple[str, str]:
        return band("01:00", "04:00", row, more), band("06:00", "10:00", row, more)

    weekdays = 'days = ["mon", "tue", "wed", "thu", "fri"]'
    parts = [
        'book = "deepseek"\ncurrency = "USD"\ntimezone = "UTC"',
        entry("deepseek-chat", "2025-01-01", 0, band("16:30", "00:30", 1)),
        entry("deepseek-reasoner", "2025-01-01", 2, band("16:30", "00:30", 3)),
        entry("deepseek-chat", "2025-09-29", 4),
        entry("deepseek-v4-flash", "2026-04-01", 5),
        entry("deepseek-v4-pro", "2026-04-01", 6),
        entry("deepseek-v4-flash", "2026-08-16T16:00:00", 7, *peak(8)),
        entry("deepseek-v4-pro", "2026-08-16T16:00:00", 9, *peak(10)),
        entry("deepseek-v4-pro", "2026-08-23", 9, *peak(10, weekdays)),
        entry("deepseek-flash", "2026-09-10", 11, *peak(12, f'{weekdays}\nholidays = "CN"')),
    ]
    book = read_book("\n\n".join(parts))
    return book, [tuple(Decimal(text) for text in row) for row in listed]


@pytest.mark.parametrize(
    ("model", "boundary", "before", "after"),
    [
        ("deepseek-chat", "2025-07-12T00:30Z", 1, 0),
        ("deepseek-chat", "2025-07-12T16:30Z", 0, 1),
        ("deepseek-chat", "2025-09-29T00:00Z", 1, 4),
        ("deepseek-reasoner", "2025-07-12T00:30Z", 3, 2),
        ("deepseek-reasoner", "2025-07-12T16:30Z", 2, 3),
        ("deepseek-v4-flash", "2026-08-16T16:00Z", 5, 7),
        ("deepseek-v4-pro", "2026-08-16T16:00Z", 6, 9),
        ("deepseek-v4-flash", "2026-08-17T01:00Z", 7, 8),
        ("deepseek-v4-flash", "2026-08-17T04:00Z", 8, 7),
        ("deepseek-v4-flash", "2026-08-17T06:00Z", 7, 8),
        ("deepseek-v4-flash", "2026-08-17T10:00Z", 8, 7),
        ("deepseek-v4-pro", "2026-08-22T01:00Z", 9, 10),  # Saturday, before weekends were off-peak
        ("deepseek-v4-pro", "2026-08-23T01:00Z", 9, 9),  # Sunday, the first such day
        ("deepseek-v4-pro", "2026-08-24T01:00Z", 9, 10),
        ("deepseek-flash", "2026-09-24T01:00Z", 11, 12),
        ("deepseek-flash", "2026-09-24T04:00Z", 12, 11),
        ("deepseek-flash", "2026-09-25T01:00Z", 11, 11),  # Mid-Autumn, a Friday
        ("deepseek-flash", "2026-09-26T06:00Z", 11, 11),  # Saturday
        ("deepseek-flash", "2026-10-07T06:00Z", 11, 11),  # day off of the National Day week
        ("deepseek-flash", "2026-10-08T06:00Z", 11, 12),
        ("deepseek-flash", "2026-10-08T10:00Z", 12, 11),
    ],
)
def test_deepseek_at_each_boundary(shared, model, boundary, before, after):
    """deepseek_price_history.csv: the row in force a microsecond before and at each boundary."""
    book, listed = deepseek_book(shared)
    at = utc(boundary)
    for instant, row in ((at - MICROSECOND, before), (at, after), (at + MICROSECOND, after)):
        price = quote(book, model, at=instant).price
        assert (price.cached_price, price.input_price, price.output_price) == listed[row]


def test_deepseek_flash_has_no_price_before_it_exists(shared):
    """V4.1 begins on 2026-09-10; a microsecond before there is nothing to charge."""
    book, _ = deepseek_book(shared)
    start = utc("2026-09-10T00:00Z")
    assert quote(book, "deepseek-flash", at=start - MICROSECOND).reason == "no_price"
    assert findings(book) == []


def glm_rows(shared: Path) -> dict[str, list[dict[str, str]]]:
    """Rows of bigmodel_glm_tiers_cny.csv by model, without the dated promotion of 5.3-Flash."""
    listed = [r for r in rows(shared, "bigmodel_glm_tiers_cny.csv") if "(" not in r["model"]]
    return {m: list(of) for m, of in groupby(listed, key=lambda row: row["model"])}


def tokens(k: str) -> int | None:
    """Thousands as the list writes them, 0.2 included; None where it says nothing."""
    return int(Decimal(k) * K) if k else None


def glm_prices(row: dict[str, str]) -> tuple[Decimal, ...]:
    """Input, hit and output of a row."""
    columns = ("input_cny_per_mtok", "cache_hit_cny_per_mtok", "output_cny_per_mtok")
    return tuple(Decimal(row[column]) for column in columns)


def glm_book(shared: Path) -> Book:
    """The same list as a book: the first row of a model is its base, each other one a tier."""
    parts = ['book = "bigmodel"\ncurrency = "CNY"\ntimezone = "Asia/Shanghai"']
    for model, listed in glm_rows(shared).items():
        parts.append(f'[[price]]\nmodel = "{model}"\neffective_from = 2026-01-01')
        for i, row in enumerate(listed):
            if i:
                parts.append("[[price.tier]]")
                bounds = {"input": row["input_from_ktok"], "output": row["output_from_ktok"]}
                parts += [f"{s}_tokens_from = {n}" for s, k in bounds.items() if (n := tokens(k))]
            values = zip(("input", "cached_input", "output"), glm_prices(row), strict=True)
            table = ", ".join(f'{name} = "{price}"' for name, price in values)
            parts.append(f"per_million_tokens = {{ {table} }}")
    return read_book("\n".join(parts))


def holds(row: dict[str, str], counts: tuple[int, int]) -> bool:
    """Whether a row of the list is the one for these counts: [from, to) on both sides."""
    return all(
        (tokens(row[f"{side}_from_ktok"]) or 0) <= count
        and ((end := tokens(row[f"{side}_to_ktok"])) is None or count < end)
        for side, count in zip(("input", "output"), counts, strict=True)
    )


def test_glm_at_each_tier_edge(shared):
    """bigmodel_glm_tiers_cny.csv: the row that holds, one token before, at and after each edge."""
    book, compared = glm_book(shared), 0
    inputs = {n + d for n in (0, 32 * K, 128 * K, 200 * K) for d in (-1, 0, 1)} - {-1}
    for model, listed in glm_rows(shared).items():
        for counts in ((i, o) for i in inputs for o in (0, 199, 200, 201, 9999)):
            held = [row for row in listed if holds(row, counts)]
            if held:  # beyond the longest context the list says nothing
                price = quote(
                    book, model, at=utc("2026-08-20T00:00Z"), input_tokens=counts[0],
                    output_tokens=counts[1],
                ).price  # fmt: skip
                paid = (price.input_price, price.cached_price, price.output_price)
                assert [paid] == [glm_prices(row) for row in held]
                compared += 1
    assert compared > 300


def test_glm_flash_promotion_ends_by_itself(shared):
    """GLM-5.3-Flash: output 1.4 until 2026-09-09 24:00 in Shanghai, then 2.8 as before."""
    flash = [r for r in rows(shared, "bigmodel_glm_tiers_cny.csv") if "5.3-Flash" in r["model"]]
    text = 'book = "b"\ncurrency = "CNY"\ntimezone = "Asia/Shanghai"\n'
    for row, more in zip(
        flash, ("", "effective_until = 2026-09-10\npromotion = true"), strict=True
    ):
        values = zip(("input", "cached_input", "output"), glm_prices(row), strict=True)
        table = ", ".join(f'{name} = "{price}"' for name, price in values)
        text += f'[[price]]\nmodel = "glm-5.3-flash"\neffective_from = 2026-08-01\n{more}\n'
        text += f"per_million_tokens = {{ {table} }}\n"
    book, end = read_book(text), utc("2026-09-10T00:00+08:00")
    before, after = (quote(book, "glm-5.3-flash", at=at).price for at in (end - MICROSECOND, end))
    assert (before.output_price, after.output_price) == (Decimal("1.4"), Decimal("2.8"))
