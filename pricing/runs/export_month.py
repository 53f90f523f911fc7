"""The month's files: chargeback and revenue per server, as CSV and Parquet, with a manifest."""

import hashlib
import json
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa

from metering.windows import month_window
from pricing.exports.month_tables import chargeback_table, servers_table
from pricing.exports.places import Place
from pricing.exports.tables import write_csv, write_parquet
from pricing.reports.chargeback import chargeback_report
from pricing.reports.revenue_servers import servers_report
from pricing.runs.statements import run

MANIFEST: Final = "manifest.json"


def first_usage_at(cursor: duckdb.DuckDBPyConnection) -> datetime | None:
    """UTC hour of the oldest billed or billable usage; None without any."""
    row = run(cursor, "first_bucket").fetchone()
    return row[0].replace(tzinfo=UTC) if row and row[0] else None


def gather_month(
    cursor: duckdb.DuckDBPyConnection, month: date, zone: ZoneInfo
) -> dict[str, pa.Table]:
    """The month's tables by name, as usage stands now."""
    window, period = month_window(month, zone), f"{month:%Y-%m}"
    chargeback = chargeback_report(cursor, window, tenant_id=None)
    return {
        "chargeback": chargeback_table(period, chargeback),
        "servers": servers_table(period, servers_report(cursor, window)),
    }


def write_month(tables: dict[str, pa.Table], month: date, place: Place) -> dict[str, Any]:
    """Put the tables under YYYY-MM of the place; returns the manifest (file → rows, SHA-256).

    The manifest goes first and comes last: a month without one is a run that did not end. Running
    it again replaces the files.
    """
    target = place.under(f"{month:%Y-%m}")
    target.remove(MANIFEST)
    manifest: dict[str, Any] = {"period": f"{month:%Y-%m}", "files": {}}
    with tempfile.TemporaryDirectory(prefix="tokentill-export-") as folder:
        for name, table in tables.items():
            for suffix, write in (("csv", write_csv), ("parquet", write_parquet)):
                path = Path(folder) / f"{name}.{suffix}"
                write(path, table)
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                target.put(path, path.name)
                manifest["files"][path.name] = {"rows": table.num_rows, "sha256": digest}
        path = Path(folder) / MANIFEST
        path.write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        target.put(path, MANIFEST)
    return manifest
