"""Folding changes no sum, forgetting waits for the fold, a backup is whole or not there."""

import resource
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from metering.errors import BackupFailed
from metering.store.backup import back_up
from metering.store.connect import Store, open_store
from metering.store.maintenance import (
    ROLLUPS,
    checkpoint,
    fold_rollups,
    fold_watermarks,
    forget_samples,
)
from metering.windows import Window
from tests.metering.store.leg_rows import NOW, at, batch, leg, rows, send

MONTH = Window(NOW - timedelta(days=30), NOW)
SUMMED = {"BIGINT", "HUGEINT", "DOUBLE"}
USAGE = """
INSERT INTO usage_hourly VALUES (
    $at, $tenant, NULL, NULL, 'm', 'chat', 'billed', NULL, -5, 0, NULL, $seq,
    $n, $n, $n, $n, $n, $n, $n, $n, $n, $n, $n, $n, $n
)
"""


def add_usage(store: Store, seq: int, tenant: str | None, tokens: int, hours_back: int) -> None:
    """One delta row of usage_hourly."""
    bucket_at = at(-3600 * hours_back).replace(tzinfo=None, minute=0)
    values = {"at": bucket_at, "tenant": tenant, "seq": seq, "n": tokens}
    store.cursor().execute(USAGE, values)


@pytest.mark.parametrize("table", sorted(ROLLUPS))
def test_every_other_column_of_a_rollup_is_a_sum(store: Store, table: str) -> None:
    """The declared keys are columns; what is not declared is a number that is never NULL."""
    columns = rows(
        store,
        "SELECT column_name, data_type, is_nullable FROM duckdb_columns() WHERE table_name = $1",
        [table],
    )
    declared = {*ROLLUPS[table].keys, *ROLLUPS[table].latest}
    assert declared <= {name for name, _, _ in columns}
    summed = {(kind, nullable) for name, kind, nullable in columns if name not in declared}
    assert summed <= {(kind, False) for kind in SUMMED}


def test_folding_adds_rows_alike_and_nothing_else(store: Store) -> None:
    """By hand: t-a 1 + 2 at 10:00, t-a 4 at 09:00, nobody's 8 + 16 at 10:00 → 3 rows of 5."""
    for seq, (tenant, tokens, back) in enumerate(
        [("t-a", 1, 2), ("t-a", 2, 2), ("t-a", 4, 3), (None, 8, 2), (None, 16, 2)], 1
    ):
        add_usage(store, seq, tenant, tokens, back)
    assert fold_rollups(store, MONTH)["usage_hourly"] == 2
    query = (
        "SELECT tenant_id, hour(bucket_at), settle_seq, requests, reasoning_tokens, digest_4 "
        "FROM usage_hourly ORDER BY ALL NULLS FIRST"
    )
    expected = [(None, 10, 5, *[24] * 3), ("t-a", 9, 3, *[4] * 3), ("t-a", 10, 2, *[3] * 3)]
    assert rows(store, query) == expected
    assert fold_rollups(store, MONTH)["usage_hourly"] == 0
    assert rows(store, query) == expected


def test_adjustments_of_two_batches_stay_apart(store: Store) -> None:
    """A close between them bills the first one only: their settle_seq must survive."""
    for seq in (1, 2):
        add_usage(store, seq, "t-a", 1, 2)
    store.cursor().execute("UPDATE usage_hourly SET adjusts_period = DATE '2026-05-01'")
    assert fold_rollups(store, MONTH)["usage_hourly"] == 0
    assert rows(store, "SELECT settle_seq FROM usage_hourly ORDER BY ALL") == [(1,), (2,)]


def test_folding_keeps_to_its_window(store: Store) -> None:
    """Rows of a bucket outside [start, end) stay as they are."""
    for seq in (1, 2):
        add_usage(store, seq, "t-a", 1, 0)
    assert fold_rollups(store, MONTH)["usage_hourly"] == 0


def test_a_fold_that_fails_leaves_the_rows(store: Store) -> None:
    """Two sums that do not fit a BIGINT: an error, and both rows are still there."""
    for seq in (1, 2):
        add_usage(store, seq, "t-a", 2**62, 2)
    with pytest.raises(Exception, match=r"(?i)out of range|overflow"):
        fold_rollups(store, MONTH)
    assert rows(store, "SELECT count(*) FROM usage_hourly") == [(2,)]


