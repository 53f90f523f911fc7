"""Opening, owning and reading the store."""

import resource
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from metering.errors import ReadTimeout, StoreHeld, StoreUnavailable
from metering.store.connect import Store, open_store, transaction
from metering.store.maintenance import checkpoint
from metering.store.readers import Readers
from tests.metering.store.leg_rows import batch, leg, rows, send

TRY_TO_OPEN = """
import sys
from pathlib import Path
from metering.errors import StoreHeld
from metering.store.connect import open_store
try:
    open_store(Path(sys.argv[1]))
except StoreHeld as error:
    print(error)
"""


def test_a_second_process_is_told_who_owns_the_store(tmp_path: Path, root: Path) -> None:
    """Case C22: no lock error, but the way through the API."""
    file = tmp_path / "usage.duckdb"
    owner = open_store(file)
    said = subprocess.run(
        [sys.executable, "-c", TRY_TO_OPEN, str(file)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "owned by a running process" in said.stdout
    assert "TOKENTILL_API_URL" in said.stdout
    owner.close()


def test_a_file_that_is_no_store_is_named(tmp_path: Path) -> None:
    """What was found, and what to do."""
    file = tmp_path / "usage.duckdb"
    file.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreUnavailable, match=r"usage\.duckdb cannot be opened.*db restore"):
        open_store(file)
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_store(tmp_path / "missing" / "usage.duckdb")
    assert issubclass(StoreHeld, StoreUnavailable)


def test_rows_are_there_after_reopening(tmp_path: Path) -> None:
    """Closed in good order; the schema is created once."""
    file = tmp_path / "usage.duckdb"
    store = open_store(file)
    send(store, batch(leg("a")))
    store.close()
    store = open_store(file)
    assert rows(store, "SELECT count(*) FROM leg") == [(1,)]
    store.close()


def test_the_zone_of_the_process_changes_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V9: TZ=Asia/Shanghai; the session's zone stays UTC."""
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    ask = (
        "from metering.store.connect import open_store;"
        "print(open_store(None).cursor().execute("
        "\"SELECT '2026-06-01T00:00:00Z'::TIMESTAMPTZ::TIMESTAMP::VARCHAR\").fetchone()[0])"
    )
    said = subprocess.run([sys.executable, "-c", ask], cwd=root, capture_output=True, check=True)
    assert said.stdout.decode().strip() == "2026-06-01 00:00:00"


def test_nothing_of_a_failed_transaction_stays(store: Store) -> None:
    """ROLLBACK on any error; the cursor works afterwards."""
    cursor = store.cursor()
    with pytest.raises(duckdb.Error), transaction(cursor):
        cursor.execute("DELETE FROM progress; SELECT no_such_column FROM leg")
    assert rows(store, "SELECT count(*) FROM progress") == [(1,)]
    with transaction(cursor):
        cursor.execute("DELETE FROM progress")
    assert rows(store, "SELECT count(*) FROM progress") == [(0,)]


def test_a_read_sees_one_moment_and_writes_nothing(store: Store) -> None:
    """All queries of one read share a snapshot, whatever is committed meanwhile."""
    readers = Readers(store)

    def twice(cursor):
        before = cursor.execute("SELECT count(*) FROM leg").fetchall()
        send(store, batch(leg("a")))
        return before + cursor.execute("SELECT count(*) FROM leg").fetchall()

    assert readers.read(twice) == [(0,), (0,)]
    assert readers.table("SELECT count(*) AS legs FROM leg").to_pylist() == [{"legs": 1}]
    with pytest.raises(Exception, match="read-only"):
        readers.read(lambda cursor: cursor.execute("DELETE FROM leg"))


def test_a_database_that_was_given_up_is_opened_anew(tmp_path: Path) -> None:
    """A checkpoint that fails makes DuckDB refuse everything; readers and the next writer go on."""
    store = open_store(tmp_path / "usage.duckdb")
    send(store, batch(leg("a")))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
    try:
        with pytest.raises(duckdb.FatalException, match="checkpoint"):
            checkpoint(store)
        counted = Readers(store).table("SELECT count(*) AS legs FROM leg")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert counted.to_pylist() == [{"legs": 1}]
    assert send(store, batch(leg("b")))[0].accepted == 1
    store.close()


def test_a_slow_query_is_stopped(store: Store) -> None:
    """It hears what to ask instead, and the reader is free again."""
    readers = Readers(store, readers=1, seconds_max=0.2)
    with pytest.raises(ReadTimeout, match="shorter window"):
        readers.table("SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b")
    assert readers.table("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_waiting_for_a_reader_has_an_end(store: Store) -> None:
    """With one reader busy, another query is told so."""
    readers = Readers(store, readers=1, seconds_max=0.2)
    busy, done = threading.Event(), threading.Event()

    def hold(_cursor):
        busy.set()
        done.wait(30)

    holder = threading.Thread(target=readers.read, args=(hold,))
    holder.start()
    busy.wait(30)
    with pytest.raises(ReadTimeout, match="no reader"):
        readers.table("SELECT 1")
    done.set()
    holder.join()


def test_sums_come_back_exact(store: Store) -> None:
    """2^53 + 1 and 15 fraction digits survive the way through Arrow."""
    exact = "SELECT 9007199254740993::HUGEINT AS tokens, 0.000000000000001::DECIMAL(38,15) AS money"
    [row] = Readers(store).table(exact).to_pylist()
    assert (int(row["tokens"]), str(row["money"])) == (9007199254740993, "1E-15")
