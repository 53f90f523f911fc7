"""The settler's thread: everything that changes pricing's tables, one thing at a time.

It settles new legs as they come, gives up orphans, rates open requests anew when a book was
published, folds roll-ups, and runs what others ask of it (close, what-if) between two batches.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

import duckdb
import structlog

from metering.store.connect import Store
from metering.store.maintenance import tidy
from pricing.runs.reprice import needs_repricing, reprice_open
from pricing.runs.sample_hours import fold_samples
from pricing.runs.settle import Rules, settle_due, settle_new

LOG: Final = structlog.get_logger()
WAKE_SECONDS: Final = 1.0  # without a call it looks for new legs this often
GATHER_SECONDS: Final = 0.05  # what arrives together is settled together
DUE_EVERY: Final = timedelta(seconds=60)  # orphans and node samples
TIDY_EVERY: Final = timedelta(hours=1)
TIDY_REACH: Final = timedelta(days=1)
TIDY_REACH_DAILY: Final = timedelta(days=100)  # late halves and new prices add rows to old hours
RETRY_SECONDS: Final = 5.0  # after a failure; the batch is tried again as it was
Answer = TypeVar("Answer")
Task = Callable[[duckdb.DuckDBPyConnection, Rules], Any]


@dataclass(slots=True)
class SettlerState:
    """What health pages say of the settler. Times are aware UTC."""

    settled_through_seq: int = 0
    last_success_at: datetime | None = None
    last_error: str | None = None
    batches: int = 0


@dataclass(slots=True)
class Settler:
    """One thread, one cursor. rules_at: the rules in force at a UTC time. clock: the time now."""

    store: Store
    rules_at: Callable[[datetime], Rules]
    clock: Callable[[], datetime]
    state: SettlerState = field(default_factory=SettlerState)
    woken: threading.Event = field(default_factory=threading.Event)  # set: there is something to do
    _stop: threading.Event = field(default_factory=threading.Event)
    _tasks: SimpleQueue[tuple[Task, Future[Any]]] = field(default_factory=SimpleQueue)
    _thread: threading.Thread | None = None
    _due_at: datetime | None = None
    _tidied_at: datetime | None = None

    def start(self) -> None:
        """Begin settling."""
        self._thread = threading.Thread(target=self._loop, name="settler", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that there is something to do; cheap, from any thread."""
        self.woken.set()

    def call(self, task: Callable[[duckdb.DuckDBPyConnection, Rules], Answer]) -> Future[Answer]:
        """Run `task` with the settler's cursor between two batches."""
        future: Future[Answer] = Future()
        self._tasks.put((task, future))
        self.wake()
        return future

    def close(self) -> None:
        """Finish the batch at hand and stop."""
        self._stop.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()

    def _loop(self) -> None:
        while not self._stop.is_set():
            pause = WAKE_SECONDS
            try:
                self._work()
                self.state.last_error = None
                self.state.last_success_at = self.clock()
            except Exception as error:  # the outermost loop: a batch that failed is tried again
                self.state.last_error = str(error)
                LOG.exception("settlement_failed", settled_through=self.state.settled_through_seq)
                pause = RETRY_SECONDS
            if self.woken.wait(pause):
                self._stop.wait(GATHER_SECONDS)
            self.woken.clear()

    def _work(self) -> None:
        """Settle all there is, then what was asked for, then what is due."""
        cursor = self.store.cursor()
        try:
            while not self._stop.is_set():
                rules = self.rules_at(self.clock())
                self._reprice(cursor, rules)
                with self.store.settle_lock:
                    report = settle_new(cursor, rules, now=self.clock())
                self.state.settled_through_seq = report.settled_through_seq
                self._answer_tasks(cursor, rules)
                if not report.legs:
                    break
                self.state.batches += 1
            self._do_due(cursor, self.rules_at(self.clock()))  # a close may have run just now
        finally:
            cursor.close()

    def _reprice(self, cursor: duckdb.DuckDBPyConnection, rules: Rules) -> None:
        if needs_repricing(cursor, rules):
            with self.store.settle_lock:
                days = reprice_open(cursor, rules, now=self.clock(), stopped=self._stop.is_set)
                changes = list(days)
            LOG.info(
                "open_requests_repriced",
                catalogue=rules.prices.catalogue_id,
                requests=sum(change.requests for change in changes),
                tenants=len({change.tenant_id for change in changes}),
            )

    def _answer_tasks(self, cursor: duckdb.DuckDBPyConnection, rules: Rules) -> None:
        while True:
            try:
                task, future = self._tasks.get_nowait()
            except Empty:
                return
            if not future.set_running_or_notify_cancel():
                continue
            try:
                with self.store.settle_lock:
                    future.set_result(task(cursor, rules))
            except Exception as error:  # noqa: BLE001 - the asker gets it, whatever it is
                future.set_exception(error)

    def _do_due(self, cursor: duckdb.DuckDBPyConnection, rules: Rules) -> None:
        now = self.clock()
        if self._due_at is not None and now < self._due_at:
            return
        with self.store.settle_lock:
            settle_due(cursor, rules, now=now)
            fold_samples(cursor, now=now)
        self._due_at = now + DUE_EVERY
        if self._tidied_at is None or now - self._tidied_at >= TIDY_EVERY:
            self._tidy(now)

    def _tidy(self, now: datetime) -> None:
        """Once an hour the last day, once a day everything that may still change."""
        is_new_day = self._tidied_at is not None and self._tidied_at.date() != now.date()
        self._tidied_at = now  # first: what fails is tried again in an hour, not at once
        fewer = tidy(self.store, now, reach=TIDY_REACH_DAILY if is_new_day else TIDY_REACH)
        LOG.info("store_tidied", rows_folded=sum(fewer.values()))
