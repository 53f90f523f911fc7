"""Rows of a report's SQL file as dictionaries; decimals and counts stay exact."""

from datetime import UTC, datetime
from typing import Any

import duckdb

from metering.windows import Window
from pricing.runs.statements import run


def read_rows(
    cursor: duckdb.DuckDBPyConnection, name: str, window: Window | None = None, **values: Any
) -> list[dict[str, Any]]:
    """Rows of pricing/sql/<name>.sql; times come back as aware UTC."""
    span: dict[str, Any] = {}
    if window is not None:
        span = {
            "start_at": window.start_at.replace(tzinfo=None),
            "end_at": window.end_at.replace(tzinfo=None),
        }
    result = run(cursor, name, {**span, **values})
    columns = [column[0] for column in result.description or []]
    return [
        {key: _aware(value) for key, value in zip(columns, row, strict=True)}
        for row in result.fetchall()
    ]


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
