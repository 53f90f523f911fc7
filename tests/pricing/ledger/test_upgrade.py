"""migrations/ledger: the newest version is what the code says, and every step keeps every row."""

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, func, inspect, select

from pricing.errors import StoreUnavailable
from pricing.ledger.connect import Ledger, ledger_engine
from pricing.ledger.tables import metadata
from pricing.ledger.upgrade import BASE, upgrade_ledger, versions
from tests.pricing.ledger.one_of_each import fill


def counts(url):
    engine = ledger_engine(url)
    with engine.connect() as connection:
        found = {
            name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for name, table in metadata.tables.items()
        }
    engine.dispose()
    return found


def test_the_database_is_what_the_metadata_says(url):
    """Alembic finds no table, column, type, index or constraint to change."""
    engine = ledger_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_checks_are_what_the_metadata_says(url, tmp_path):
    """Alembic compares no CHECK constraints: compare with what create_all would have made."""
    made = create_engine(f"sqlite:///{tmp_path / 'made.sqlite'}")
    metadata.create_all(made)
    engine = ledger_engine(url)
    for name in metadata.tables:
        names = [
            {check["name"] for check in inspect(each).get_check_constraints(name)}
            for each in (engine, made)
        ]
        assert names[0] == names[1], name
    made.dispose()
    engine.dispose()


def test_every_step_down_and_up_keeps_every_row(empty_url):
    """From the first version on: the same counts after one step down and up again."""
    upgrade_ledger(empty_url)
    ledger = Ledger(empty_url)
    fill(ledger)
    ledger.close()
    before = counts(empty_url)
    assert min(before.values()) >= 1, f"a table without a row proves nothing: {before}"
    for version in reversed(versions("ledger")[:-1]):
        upgrade_ledger(empty_url, target=version)
        upgrade_ledger(empty_url)
        assert counts(empty_url) == before


def test_down_to_nothing_and_up_again(empty_url):
    """Every downgrade runs, with rows in every table, and leaves none behind."""
    upgrade_ledger(empty_url)
    ledger = Ledger(empty_url)
    fill(ledger)
    ledger.close()
    upgrade_ledger(empty_url, target=BASE)
    engine = ledger_engine(empty_url)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()
    upgrade_ledger(empty_url)
    assert set(counts(empty_url).values()) == {0}


def test_a_second_upgrade_changes_nothing(url):
    """`serve` upgrades at every start."""
    upgrade_ledger(url)
    assert set(counts(url).values()) == {0}


def test_a_ledger_of_a_newer_release_is_refused(url):
    """Never guess what a later release meant; the message says what to do."""
    engine = ledger_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    with pytest.raises(StoreUnavailable, match="newer release"):
        upgrade_ledger(url)
