"""The one thread that writes usage: many requests, one transaction; answered after COMMIT.

An id is taken and its row stored by the same transaction, and nobody hears of success before that
transaction is durable: a failed or killed write takes no id with it (docs/architecture.md, V3, V4).
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from itertools import product
from typing import Any

import duckdb
import structlog

from metering.errors import BatchTooLarge, StoreBusy, StoreUnavailable
from metering.store.append import append_legs, append_samples
from metering.store.batches import Answer, Batch, LegBatch, SampleBatch
from metering.store.connect import Store
from metering.store.write_probe import prove_writable

# What a disk or a database in trouble raises; anything else is the fault of one batch.
STORAGE_FAILURES = (
    StoreUnavailable,
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.TransactionException,
    duckdb.ConnectionException,
)
Append = Callable[..., list[Answer]]
APPENDS: Mapping[type[Batch], Append] = {LegBatch: append_legs, SampleBatch: append_samples}
PROBE_SECONDS = 5.0  # between two tries of a store that could not be written
log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLimits:
    """Bounds of what waits, and of one transaction."""

    records: int = 400_000  # waiting; beyond it senders hear 429
    batches: int = 2_000
    commit_records: int = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterStatus:
    """How the writer stands. failure: why the last write failed; None: it worked."""

    waiting_batches: int
    waiting_records: int
    commits: int
    last_commit_at: datetime | None  # UTC
    failure: str | None


@dataclass(frozen=True, slots=True)
class _Submission:
    batch: Batch
    answer: Future[Answer]


class IngestWriter:
    """Takes batches, commits them in groups, answers each.

    clock: UTC now. `committed` is set after each commit that stored something; whoever works on
    what arrived waits for it and clears it. After a failure the store is tried every
    `probe_seconds`, so that `status` tells of the recovery though nobody sends anything.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        *,
        limits: QueueLimits | None = None,
        probe_seconds: float = PROBE_SECONDS,
        committed: threading.Event | None = None,
    ) -> None:
        self.committed = committed or threading.Event()
        self._store = store
        self._clock = clock
        self._limits = limits or QueueLimits()
        self._probe_seconds = probe_seconds
        self._queue: deque[_Submission] = deque()
        self._waiting_records = 0
        self._changed = threading.Condition()
        self._is_closing = False
        self._commits = 0
        self._last_commit_at: datetime | None = None
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="ingest-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: Batch) -> Future[Answer]:
        """Queue `batch`; the future is answered once it is durable, or fails if it is not stored.

        Never waits. Raises StoreBusy if too much is queued, StoreUnavailable after close().
        """
        future: Future[Answer] = Future()
        with self._changed:
            self._require_room(batch.records)
            self._queue.append(_Submission(batch, future))
            self._waiting_records += batch.records
            self._changed.notify()
        return future

    def require_room(self) -> None:
        """Raise what `submit` would raise for the smallest batch: asked before a body is read."""
        with self._changed:
            self._require_room(0)

    def status(self) -> WriterStatus:
        """How the writer stands now."""
        with self._changed:
            return WriterStatus(
                waiting_batches=len(self._queue),
                waiting_records=self._waiting_records,
                commits=self._commits,
                last_commit_at=self._last_commit_at,
                failure=self._failure,
            )

    def close(self) -> None:
        """Take nothing more, write what waits, stop the thread."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()

    def _require_room(self, records: int) -> None:
        if self._is_closing:
            raise StoreUnavailable("the server is stopping; send the batch again later")
        too_much = self._waiting_records + records > self._limits.records
        if self._queue and (too_much or len(self._queue) >= self._limits.batches):
            raise StoreBusy(
                f"{self._waiting_records:,} records wait to be written; nothing of this batch was "
                "taken: send it again after the seconds in Retry-After"
            )

    def _run(self) -> None:
        while group := self._next_group():
            wanted = [one for one in group if one.answer.set_running_or_notify_cancel()]
            for (kind, append), imported in product(APPENDS.items(), (False, True)):
                part = [
                    one
                    for one in wanted
                    if isinstance(one.batch, kind) and one.batch.imported is imported
                ]
                if part:
                    self._commit(part, append)

    def _next_group(self) -> list[_Submission]:
        """What is committed together: all that waits, up to the limit; empty: the end."""
        while not self._await_work():
            self._probe()
        group: list[_Submission] = []
        records = 0
        with self._changed:
            while self._queue:
                records += self._queue[0].batch.records
                if group and records > self._limits.commit_records:
                    break
                group.append(self._queue.popleft())
                self._waiting_records -= group[-1].batch.records
        return group

    def _await_work(self) -> bool:
        """True: there is something to write, or the end; False: it is time to try the store."""
        with self._changed:
            seconds = None if self._failure is None else self._probe_seconds
            return self._changed.wait_for(lambda: bool(self._queue) or self._is_closing, seconds)

    def _commit(self, group: Sequence[_Submission], append: Append) -> None:
        """Write `group` and answer it; if a batch spoils it, each is written on its own."""
        try:
            with self._store.write_lock, self._store.cursor() as cursor:
                now = self._clock()
                batches = [one.batch for one in group]
                check = None if batches[0].imported else now
                answers = append(cursor, batches, now, check_clock=check)
        except STORAGE_FAILURES as error:
            self._fail(group, error)
        except Exception as error:  # noqa: BLE001 - the thread lives on; the sender hears of it
            if len(group) == 1:
                self._refuse(group[0], error)
                return
            for one in group:
                self._commit([one], append)
        else:
            self._succeed(group, answers, now)

    def _succeed(
        self, group: Sequence[_Submission], answers: Sequence[Answer], now: datetime
    ) -> None:
        with self._changed:
            self._commits += 1
            self._last_commit_at, self._failure = now, None
        for one, answer in zip(group, answers, strict=True):
            one.answer.set_result(answer)
        self.committed.set()

    def _fail(self, group: Sequence[_Submission], error: Exception) -> None:
        """The store cannot be written: nothing of `group` is stored, all of it is sent again."""
        with self._changed:
            self._failure = str(error)
        for one in group:
            one.answer.set_exception(
                StoreUnavailable(
                    f"the usage store could not be written ({error}); nothing of this batch was "
                    "stored: free or repair the disk, and send it again"
                )
            )
        _log("usage_commit_failed", batches=len(group), error=str(error))

    def _probe(self) -> None:
        """Whether the store can be written again; a failure of any kind means that it cannot."""
        failure: str | None = None
        try:
            with self._store.write_lock, self._store.cursor() as cursor:
                prove_writable(cursor)
        except (*STORAGE_FAILURES, duckdb.Error) as error:
            failure = str(error)
        with self._changed:
            self._failure = failure

    def _refuse(self, one: _Submission, error: Exception) -> None:
        """The store works, but not with this batch."""
        if isinstance(error, duckdb.OutOfMemoryException):
            error = BatchTooLarge(
                "the batch needs more memory than the store has: send smaller ones"
            )
        one.answer.set_exception(error)
        _log("usage_batch_failed", records=one.batch.records, exc_info=error)


def _log(event: str, **measured: Any) -> None:
    """Log an error. The disk that fails the store may hold the log too: the thread lives on."""
    with contextlib.suppress(OSError):
        log.error(event, **measured)