def test_only_the_last_watermark_of_a_node_stays(store: Store) -> None:
    """Greatest watermark and greatest time of hearing, for each node, stage and pool."""
    for seconds in (-60, -30, -45):
        send(store, batch(node="p1", stage="prefill", watermark_at=at(seconds)))
    send(store, batch(node="d1", stage="decode", watermark_at=at(-10)))
    fold_watermarks(store)
    query = "SELECT node_id, watermark_at FROM node_watermark ORDER BY ALL"
    expected = [("d1", at(-10).replace(tzinfo=None)), ("p1", at(-30).replace(tzinfo=None))]
    assert rows(store, query) == expected


@pytest.mark.parametrize(("folded_days_back", "left"), [(None, 3), (20, 2), (0, 1)])
def test_raw_samples_are_forgotten_once_they_are_folded(
    store: Store, folded_days_back: int | None, left: int
) -> None:
    """Samples 30, 15 and 1 day old; kept for 14 days, and until the fold has passed them."""
    cursor = store.cursor()
    for days in (30, 15, 1):
        old = (NOW - timedelta(days=days)).replace(tzinfo=None)
        cursor.execute(
            "INSERT INTO node_sample BY NAME SELECT $1 AS ingested_at, $1 AS sampled_at, "
            "'p1' AS node_id, 'x' AS source",
            [old],
        )
    if folded_days_back is not None:
        folded = (NOW - timedelta(days=folded_days_back)).replace(tzinfo=None)
        cursor.execute("UPDATE progress SET sampled_through_at = $1", [folded])
    assert forget_samples(store, NOW) == 3 - left
    assert rows(store, "SELECT count(*) FROM node_sample") == [(left,)]


def test_a_backup_opens_as_a_store_of_its_own(tmp_path: Path) -> None:
    """Every row, and the primary key that keeps foreign ids apart."""
    store = open_store(tmp_path / "it's.duckdb")
    send(store, batch(leg("a"), leg("", event_id="x"), foreign=False), batch(leg("b")))
    send(store, batch(leg("", event_id="mine"), foreign=True))
    file = back_up(store, tmp_path / "backups", NOW)
    assert file.name == "usage-20260601T120000Z.duckdb"
    copy = open_store(file)
    assert rows(copy, "SELECT count(*) FROM leg") == [(3,)]
    assert send(copy, batch(leg("", event_id="mine"), foreign=True))[0].duplicate == 1
    copy.close()
    store.close()


def test_the_store_keeps_its_owner_through_a_backup(tmp_path: Path, root: Path) -> None:
    """To open and close the file in this process would drop the lock and let a second owner in."""
    store = open_store(tmp_path / "usage.duckdb")
    back_up(store, tmp_path, NOW)
    ask = f"import duckdb; duckdb.connect({str(store.path)!r})"
    said = subprocess.run([sys.executable, "-c", ask], cwd=root, capture_output=True, check=False)
    assert b"Could not set lock" in said.stderr
    store.close()


def test_no_half_backup_is_left_behind(tmp_path: Path) -> None:
    """No room for the copy: an error that says so, an empty folder, and a store that works."""
    store = open_store(tmp_path / "usage.duckdb")
    send(store, batch(*(leg(str(n)) for n in range(500))))
    folder = tmp_path / "backups"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(BackupFailed, match="has room for the whole store"):
            back_up(store, folder, NOW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert list(folder.iterdir()) == []
    assert send(store, batch(leg("after")))[0].accepted == 1
    back_up(store, folder, NOW)
    with pytest.raises(BackupFailed, match="exists"):
        back_up(store, folder, NOW)
    store.close()


def test_a_checkpoint_empties_the_log(tmp_path: Path) -> None:
    """Nothing is left to replay."""
    store = open_store(tmp_path / "usage.duckdb")
    send(store, batch(leg("a")))
    log = tmp_path / "usage.duckdb.wal"
    assert log.stat().st_size > 0
    checkpoint(store)
    assert not log.exists() or log.stat().st_size == 0
    store.close()
