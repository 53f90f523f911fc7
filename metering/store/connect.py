"""The usage store: one DuckDB database, owned by one process, one cursor for each thread.

No second process can open the file, not even to read (docs/decisions/0001): everybody else asks
the owner through the API. Inside the owner two writers work side by side, since they never touch
the same table: ingest under `Store.write_lock`, settlement under `Store.settle_lock`. CHECKPOINT
needs a moment without any write transaction: it runs in `Store.alone()`.
"""

import contextlib
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import duckdb

from metering.errors import StoreHeld, StoreUnavailable
from metering.store.migrations_folder import usage_versions

SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,  # nothing is fetched at run time
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # SQL sees registered tables only, not local variables
    # A checkpoint rewrites the last row group of 46 columns: at the default of 16 MB it runs every
    # second batch of 50,000 legs and halves the ingest; 256 MB of log replay in about 2 s.
    "checkpoint_threshold": "256MB",
}


class Store:
    """An open usage store. Cursors are cheap; each belongs to one thread."""

    def __init__(self, path: Path | None, *, memory_limit: str = "2GB", threads: int = 2) -> None:
        self.path = path
        self.write_lock = threading.RLock()
        self.settle_lock = threading.RLock()
        self._config = SETTINGS | {"memory_limit": memory_limit, "threads": threads}
        self._cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self._connection = self._connect()
        _create_schema(self._connection)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No writer works while the block runs; it waits for the transactions that are open."""
        with self.settle_lock, self.write_lock:
            yield

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A cursor of its own for the calling thread, with the session's zone UTC.

        After some failures of the disk DuckDB gives the open database up; the file is then opened
        anew here. Cursors handed out before fail, and their users come for new ones.
        """
        try:
            return self._new_cursor()
        except duckdb.Error:
            if self.path is None:
                raise
        with self.alone():
            with contextlib.suppress(duckdb.Error):
                return self._new_cursor()  # somebody else has opened it meanwhile
            self.close()
            self._connection = self._connect()
            return self._new_cursor()

    def _new_cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = self._connection.cursor()
        cursor.execute("SELECT 1")  # fails where the database was given up
        self._cursors.add(cursor)
        return cursor

    def close(self) -> None:
        """Close every cursor and the database; committed rows are durable already."""
        for cursor in list(self._cursors):
            with contextlib.suppress(duckdb.ConnectionException):  # its user has closed it
                cursor.interrupt()
            cursor.close()
        self._cursors.clear()
        self._connection.close()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        target = ":memory:" if self.path is None else str(self.path)
        try:
            connection = duckdb.connect(target, config=self._config)
        except duckdb.Error as error:
            raise _unavailable(self.path, error) from error
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        return connection


def open_store(path: Path | None, *, memory_limit: str = "2GB", threads: int = 2) -> Store:
    """The store at `path`, created with its schema if it is new; None: a store in memory."""
    return Store(path, memory_limit=memory_limit, threads=threads)


@contextlib.contextmanager
def transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """COMMIT at the end of the block, ROLLBACK if it or the commit fails."""
    cursor.execute("BEGIN TRANSACTION")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(duckdb.Error):  # a failed COMMIT has ended the transaction already
            cursor.execute("ROLLBACK")
        raise


def _create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Run the migrations in order on a database that has no table yet."""
    tables = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE NOT internal")
    if tables.fetchall() != [(0,)]:
        return
    with transaction(connection):
        for step in sorted(usage_versions().glob("*_up.sql")):
            connection.execute(step.read_text(encoding="utf-8"))


def _unavailable(path: Path | None, error: duckdb.Error) -> StoreUnavailable:
    if "Could not set lock" in str(error):
        return StoreHeld(
            f"The usage store {path} is owned by a running process (tokentill serve). Ask it "
            "through the API: set TOKENTILL_API_URL and TOKENTILL_API_KEY; or stop it first."
        )
    return StoreUnavailable(
        f"The usage store {path} cannot be opened: {error}. Check that the folder exists, may be "
        "written and is not full; if the file is damaged, restore a backup: tokentill db restore"
    )
