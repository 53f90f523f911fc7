"""Both stores from any released version to the newest, by Alembic; the same way back in tests."""

from pathlib import Path

import duckdb
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from pricing.errors import StoreUnavailable
from pricing.ledger.connect import available, ledger_engine, writing

SITE = Path(__file__).resolve().parents[2]
PLACES = (SITE / "pricing" / "migrations", SITE / "migrations")  # wheel, checkout
HEAD = "head"
BASE = "base"  # before the first version: no table


def upgrade_ledger(url: str, *, target: str = HEAD) -> None:
    """Bring the ledger at the SQLAlchemy URL to `target`, in one transaction."""
    engine = ledger_engine(url, foreign_keys=False)
    try:
        with available(), writing(engine) as connection:
            _move("ledger", connection, target)
            _check_references(connection)
    finally:
        engine.dispose()


def upgrade_usage(path: Path, *, target: str = HEAD) -> None:
    """Bring the usage store at `path` to `target`, in one transaction; makes a file that is new.

    Nobody else may hold the file. One without a version, made by the store itself, gets the version
    whose tables it has.
    """
    engine = usage_engine(path)
    try:
        with engine.begin() as connection:
            tables = _tables(connection)
            if tables and _version(connection) is None:
                command.stamp(_config("usage", connection), _version_of(tables, path))
            _move("usage", connection, target)
    except OperationalError as error:
        raise StoreUnavailable(
            f"The usage store {path} cannot be opened: {error.orig}.",
            remedy="End the process that holds it; if the file is damaged, restore a backup.",
        ) from error
    finally:
        engine.dispose()


def usage_engine(path: Path) -> Engine:
    """An engine for the migrations alone; the store itself is opened by metering.store."""
    return create_engine(f"duckdb:///{path}", poolclass=NullPool)


def migrations_folder(store: str) -> Path:
    """Where the migrations of "ledger" or "usage" lie: inside the wheel, or in a checkout."""
    for place in PLACES:
        if (place / store / "env.py").is_file():
            return place / store
    raise StoreUnavailable(
        f"No migrations in {' or '.join(map(str, PLACES))}.",
        remedy="The installation is incomplete: install the tokentill package again.",
    )


def versions(store: str) -> list[str]:
    """The versions of a store, oldest first; their names are in order."""
    script = ScriptDirectory.from_config(_config(store))
    return sorted(revision.revision for revision in script.walk_revisions(BASE, HEAD))


def _config(store: str, connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder(store)).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _version(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table_pk": False})
    return context.get_current_revision()


def _move(store: str, connection: Connection, target: str) -> None:
    config, now = _config(store, connection), _version(connection)
    if now is not None and now not in versions(store):
        raise StoreUnavailable(
            f"The {store} store has version {now}, which this release does not know.",
            remedy="It was written by a newer release: install that one, or restore a backup.",
        )
    if target == BASE or (target != HEAD and now is not None and target < now):
        command.downgrade(config, target)
    else:
        command.upgrade(config, target)


def _check_references(connection: Connection) -> None:
    """SQLite did not check references during the migration: do it before the commit."""
    if connection.dialect.name != "sqlite":
        return
    broken = connection.execute(text("PRAGMA foreign_key_check")).all()
    if broken:
        raise StoreUnavailable(
            f"The migration would leave {len(broken)} rows that refer to nothing, the first in "
            f"table {broken[0][0]!r}; nothing was changed.",
            remedy="Report it; the ledger is as it was before.",
        )


COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE NOT internal AND table_name <> 'alembic_version'
"""


def _tables(connection: Connection) -> set[tuple[str, ...]]:
    return {tuple(row) for row in connection.execute(text(COLUMNS))}


def _version_of(tables: set[tuple[str, ...]], path: Path) -> str:
    """The version whose scripts make exactly these columns."""
    with duckdb.connect() as scratch:
        for version in versions("usage"):
            for step in (migrations_folder("usage") / "versions").glob(f"{version}_*_up.sql"):
                scratch.execute(step.read_text(encoding="utf-8"))
            if set(scratch.execute(COLUMNS).fetchall()) == tables:
                return version
    raise StoreUnavailable(
        f"{path} has tables, but not those of any release.",
        remedy="Name another file, or restore a backup.",
    )
