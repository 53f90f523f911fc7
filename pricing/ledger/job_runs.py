"""Runs of jobs: the claim that makes one job run once for one period, whoever wakes up."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert, select, update

from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_page
from pricing.ledger.tables import RunState, job_run
from pricing.scope import Scope

LEASE = timedelta(minutes=15)  # a run that has not said so for this long is taken for dead


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """A job for one period: who holds it, until when, and how it ended."""

    job: str
    period: str
    state: str
    claimed_by: str
    lease_until: datetime
    attempts: int
    started_at: datetime
    finished_at: datetime | None = None
    outcome: dict[str, Any] | None = None
    error: str | None = None

    @property
    def duration_seconds(self) -> float | None:
        """How long it took; None while it runs."""
        if self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()


def claim(
    change: Change, job: str, *, period: str, owner: str, again: bool = False
) -> JobRun | None:
    """The run, if it is ours now; None if it is done or another owner is at it.

    A failed run, and a running one whose lease has ended, may be claimed anew; a done one only
    with `again`. The lease lasts LEASE from the change's time; `renew` extends it.
    """
    old = find_run(change.connection, job, period=period)
    if old is not None:
        held = old.state == RunState.RUNNING and old.lease_until > change.at
        finished = old.state == RunState.DONE and not again
        if held or finished:
            return None
    row = {
        "state": RunState.RUNNING,
        "claimed_by": owner,
        "lease_until": change.at + LEASE,
        "attempts": old.attempts + 1 if old else 1,
        "started_at": change.at,
        "finished_at": None,
        "outcome": None,
        "error": None,
    }
    if old is None:
        change.connection.execute(insert(job_run).values(job=job, period=period, **row))
    else:
        _update(change, job, period, row)
    return find_run(change.connection, job, period=period)


def renew(change: Change, run: JobRun) -> bool:
    """Extend the lease; False if another owner has taken the run, so that this one must stop."""
    now = find_run(change.connection, run.job, period=run.period)
    if now is None or not _same_claim(now, run):
        return False
    _update(change, run.job, run.period, {"lease_until": change.at + LEASE})
    return True


def finish(
    change: Change, run: JobRun, *, outcome: dict[str, Any] | None = None, error: str | None = None
) -> bool:
    """Record how a run ended: done, or failed with `error`; False if another owner has taken it."""
    now = find_run(change.connection, run.job, period=run.period)
    if now is None or not _same_claim(now, run):
        return False
    state = RunState.DONE if error is None else RunState.FAILED
    ending = {"state": state, "finished_at": change.at, "outcome": outcome, "error": error}
    _update(change, run.job, run.period, ending)
    return True


def find_run(connection: Connection, job: str, *, period: str) -> JobRun | None:
    """The run of a job for a period, if it was ever claimed."""
    query = select(job_run).where(job_run.c.job == job, job_run.c.period == period)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else JobRun(**row)


def list_runs(connection: Connection, page: Page) -> list[JobRun]:
    """Runs, those started last first."""
    by = [job_run.c.started_at, job_run.c.job, job_run.c.period]
    query = all_of(job_run, Scope.house())
    return fetch_page(connection, query, JobRun, by=by, page=page, descending=True)


def _same_claim(now: JobRun, run: JobRun) -> bool:
    claims = [(each.claimed_by, each.attempts, each.state) for each in (now, run)]
    return claims[0] == claims[1]


def _update(change: Change, job: str, period: str, row: dict[str, Any]) -> None:
    of_run = (job_run.c.job == job) & (job_run.c.period == period)
    change.connection.execute(update(job_run).where(of_run).values(**row))
