"""The writer: groups, answers, bounds, failures."""

from concurrent.futures import wait
from time import sleep

import pytest

from metering.collector.writer import IngestWriter, QueueLimits
from metering.errors import StoreBusy, StoreUnavailable
from metering.store.batches import SampleBatch
from metering.store.connect import Store
from metering.wire import SAMPLE_SCHEMA
from tests.metering.store.leg_rows import NOW, batch, counts, leg, rows

WAIT_SECONDS = 30


def test_each_batch_of_a_group_gets_its_own_answer(store: Store, writer: IngestWriter) -> None:
    """Three batches wait while the lock is held elsewhere: one commit, answers in order."""
    with store.write_lock:
        answers = [
            writer.submit(batch(leg("a"))),
            writer.submit(batch(leg("b"), leg("a"))),
            writer.submit(batch(leg("c", stage="x"))),
        ]
    results = [counts(answer.result(WAIT_SECONDS)) for answer in answers]
    assert results == [(1, 0, 0, 0, 0), (1, 1, 0, 0, 0), (0, 0, 0, 0, 1)]


def test_what_waits_is_committed_together(store: Store, writer: IngestWriter) -> None:
    """20 batches behind a held lock take at most two transactions, not 20."""
    with store.write_lock:
        answers = [writer.submit(batch(leg(str(n)))) for n in range(20)]
    assert all(answer.result(WAIT_SECONDS).accepted == 1 for answer in answers)
    assert writer.status().commits <= 2
    assert rows(store, "SELECT count(DISTINCT ingest_seq) FROM leg") == [(20,)]


def test_nobody_is_answered_before_the_commit(store: Store, writer: IngestWriter) -> None:
    """V4: while the store is locked there is no success; afterwards the rows are readable."""
    with store.write_lock:
        answer = writer.submit(batch(leg("a")))
        assert not wait([answer], timeout=0.2).done
    answer.result(WAIT_SECONDS)
    assert rows(store, "SELECT count(*) FROM leg") == [(1,)]


def test_a_full_queue_says_so_at_once(store: Store) -> None:
    """Limit 10 records: one batch is on its way to the store, 8 records wait, 9 are too many."""
    writer = IngestWriter(store, lambda: NOW, limits=QueueLimits(records=10))
    with store.write_lock:
        first = writer.submit(batch(leg("a")))
        while writer.status().waiting_batches:
            sleep(0.001)  # until the writer has taken it and waits for the lock
        second = writer.submit(batch(*(leg(str(n)) for n in range(8))))
        with pytest.raises(StoreBusy, match="send it again after"):
            writer.submit(batch(*(leg(f"x{n}") for n in range(9))))
    assert (first.result(WAIT_SECONDS).accepted, second.result(WAIT_SECONDS).accepted) == (1, 8)
    writer.close()


def test_close_writes_what_waits(store: Store) -> None:
    """LiteLLM issue 38157 lost accepted rows on a clean stop; here they are written first."""
    writer = IngestWriter(store, lambda: NOW)
    answers = [writer.submit(batch(leg(str(n)))) for n in range(50)]
    writer.close()
    assert all(answer.done() for answer in answers)
    assert rows(store, "SELECT count(*) FROM leg") == [(50,)]
    with pytest.raises(StoreUnavailable, match="stopping"):
        writer.submit(batch(leg("late")))


def test_a_batch_that_cannot_be_written_fails_alone(store: Store, writer: IngestWriter) -> None:
    """One poison batch never blocks the rest: here a table without the contract's columns."""
    poison = batch(leg("a")).table.select(["event_id", "stage"])
    with store.write_lock:
        good = writer.submit(batch(leg("b")))
        bad = writer.submit(batch(table=poison))
        other = writer.submit(batch(leg("c")))
    assert (good.result(WAIT_SECONDS).accepted, other.result(WAIT_SECONDS).accepted) == (1, 1)
    assert bad.exception(WAIT_SECONDS) is not None
    assert rows(store, "SELECT count(*) FROM leg") == [(2,)]


def test_a_cancelled_batch_is_not_written(store: Store, writer: IngestWriter) -> None:
    """A client that left before its batch was taken sends it again; either way it counts once."""
    with store.write_lock:
        writer.submit(batch(leg("a")))
        left = writer.submit(batch(leg("b")))
        was_cancelled = left.cancel()
    writer.close()
    assert rows(store, "SELECT count(*) FROM leg") == [(1 if was_cancelled else 2,)]


def test_legs_and_samples_share_the_writer(store: Store, writer: IngestWriter) -> None:
    """Two kinds in one group: each has its transaction and its answer."""
    sample = SampleBatch(table=SAMPLE_SCHEMA.empty_table(), sender="key-1")
    with store.write_lock:
        answers = [writer.submit(sample), writer.submit(batch(leg("a")))]
    assert [answer.result(WAIT_SECONDS).accepted for answer in answers] == [0, 1]
    assert writer.committed.is_set()


def test_status_tells_what_waits_and_when_it_last_worked(writer: IngestWriter) -> None:
    """/health and /metrics read it."""
    writer.submit(batch(leg("a"))).result(WAIT_SECONDS)
    status = writer.status()
    assert (status.commits, status.last_commit_at, status.failure) == (1, NOW, None)
    assert (status.waiting_batches, status.waiting_records) == (0, 0)
