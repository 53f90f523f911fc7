"""One document in every format that it is issued in."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pricing.errors import RequestInvalid
from pricing.exports.focus import ListPrice, focus_table
from pricing.exports.invoice_pdf import invoice_pdf
from pricing.exports.invoice_tables import annex_table, lines_table, summary_table
from pricing.exports.streams import (
    MEDIA_TYPES,
    STREAMS,
    Workbook,
    write_csv_stream,
)
from pricing.invoices import InvoiceLine
from pricing.ledger.invoices import Invoice

Render = Callable[[Invoice, Sequence[InvoiceLine], ListPrice], bytes]
ISSUED: Final = ("pdf", "xlsx", "csv")  # rendered and kept when a document becomes final


def render(
    found: Invoice, lines: Sequence[InvoiceLine], format_: str, *, list_price: ListPrice
) -> bytes:
    """The document in one format. Raises RequestInvalid for a format that there is not.

    list_price: of a line before its contract's discount, for the formats that show both.
    """
    if format_ not in RENDERERS:
        raise RequestInvalid(
            f"There is no format {format_!r}.", remedy=f"Formats are: {', '.join(RENDERERS)}."
        )
    return RENDERERS[format_](found, lines, list_price)


def media_type_of(format_: str) -> str:
    """The media type of a format."""
    return MEDIA_TYPES["csv" if format_ == "focus" else format_]


def _written(write: Callable[[Path], object]) -> bytes:
    """What `write` writes into a file."""
    with tempfile.TemporaryDirectory(prefix="tokentill-") as folder:
        path = Path(folder) / "document"
        write(path)
        return path.read_bytes()


def _xlsx(found: Invoice, lines: Sequence[InvoiceLine], _: ListPrice) -> bytes:
    def write(path: Path) -> None:
        with Workbook(path) as book:
            book.add("summary", summary_table([found]).to_reader())
            book.add("lines", lines_table(found, lines).to_reader())
            book.add("projects", annex_table(found).to_reader())

    return _written(write)


def _table_as(format_: str) -> Render:
    write = STREAMS[format_]
    return lambda found, lines, _: _written(
        lambda path: write(path, lines_table(found, lines).to_reader())
    )


RENDERERS: Final[Mapping[str, Render]] = {
    "pdf": lambda found, lines, _: invoice_pdf(found, lines),
    "xlsx": _xlsx,
    "csv": _table_as("csv"),
    "parquet": _table_as("parquet"),
    "jsonl": _table_as("jsonl"),
    "focus": lambda found, lines, list_price: _written(
        lambda path: write_csv_stream(path, focus_table(found, lines, list_price).to_reader())
    ),
}
