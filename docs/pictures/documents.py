"""Take the pictures of docs/finance from documents of a month that is made here.

    python docs/pictures/documents.py [--folder docs/finance]

Printed documents: typst writes PNG from the very source that it writes the PDF from.

The workbook: openpyxl reads it back, and Chromium shows its cells as an HTML table with the bold
header, column widths, number formats and frozen row that the file states. Unlike in a spreadsheet,
sheets are cut into strips of columns, so that all are seen, and text ends at its cell's edge.
"""

import argparse
import html
import io
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from operator import attrgetter
from pathlib import Path

import openpyxl
from finance_month import Month, finance_month
from openpyxl.cell import Cell
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet
from PIL import Image
from playwright.sync_api import sync_playwright

from pricing.exports.invoice_pdf import invoice_pages
from pricing.exports.render import render

FOLDER = Path(__file__).resolve().parent.parent / "finance"
PRINTED = {  # file → document
    "invoice-en.png": "INV-000001",
    "invoice-zh.png": "INV-000002",
    "credit-note.png": "CN-000001",
    "draft.png": "INV-000003",
    "statement.png": "ST-000001",
    "corrections.png": "INV-000004",
}
WORKBOOK, WORKBOOK_OF = "workbook.png", "INV-000004"
PIXELS_PER_INCH = 96
STRIP_COLUMNS = 8
GREYS = 16  # nothing pictured has colours
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
DIGITS_WIDE = 7  # pixels of a digit in a workbook's standard font, which column widths count
STYLE = """
body { margin: 12px; background: white; font: 13px Calibri, Carlito, "Noto Sans CJK SC" }
h2 { font-size: 13px; margin: 14px 0 4px } table { border-collapse: collapse; margin-bottom: 8px }
table { table-layout: fixed; width: 0 } td, th { border: 1px solid #d8d8d8; height: 18px;
padding: 0 3px; overflow: hidden; white-space: nowrap } th { background: #f0f0f0; color: #555;
font-weight: normal } tr.frozen td { border-bottom: 2px solid #888 } td.n { text-align: right }
"""


def printed(month: Month, number: str) -> bytes:
    """The first page of a document."""
    return invoice_pages(*month.document(number), pixels_per_inch=PIXELS_PER_INCH)[0]


def shown(cell: Cell) -> str:
    """A cell's text under its own number format, of those that the product's workbooks use."""
    value, form = cell.value, cell.number_format
    if value is None:
        return ""
    if isinstance(value, date | datetime):
        words = {"yyyy": "%Y", "mm": "%m", "dd": "%d", "hh": "%H", "ss": "%S"}
        form = form.replace("hh:mm", "hh:%M")
        return value.strftime(re.sub("yyyy|mm|dd|hh|ss", lambda found: words[found[0]], form))
    if cell.data_type != "n":
        return str(value)
    least, most = (form.count(sign, form.find(".")) if "." in form else 0 for sign in ("0", "#"))
    whole, _, rest = f"{round(Decimal(str(value)), least + most):,f}".partition(".")
    rest = rest.rstrip("0").ljust(least, "0")
    return f"{whole}.{rest}" if rest else whole


def strip(sheet: Worksheet, columns: range) -> Iterator[str]:
    """Some columns of a sheet as a table, with its letters and row numbers."""
    letters = [get_column_letter(column) for column in columns]
    widths = [sheet.column_dimensions[_of_group(sheet, each)].width for each in letters]
    yield '<table><col style="width:30px">'
    yield "".join(f'<col style="width:{width * DIGITS_WIDE + 5:.0f}px">' for width in widths)
    yield "<tr><th></th>" + "".join(f"<th>{letter}</th>" for letter in letters) + "</tr>"
    frozen = sheet[sheet.freeze_panes].row - 1
    for row in range(1, sheet.max_row + 1):
        yield f'<tr class="{"frozen" if row == frozen else ""}"><th>{row}</th>'
        for column in columns:
            cell = sheet.cell(row, column)
            side = "n" if cell.data_type in {"n", "d"} and cell.value is not None else ""
            text = html.escape(shown(cell))
            yield f'<td class="{side}">{f"<b>{text}</b>" if cell.font.bold else text}</td>'
        yield "</tr>"
    yield "</table>"


def _of_group(sheet: Worksheet, letter: str) -> str:
    """The column whose width a column has: a file states one width for a run of columns."""
    number = openpyxl.utils.column_index_from_string(letter)
    groups = sheet.column_dimensions.items()
    return next(name for name, each in groups if each.min <= number <= each.max)


def workbook_page(body: bytes) -> str:
    """The workbook's sheets, one below the other."""
    parts = [f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>"]
    for sheet in openpyxl.load_workbook(io.BytesIO(body)):
        parts.append(f"<h2>{html.escape(sheet.title)}</h2>")
        for first in range(1, sheet.max_column + 1, STRIP_COLUMNS):
            last = min(first + STRIP_COLUMNS, sheet.max_column + 1)
            parts.extend(strip(sheet, range(first, last)))
    return "".join(parts)


def photograph(page_html: str) -> bytes:
    """A page as Chromium shows it, as large as its content."""
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)))
        browser = playwright.chromium.launch(executable_path=found, args=list(SWITCHES))
        page = browser.new_page(viewport={"width": 1130, "height": 100})
        page.set_content(page_html)
        return page.screenshot(full_page=True)


def take(folder: Path) -> list[Path]:
    """Write every picture into `folder`."""
    with (
        tempfile.TemporaryDirectory(prefix="tokentill-") as home,
        finance_month(Path(home)) as month,
    ):
        pictures = {name: printed(month, number) for name, number in PRINTED.items()}
        price = attrgetter("unit_price")  # a workbook shows what is paid
        body = render(*month.document(WORKBOOK_OF), "xlsx", list_price=price)
        pictures[WORKBOOK] = photograph(workbook_page(body))
    for name, picture in pictures.items():
        with Image.open(io.BytesIO(picture)) as seen:
            seen.convert("L").quantize(GREYS).save(folder / name, optimize=True)
    return [folder / name for name in pictures]


def main() -> None:
    """Take every picture and say where it is."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=FOLDER)
    for path in take(parser.parse_args().folder):
        print(f"{path} {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
