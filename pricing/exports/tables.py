"""Tables as CSV and Parquet: money stays decimal, text cannot become a formula."""

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pricing.money import plain

MONEY: Final = pa.decimal128(38, 15)
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "'")
UTF8_BOM: Final = b"\xef\xbb\xbf"


def safe_text(text: str) -> str:
    """`text` as a cell that no spreadsheet runs: a leading apostrophe where one is needed.

    A text that begins with an apostrophe gets one more, so that dropping one gives it back.
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def csv_lines(table: pa.Table, *, bom: bool = False) -> Iterator[bytes]:
    """The table as CSV in UTF-8, a batch at a time; unknown values are empty cells."""
    if bom:
        yield UTF8_BOM
    yield csv_text([table.column_names])
    for batch in table.to_batches(max_chunksize=10_000):
        columns = [column.to_pylist() for column in batch.columns]
        yield csv_text([csv_cell(value) for value in row] for row in zip(*columns, strict=True))


def write_csv(path: Path, table: pa.Table, *, bom: bool = False) -> None:
    """Write `table` as a CSV file."""
    with path.open("wb") as file:
        for chunk in csv_lines(table, bom=bom):
            file.write(chunk)


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write `table` as a Parquet file; money is DECIMAL(38, 15), counts are INT64."""
    pq.write_table(table, path, compression="zstd")


def csv_text(rows: Iterable[list[str]]) -> bytes:
    """Lines of CSV (RFC 4180) in UTF-8."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\r\n").writerows(rows)  # RFC 4180
    return buffer.getvalue().encode("utf-8")


def csv_cell(value: Any) -> str:
    """One value as CSV text: only text is made safe, so that a credit stays a number."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return safe_text(value) if isinstance(value, str) else str(value)
