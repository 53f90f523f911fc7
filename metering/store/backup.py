"""A backup that is whole or is not there.

The open file is never copied: its last commits may lie in the log, and to open and close it once
more in the same process would drop DuckDB's lock on it (POSIX locks end with the first close).
COPY FROM DATABASE reads one snapshot while usage goes on coming in.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from metering.errors import BackupFailed, StoreUnavailable
from metering.store.connect import Store, open_store, transaction

ALIAS = "tokentill_backup"
Counts = dict[str, int]  # rows by table


def back_up(store: Store, folder: Path, now: datetime) -> Path:
    """Copy the store into `folder`; the new file, verified by counts and sums of every table.

    now: UTC, names the file. Raises BackupFailed; then nothing is left behind.
    """
    name = f"usage-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.duckdb"
    target, partial = folder / name, folder / f"{name}.partial"
    if target.exists():
        raise BackupFailed(f"{target} exists; wait a second, or name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        expected = _copy(store, partial)
        _verify(partial, expected)
        _make_durable(partial)
        partial.rename(target)
        _make_durable(folder)
    except (duckdb.Error, OSError, StoreUnavailable) as error:
        raise BackupFailed(
            f"no backup was made in {folder}: {error}. Check that the folder may be written and "
            "has room for the whole store"
        ) from error
    finally:
        for leftover in (partial, partial.with_name(f"{partial.name}.wal")):
            leftover.unlink(missing_ok=True)
    return target


def row_counts(cursor: duckdb.DuckDBPyConnection, database: str) -> Counts:
    """Rows of each table of an attached database, as its snapshot sees them."""
    tables = cursor.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $database",
        {"database": database},
    ).fetchall()
    return {
        f"{schema}.{table}": len(cursor.table(f"{_name(database)}.{_name(schema)}.{_name(table)}"))
        for schema, table in tables
    }


def row_sums(cursor: duckdb.DuckDBPyConnection, database: str) -> dict[str, int]:
    """The sum of the hashes of each table's rows: two tables with one sum hold the same rows."""
    tables = cursor.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $database",
        {"database": database},
    ).fetchall()
    found = {}
    for schema, table in tables:
        rows = cursor.table(f"{_name(database)}.{_name(schema)}.{_name(table)}")
        (total,) = rows.aggregate(f"coalesce(sum(hash({_name(table)})), 0)::HUGEINT").fetchall()[0]
        found[f"{schema}.{table}"] = int(total)
    return found


def _copy(store: Store, file: Path) -> tuple[Counts, Counts]:
    """Write one snapshot of the store to `file`; rows and sums of its tables in that snapshot."""
    with store.cursor() as cursor:
        (own,) = cursor.execute("SELECT current_database()").fetchall()[0]
        quoted = str(file).replace("'", "''")
        cursor.execute(f"ATTACH '{quoted}' AS {ALIAS}")
        try:
            with transaction(cursor):
                cursor.execute(f"COPY FROM DATABASE {_name(own)} TO {ALIAS}")
                return row_counts(cursor, own), row_sums(cursor, own)
        finally:
            cursor.execute(f"DETACH {ALIAS}")


def _verify(file: Path, expected: tuple[Counts, Counts]) -> None:
    """Open the copy as a store of its own, count and sum."""
    copy = open_store(file)
    try:
        with copy.cursor() as cursor:
            (own,) = cursor.execute("SELECT current_database()").fetchall()[0]
            found = row_counts(cursor, own), row_sums(cursor, own)
    finally:
        copy.close()
    if found != expected:
        differing = sorted(
            table
            for ours, copied in zip(expected, found, strict=True)
            for table in ours.keys() | copied.keys()
            if ours.get(table) != copied.get(table)
        )
        raise BackupFailed(f"the copy differs from the store in {', '.join(differing)}")


def _make_durable(path: Path) -> None:
    """Ask the disk to keep a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _name(identifier: str) -> str:
    """An identifier as SQL quotes it."""
    return '"' + identifier.replace('"', '""') + '"'
