"""Jobs: APScheduler wakes, the ledger says what is due, a claim makes it run once.

The schedule is only a wake-up call: a missed one, a second process, a clock change or a restart
changes nothing, because (job, period) is claimed in the ledger before the work begins.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import structlog
from apscheduler.schedulers.background import BackgroundScheduler

from metering.windows import parse_month
from pricing.api.services import ReadUsage
from pricing.errors import Conflict, NotFound
from pricing.exports.places import Place
from pricing.ledger.connect import Ledger
from pricing.ledger.job_runs import LEASE, JobRun, claim, find_run, finish, renew
from pricing.ledger.tables import RunState
from pricing.runs.close_jobs import Job, months_over
from pricing.runs.export_month import first_usage_at, gather_month, write_month

LOG: Final = structlog.get_logger()
MONTHLY_EXPORT: Final = "monthly_export"
RETRY_AFTER: Final = timedelta(hours=1)  # a job that failed is tried again this much later


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of one home. clock: aware UTC now. zone: whose months the house exports.

    more: further jobs, run after the exports. renew_seconds: how often a claim is extended.
    """

    ledger: Ledger
    read_usage: ReadUsage
    clock: Callable[[], datetime]
    exports: Place
    zone: ZoneInfo
    more: tuple[Job, ...] = field(default_factory=tuple)
    renew_seconds: float = LEASE.total_seconds() / 3

    def scheduler(self, wake_seconds: int) -> BackgroundScheduler:
        """A scheduler that wakes the jobs at once and then every `wake_seconds`."""
        waker = BackgroundScheduler(timezone="UTC")
        waker.add_job(
            self.run_due,
            "interval",
            seconds=wake_seconds,
            next_run_time=self.clock(),
            misfire_grace_time=None,
            coalesce=True,
        )
        return waker

    def run_due(self) -> None:
        """Run whatever is due and not done; one failure does not keep the next from running."""
        for month in self.due_months():
            self.export(month)
        for job in self.more:
            for period in job.due(self.clock()):
                if self._is_open(job.name, period):
                    self.run(job, period)

    def retry(self, job: str, period: str, *, again: bool = False) -> JobRun:
        """Run a job of a period now; the run as it ended, done or failed.

        again: also one that was done. Raises NotFound, and Conflict while it is done or running.
        """
        with self.ledger.read() as connection:
            known = find_run(connection, job, period=period)
        others = {each.name: each for each in self.more}
        if known is None or (job != MONTHLY_EXPORT and job not in others):
            raise NotFound(f"The job {job!r} was never run for {period!r}.")
        if job in others:
            run = self.run(others[job], period, again=again)
        else:
            run = self.export(parse_month(period), again=again)
        if run is None:
            raise Conflict(
                f"The job {job!r} is {known.state} for {period}.",
                remedy='Send {"again": true} to repeat a job that is done; wait for one that runs.',
            )
        return run

    def due_months(self) -> Iterator[date]:
        """Months with or after the first usage that are over and not exported, the oldest first."""
        first = self.read_usage(first_usage_at)
        for month in months_over(first, self.zone, self.clock()):
            if self._is_open(MONTHLY_EXPORT, f"{month:%Y-%m}"):
                yield month

    def export(self, month: date, *, again: bool = False) -> JobRun | None:
        """Export a month; None if it is done already or somebody else is at it.

        again: replace the files of a month that was exported before.
        """
        period = f"{month:%Y-%m}"
        return self._claimed(MONTHLY_EXPORT, period, lambda: self._export(month), again=again)

    def run(self, job: Job, period: str, *, again: bool = False) -> JobRun | None:
        """Run a job for a period; None if it is done already or somebody else is at it."""
        return self._claimed(job.name, period, lambda: job.run(period, self.clock()), again=again)

    def _is_open(self, job: str, period: str) -> bool:
        """Whether a period is to be run now: never run, or failed long enough ago."""
        with self.ledger.read() as connection:
            run = find_run(connection, job, period=period)
        if run is None or run.state == RunState.RUNNING:
            return True  # a claim that somebody holds is refused
        has_waited = run.finished_at is None or run.finished_at + RETRY_AFTER <= self.clock()
        return run.state == RunState.FAILED and has_waited

    def _claimed(
        self, job: str, period: str, work: Callable[[], dict[str, Any]], *, again: bool
    ) -> JobRun | None:
        """Do the work under a claim; a failure is on record, and a later wake-up tries again."""
        owner = f"{socket.gethostname()}:{os.getpid()}"
        with self.ledger.write(actor="jobs", at=self.clock()) as change:
            run = claim(change, job, period=period, owner=owner, again=again)
        if run is None:
            return None
        outcome, failure = None, None
        try:
            with self._held(run):
                outcome = work()
        except Exception as error:  # the outermost loop of a job: whoever woke it goes on
            LOG.exception("job_failed", job=job, period=period)
            failure = str(error)
        with self.ledger.write(actor="jobs", at=self.clock()) as change:
            finish(change, run, outcome=outcome, error=failure)
            return find_run(change.connection, job, period=period)

    @contextmanager
    def _held(self, run: JobRun) -> Iterator[None]:
        """Extend the claim while the work goes on, however long: nobody takes it for dead."""
        is_over = threading.Event()

        def hold() -> None:
            while not is_over.wait(self.renew_seconds):
                with self.ledger.write(actor="jobs", at=self.clock()) as change:
                    if not renew(change, run):
                        return

        holder = threading.Thread(target=hold, name=f"hold {run.job}", daemon=True)
        holder.start()
        try:
            yield
        finally:
            is_over.set()
            holder.join()

    def _export(self, month: date) -> dict[str, Any]:
        tables = self.read_usage(lambda cursor: gather_month(cursor, month, self.zone))
        manifest = write_month(tables, month, self.exports)
        LOG.info("month_exported", period=f"{month:%Y-%m}", files=len(manifest["files"]))
        return manifest
