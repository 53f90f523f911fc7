"""Tables that sort by value, with a download."""

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final, cast

import pandas as pd
import pyarrow as pa
import streamlit as st
from babel.numbers import get_currency_precision

from dashboard.columns import Column, Link, Row
from dashboard.downloads import downloads, plain
from dashboard.formats import exact
from dashboard.formulas import with_formula
from dashboard.page import Page

FINE: Final = Decimal("0.000001")  # money of one request
ROWS_SHOWN: Final = 14
HEIGHT_PIXELS: Final = 500


def table(
    page: Page,
    rows: Sequence[Row],
    columns: Sequence[Column],
    *,
    name: str,
    currency: str | None = None,
    choose: Link | None = None,
) -> Row | None:
    """Show rows with a download; answers the row that was clicked. name: of the file."""
    data = frame(page, rows, columns, currency)
    event = st.dataframe(
        data,
        hide_index=True,
        height="auto" if len(rows) <= ROWS_SHOWN else HEIGHT_PIXELS,
        column_config={column.field: _config(page, column) for column in columns},
        key=f"table_{name}",
        on_select="rerun" if choose else "ignore",
        selection_mode="single-row",
        selection_default=_asked(rows, choose),
        placeholder="—",
    )
    downloads(page, rows, columns, name)
    if choose is None:
        return None
    places = cast("dict[str, Any]", event)["selection"]["rows"]
    picked = rows[places[0]] if places and places[0] < len(rows) else None
    _keep(choose, picked)
    return picked


def _asked(rows: Sequence[Row], link: Link | None) -> Any:
    """The row that the URL names, as a selection; None where none can be chosen."""
    if link is None:
        return None
    asked = st.query_params.get(link.param)
    places = [place for place, row in enumerate(rows) if link.identity(row) == asked]
    return {"selection": {"rows": places[:1]}}


def _keep(link: Link, picked: Row | None) -> None:
    """The row that was clicked, in the URL."""
    if picked is None:
        st.query_params.pop(link.param, None)
    elif st.query_params.get(link.param) != link.identity(picked):
        st.query_params[link.param] = link.identity(picked)


def frame(
    page: Page, rows: Sequence[Row], columns: Sequence[Column], currency: str | None
) -> pd.DataFrame:
    """What is shown: money in minor units as decimals, times in the zone, all sortable."""
    digits = get_currency_precision(currency) if currency else 2
    unit = Decimal(1).scaleb(-digits)
    makers: dict[str, tuple[Callable[[Any], Any], pa.DataType]] = {
        "text": (plain, pa.string()),
        "money": (lambda value: _rounded(value, unit), pa.decimal128(38, digits)),
        "count": (lambda value: value, pa.int64()),
        "second": (lambda value: _rounded(value, Decimal("0.001")), pa.decimal128(38, 3)),
        "fine": (lambda value: _rounded(value, FINE), pa.decimal128(38, 6)),
        "ratio": (lambda value: None if value is None else float(value) * 100, pa.float64()),
        "change": (lambda value: None if value is None else float(value) * 100, pa.float64()),
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


NUMBERS: Final = {  # kind → how Streamlit writes it
    "money": "accounting", "fine": "%.6f", "count": "localized", "second": "%.3f",
    "rate": "localized", "ratio": "%.1f%%", "change": "%+.1f%%",
}  # fmt: skip


def _config(page: Page, column: Column) -> Any:
    about = with_formula(page.words, column.formula, column.help)
    if column.kind in NUMBERS:
        written = NUMBERS[column.kind]
        return st.column_config.NumberColumn(column.label, help=about, format=written)
    if column.kind == "moment":
        return st.column_config.DatetimeColumn(
            column.label, help=about, format="YYYY-MM-DD HH:mm:ss"
        )
    return st.column_config.TextColumn(column.label, help=about)


def _rounded(value: Any, unit: Decimal) -> Decimal | None:
    known = exact(value)
    return None if known is None else known.quantize(unit, rounding=ROUND_HALF_UP)


def _local(value: Any, page: Page) -> datetime | None:
    return value.astimezone(page.filters.zone).replace(tzinfo=None) if value else None
