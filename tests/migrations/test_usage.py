"""migrations/usage: the scripts make the store that metering opens, step by step, and back."""

import duckdb
import pytest

from metering.store.connect import open_store
from pricing.errors import StoreUnavailable
from pricing.ledger.upgrade import BASE, COLUMNS, upgrade_usage, versions


def columns(path):
    with duckdb.connect(str(path)) as connection:
        return set(connection.execute(COLUMNS).fetchall())


def fill(path):
    """A row in every table: 0, '' or the epoch in each column that may not be NULL."""
    zero = {"VARCHAR": "''", "TIMESTAMP": "'1970-01-01'", "DATE": "'1970-01-01'", "UUID": "uuid()"}
    with duckdb.connect(str(path)) as connection:
        for table, column_list, values in connection.execute(
            "SELECT table_name, string_agg(column_name, ','), list(data_type) FROM duckdb_columns()"
            " WHERE NOT is_nullable AND table_name <> 'alembic_version' GROUP BY table_name"
        ).fetchall():
            made = ",".join(zero.get(kind, "0") for kind in values)
            connection.execute(f"INSERT INTO {table} ({column_list}) VALUES ({made})")  # noqa: S608


def counts(path):
    with duckdb.connect(str(path)) as connection:
        tables = sorted({table for table, *_ in connection.execute(COLUMNS).fetchall()})
        return {
            table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608
            for table in tables
        }


def test_the_migrations_make_what_the_store_makes(tmp_path):
    """One schema, whichever way a file came to be."""
    upgrade_usage(tmp_path / "migrated.duckdb")
    open_store(tmp_path / "made.duckdb").close()
    assert columns(tmp_path / "migrated.duckdb") == columns(tmp_path / "made.duckdb")


def test_a_file_that_the_store_made_gets_its_version(tmp_path):
    """Its rows stay; a second upgrade finds nothing to do."""
    path = tmp_path / "usage.duckdb"
    open_store(path).close()
    fill(path)
    before = counts(path)
    upgrade_usage(path)
    upgrade_usage(path)
    assert counts(path) == before
    assert columns(path)


def test_every_step_down_and_up_keeps_every_row(tmp_path):
    """From the first version on: the same counts after one step down and up again."""
    path = tmp_path / "usage.duckdb"
    upgrade_usage(path)
    fill(path)
    before = counts(path)
    assert min(before.values()) >= 1, f"a table without a row proves nothing: {before}"
    for version in reversed(versions("usage")[:-1]):
        upgrade_usage(path, target=version)
        upgrade_usage(path)
        assert counts(path) == before


def test_down_to_nothing_and_up_again(tmp_path):
    """Every downgrade runs, with rows in every table, and leaves none behind."""
    path = tmp_path / "usage.duckdb"
    upgrade_usage(path)
    made = columns(path)
    fill(path)
    upgrade_usage(path, target=BASE)
    assert columns(path) == set()
    upgrade_usage(path)
    assert columns(path) == made


def test_a_file_with_other_tables_is_refused(tmp_path):
    """Not ours: nothing is created beside them."""
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    with pytest.raises(StoreUnavailable, match="not those of any release"):
        upgrade_usage(path)
    assert columns(path) == {("t", "x", "INTEGER")}


def test_a_store_of_a_newer_release_is_refused(tmp_path):
    """Never guess what a later release meant."""
    path = tmp_path / "usage.duckdb"
    upgrade_usage(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreUnavailable, match="newer release"):
        upgrade_usage(path)
