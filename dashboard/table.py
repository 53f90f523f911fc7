"""Tables that sort by value, and downloads that keep every digit."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any, Final, Literal, cast

import pandas as pd
import pyarrow as pa
import streamlit as st
import xlsxwriter
from babel.numbers import get_currency_precision

from dashboard.formats import exact
from dashboard.page import Page

Row = dict[str, Any]
Kind = Literal["text", "money", "count", "ratio", "rate", "moment", "fine", "second"]
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
FINE: Final = Decimal("0.000001")  # money of one request
ROWS_SHOWN: Final = 14
HEIGHT_PIXELS: Final = 500
EXCEL_DIGITS: Final = 15  # more than these a spreadsheet drops without a word


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the field of a row, its heading, and what its values are."""

    field: str
    label: str
    kind: Kind = "text"
    help: str | None = None


def table(
    page: Page,
    rows: Sequence[Row],
    columns: Sequence[Column],
    *,
    name: str,
    currency: str | None = None,
    choose: bool = False,
) -> Row | None:
    """Show rows with a download; answers the row that was clicked. name: of the file."""
    data = frame(page, rows, columns, currency)
    event = st.dataframe(
        data,
        hide_index=True,
        height="auto" if len(rows) <= ROWS_SHOWN else HEIGHT_PIXELS,
        column_config={column.field: _config(column) for column in columns},
        key=f"table_{name}",
        on_select="rerun" if choose else "ignore",
        selection_mode="single-row",
        placeholder="—",
    )
    _downloads(page, rows, columns, name)
    if not choose:
        return None
    picked = cast("dict[str, Any]", event)["selection"]["rows"]
    return rows[picked[0]] if picked and picked[0] < len(rows) else None


def frame(
    page: Page, rows: Sequence[Row], columns: Sequence[Column], currency: str | None
) -> pd.DataFrame:
    """What is shown: money in minor units as decimals, times in the zone, all sortable."""
    digits = get_currency_precision(currency) if currency else 2
    unit = Decimal(1).scaleb(-digits)
    makers: dict[str, tuple[Callable[[Any], Any], pa.DataType]] = {
        "text": (_text, pa.string()),
        "money": (lambda value: _rounded(value, unit), pa.decimal128(38, digits)),
        "count": (lambda value: value, pa.int64()),
        "second": (lambda value: _rounded(value, Decimal("0.001")), pa.decimal128(38, 3)),
        "fine": (lambda value: _rounded(value, FINE), pa.decimal128(38, 6)),
        "ratio": (lambda value: None if value is None else float(value) * 100, pa.float64()),
        "rate": (lambda value: _rounded(value, Decimal("0.1")), pa.decimal128(38, 1)),
        "moment": (lambda value: _local(value, page), pa.timestamp("s")),
    }
    arrays = {
        column.field: pa.array(
            [makers[column.kind][0](row.get(column.field)) for row in rows],
            makers[column.kind][1],
        )
        for column in columns
    }
    shown: pd.DataFrame = pa.table(arrays).to_pandas(types_mapper=pd.ArrowDtype)
    return shown


def as_csv(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    """UTF-8 with a mark for spreadsheets; amounts with every digit, times in ISO 8601 UTC."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([column.label for column in columns])
    for row in rows:
        writer.writerow([_cell(row.get(column.field)) for column in columns])
    return ("\ufeff" + out.getvalue()).encode()


def as_xlsx(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    """A workbook; a number that a spreadsheet cannot hold exactly is written as text."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_formulas": False})
    sheet = book.add_worksheet()
    bold = book.add_format({"bold": True})
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column.label, bold)
        sheet.set_column(place, place, 18)
    for line, row in enumerate(rows, 1):
        for place, column in enumerate(columns):
            value = row.get(column.field)
            if isinstance(value, (int, Decimal)) and _fits(value):
                sheet.write_number(line, place, value)
            elif value is not None:
                sheet.write_string(line, place, _text(value) or "")
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, max(len(rows), 1), len(columns) - 1)
    book.close()
    return out.getvalue()


def _downloads(page: Page, rows: Sequence[Row], columns: Sequence[Column], name: str) -> None:
    start = page.formats.day(page.filters.period.start_at)
    with st.container(horizontal=True, horizontal_alignment="right", key=f"download_{name}"):
        for ending, make in (("csv", as_csv), ("xlsx", as_xlsx)):
            st.download_button(
                ending.upper(),
                partial(make, rows, columns),
                f"tokentill-{name}-{start}.{ending}",
                key=f"{name}_{ending}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
            )


def _config(column: Column) -> Any:
    kinds = {
        "money": lambda: st.column_config.NumberColumn(
            column.label, help=column.help, format="accounting"
        ),
        "fine": lambda: st.column_config.NumberColumn(
            column.label, help=column.help, format="%.6f"
        ),
        "count": lambda: st.column_config.NumberColumn(
            column.label, help=column.help, format="localized"
        ),
        "second": lambda: st.column_config.NumberColumn(
            column.label, help=column.help, format="%.3f"
        ),
        "rate": lambda: st.column_config.NumberColumn(
            column.label, help=column.help, format="localized"
        ),
        "ratio": lambda: st.column_config.NumberColumn(
            column.label, help=column.help, format="%.1f%%"
        ),
        "moment": lambda: st.column_config.DatetimeColumn(
            column.label, help=column.help, format="YYYY-MM-DD HH:mm:ss"
        ),
    }
    make = kinds.get(column.kind)
    return make() if make else st.column_config.TextColumn(column.label, help=column.help)


def _rounded(value: Any, unit: Decimal) -> Decimal | None:
    known = exact(value)
    return None if known is None else known.quantize(unit, rounding=ROUND_HALF_UP)


def _local(value: Any, page: Page) -> datetime | None:
    return value.astimezone(page.filters.zone).replace(tzinfo=None) if value else None


def _fits(value: int | Decimal) -> bool:
    return len(Decimal(value).normalize().as_tuple().digits) <= EXCEL_DIGITS


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, (list, tuple)):
        return " ".join(str(each) for each in value)
    return str(value)


def _cell(value: Any) -> str:
    text = _text(value) or ""
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text
