"""The pages about prices: every example is a valid book, every table of payments is right."""

import re
from pathlib import Path

import pytest

from pricing.books.toml_book import read_book
from pricing.books.validate import findings
from pricing.money import plain
from tests.pricing.price_rows import quote, utc

HEADER = 'book = "example"\ncurrency = "CNY"\ntimezone = "Asia/Shanghai"\n'
ROOT = Path(__file__).resolve().parents[3]
PAGES = {
    path.stem: path.read_text("utf-8")
    for path in sorted((ROOT / "docs/prices/shapes").glob("*.md"))
}
SAID = {name: page for name, page in PAGES.items() if "```toml" in page}


def toml_blocks(text: str) -> list[str]:
    """The TOML examples of a page or section."""
    return re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def payments(section: str) -> list[dict[str, str]]:
    """Rows of the tables that have a column `pays`."""
    rows: list[dict[str, str]] = []
    for table in re.findall(r"(?:^\|.*\|\n)+", section, re.MULTILINE):
        lines = [
            [cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()
        ]
        if "pays" in lines[0]:
            rows += [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    return rows


@pytest.mark.parametrize("section", SAID.values(), ids=SAID)
def test_requests_pay_what_the_table_says(section):
    """Each row of a page of docs/prices/shapes, quoted under the page's own example."""
    (text,) = toml_blocks(section)
    book, rows = read_book(HEADER + text), payments(section)
    assert rows
    for row in rows:
        price = quote(
            book,
            row["model"],
            at=utc(row["at"]),
            input_tokens=int(row.get("input", 0)),
            output_tokens=int(row.get("output", 0)),
            service_tier=row.get("service tier"),
            region=row.get("region"),
            tenant_id=row.get("tenant"),
        ).price
        paid = price and (price.input_price, price.cached_price, price.output_price)
        assert (" / ".join(map(plain, paid)) if paid else "unpriced") == row["pays"], row


def test_the_example_of_the_format_is_a_valid_book():
    """docs/prices/format.md shows a book without findings."""
    (text,) = toml_blocks((ROOT / "docs/prices/format.md").read_text("utf-8"))
    assert findings(read_book(text)) == []
