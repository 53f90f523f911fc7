"""Files of any length: rows go from a reader of batches to the file, never all in memory."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

from pricing.exports.tables import UTF8_BOM, csv_cell, csv_text, safe_text
from pricing.money import plain

SHEET_ROWS_MAX: Final = 1_048_575  # of a worksheet, below its header
BATCH_ROWS: Final = 10_000
COLUMN_WIDTH: Final = 18
MONEY_FORMAT: Final = "#,##0.00#############"
COUNT_FORMAT: Final = "#,##0"
TIME_FORMAT: Final = "yyyy-mm-dd hh:mm:ss"
DAY_FORMAT: Final = "yyyy-mm-dd"
Batches: TypeAlias = pa.RecordBatchReader


def write_csv_stream(path: Path, batches: Batches, *, bom: bool = False) -> int:
    """CSV in UTF-8; returns the rows written."""
    rows = 0
    with path.open("wb") as file:
        if bom:
            file.write(UTF8_BOM)
        file.write(csv_text([batches.schema.names]))
        for batch in batches:
            file.write(csv_text([csv_cell(value) for value in row] for row in _rows(batch)))
            rows += batch.num_rows
    return rows


def write_jsonl_stream(path: Path, batches: Batches) -> int:
    """JSON Lines in UTF-8: money as decimal text, times in ISO 8601; returns the rows written."""
    rows, names = 0, batches.schema.names
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in batches:
            for row in _rows(batch):
                item = dict(zip(names, row, strict=True))
                file.write(json.dumps(item, default=_json_value, ensure_ascii=False) + "\n")
            rows += batch.num_rows
    return rows


def write_parquet_stream(path: Path, batches: Batches) -> int:
    """Parquet with zstd: money is DECIMAL(38, 15), counts are INT64; returns the rows written."""
    rows = 0
    with pq.ParquetWriter(path, batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows


def write_xlsx_stream(path: Path, batches: Batches, *, sheet: str = "data") -> int:
    """A workbook with one sheet, more where Excel's limit asks for them; returns the rows."""
    with Workbook(path) as book:
        return book.add(sheet, batches)


STREAMS: Final[Mapping[str, Callable[[Path, Batches], int]]] = {
    "csv": write_csv_stream,
    "parquet": write_parquet_stream,
    "xlsx": write_xlsx_stream,
    "jsonl": write_jsonl_stream,
}
MEDIA_TYPES: Final[Mapping[str, str]] = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "jsonl": "application/jsonl",
    "pdf": "application/pdf",
}


class Workbook:
    """A workbook written row by row: typed cells, frozen header, ids as text.

    A number cell holds 15 significant digits, which Excel cannot exceed; the exact amounts are in
    the CSV and Parquet files.
    """

    def __init__(self, path: Path) -> None:
        options = {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        }
        self._book = xlsxwriter.Workbook(str(path), options)
        self._header = self._book.add_format({"bold": True, "bottom": 1})
        self._formats = {
            name: self._book.add_format({"num_format": form})
            for name, form in (
                ("money", MONEY_FORMAT),
                ("count", COUNT_FORMAT),
                ("time", TIME_FORMAT),
                ("day", DAY_FORMAT),
            )
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._book.close()

    def add(self, name: str, batches: Batches) -> int:
        """A sheet with a header and the rows of `batches`; returns the rows written."""
        rows = 0
        sheet, line = None, SHEET_ROWS_MAX
        for batch in batches:
            for row in _rows(batch):
                if sheet is None or line >= SHEET_ROWS_MAX:
                    number = rows // SHEET_ROWS_MAX + 1
                    sheet = self._sheet(name if number == 1 else f"{name} {number}", batches.schema)
                    line = 0
                line += 1
                rows += 1
                for column, value in enumerate(row):
                    self._write(sheet, line, column, value)
        if sheet is None:
            self._sheet(name, batches.schema)
        return rows

    def _sheet(self, name: str, schema: pa.Schema) -> Any:
        sheet = self._book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        sheet.set_column(0, len(schema.names) - 1, COLUMN_WIDTH)
        for column, title in enumerate(schema.names):
            sheet.write_string(0, column, title, self._header)
        return sheet

    def _write(self, sheet: Any, line: int, column: int, value: Any) -> None:
        if value is None:
            return
        if isinstance(value, str):
            sheet.write_string(line, column, safe_text(value))
        elif isinstance(value, bool):
            sheet.write_boolean(line, column, value)
        elif isinstance(value, Decimal):
            sheet.write_number(line, column, float(value), self._formats["money"])
        elif isinstance(value, int):
            sheet.write_number(line, column, value, self._formats["count"])
        elif isinstance(value, datetime):
            naive = value.replace(tzinfo=None)  # UTC, as the column's name says
            sheet.write_datetime(line, column, naive, self._formats["time"])
        elif isinstance(value, date):
            sheet.write_datetime(line, column, value, self._formats["day"])
        else:
            sheet.write_number(line, column, value)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _json_value(value: Any) -> str:
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no JSON for {value!r}")
