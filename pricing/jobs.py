"""Jobs: APScheduler wakes, the ledger says what is due, a claim makes it run once.

The schedule is only a wake-up call: a missed one, a second process, a clock change or a restart
changes nothing, because (job, period) is claimed in the ledger before the work begins.
"""

import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import structlog
from apscheduler.schedulers.background import BackgroundScheduler

from metering.windows import month_of, month_window, next_month, parse_month
from pricing.api.services import ReadUsage
from pricing.errors import Conflict, NotFound
from pricing.ledger.connect import Ledger
from pricing.ledger.job_runs import JobRun, claim, find_run, finish
from pricing.ledger.tables import RunState
from pricing.runs.export_month import first_usage_at, gather_month, write_month

LOG: Final = structlog.get_logger()
MONTHLY_EXPORT: Final = "monthly_export"
MONTHS_BACK: Final = 12  # how far a job catches up after a long downtime
SETTLING: Final = timedelta(hours=6)  # after a month's end, for late halves to come in


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of one home. clock: aware UTC now. zone: whose months the house exports."""

    ledger: Ledger
    read_usage: ReadUsage
    clock: Callable[[], datetime]
    exports_folder: Path
    zone: ZoneInfo

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

    def retry(self, job: str, period: str, *, again: bool = False) -> JobRun:
        """Run a job of a period now; the run as it ended, done or failed.

        again: also one that was done. Raises NotFound, and Conflict while it is done or running.
        """
        with self.ledger.read() as connection:
            known = find_run(connection, job, period=period)
        if known is None or job != MONTHLY_EXPORT:
            raise NotFound(f"The job {job!r} was never run for {period!r}.")
        run = self.export(parse_month(period), again=again)
        if run is None:
            raise Conflict(
                f"The job {job!r} is {known.state} for {period}.",
                remedy='Send {"again": true} to repeat a job that is done; wait for one that runs.',
            )
        return run

    def due_months(self) -> Iterator[date]:
        """Months with or after the first usage that are over and not exported, the oldest first."""
        now = self.clock()
        first = self.read_usage(first_usage_at)
        if first is None:
            return
        month = month_of(max(first, now - timedelta(days=31 * MONTHS_BACK)), self.zone)
        while month_window(month, self.zone).end_at + SETTLING <= now:
            with self.ledger.read() as connection:
                run = find_run(connection, MONTHLY_EXPORT, period=f"{month:%Y-%m}")
            if run is None or run.state != RunState.DONE:
                yield month
            month = next_month(month)

    def export(self, month: date, *, again: bool = False) -> JobRun | None:
        """Export a month; None if it is done already or somebody else is at it.

        A failure is on record, and the next wake-up tries again. again: replace the files of a
        month that was exported before.
        """
        period, owner = f"{month:%Y-%m}", f"{socket.gethostname()}:{os.getpid()}"
        with self.ledger.write(actor="jobs", at=self.clock()) as change:
            run = claim(change, MONTHLY_EXPORT, period=period, owner=owner, again=again)
        if run is None:
            return None
        outcome, failure = None, None
        try:
            outcome = self._export(month)
        except Exception as error:  # the outermost loop of a job: whoever woke it goes on
            LOG.exception("job_failed", job=MONTHLY_EXPORT, period=period)
            failure = str(error)
        with self.ledger.write(actor="jobs", at=self.clock()) as change:
            finish(change, run, outcome=outcome, error=failure)
            return find_run(change.connection, MONTHLY_EXPORT, period=period)

    def _export(self, month: date) -> dict[str, Any]:
        tables = self.read_usage(lambda cursor: gather_month(cursor, month, self.zone))
        manifest = write_month(tables, month, self.exports_folder)
        LOG.info("month_exported", period=f"{month:%Y-%m}", files=len(manifest["files"]))
        return manifest
