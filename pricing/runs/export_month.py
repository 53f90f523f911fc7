"""The month's files: chargeback and revenue per server, as CSV and Parquet, with a manifest."""

import hashlib
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa

from metering.windows import month_window
from pricing.exports.month_tables import chargeback_table, servers_table
from pricing.exports.tables import write_csv, write_parquet
from pricing.reports.chargeback import chargeback_report
from pricing.reports.revenue_servers import servers_report
from pricing.runs.statements import run


def first_usage_at(cursor: duckdb.DuckDBPyConnection) -> datetime | None:
    """UTC hour of the oldest billed or billable usage; None without any."""
    row = run(cursor, "first_bucket").fetchone()
    return row[0].replace(tzinfo=UTC) if row and row[0] else None


def gather_month(
    cursor: duckdb.DuckDBPyConnection, month: date, zone: ZoneInfo
) -> dict[str, pa.Table]:
    """The month's tables by name, as the roll-ups stand now."""
    window, period = month_window(month, zone), f"{month:%Y-%m}"
    chargeback = chargeback_report(cursor, window, tenant_id=None)
    return {
        "chargeback": chargeback_table(period, chargeback),
        "servers": servers_table(period, servers_report(cursor, window)),
    }


def write_month(tables: dict[str, pa.Table], month: date, folder: Path) -> dict[str, Any]:
    """Write the tables into folder/YYYY-MM; returns the manifest (file → rows, SHA-256).

    Every file appears whole: it is written beside its place and renamed. Running it again replaces
    the files; the manifest comes last, so a folder without one is a run that did not end.
    """
    target = folder / f"{month:%Y-%m}"
    target.mkdir(parents=True, exist_ok=True)
    manifest: dict[str, Any] = {"period": f"{month:%Y-%m}", "files": {}}
    for name, table in tables.items():
        for suffix, write in (("csv", write_csv), ("parquet", write_parquet)):
            path = target / f"{name}.{suffix}"
            partial = path.with_suffix(f".{suffix}.partial")
            write(partial, table)
            digest = hashlib.sha256(partial.read_bytes()).hexdigest()
            partial.replace(path)
            manifest["files"][path.name] = {"rows": table.num_rows, "sha256": digest}
    place = target / "manifest.json"
    partial = place.with_suffix(".json.partial")
    partial.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    partial.replace(place)
    return manifest
