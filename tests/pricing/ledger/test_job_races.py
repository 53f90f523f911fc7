"""Jobs of several processes on one ledger: each (job, period) runs once, and a killed run goes on.

The processes are real, on SQLite and on PostgreSQL; the ledger's claim is all that they share.
"""

import multiprocessing
import sys
import time
from datetime import timedelta
from types import ModuleType

import pytest

from pricing.jobs import MONTHLY_EXPORT
from pricing.ledger.closes import DAILY_RECONCILIATION
from pricing.ledger.job_runs import LEASE, list_runs
from pricing.ledger.rows import Page
from pricing.runs.close_jobs import DailyCheck, DailyReconciliation, MonthlyClose, WeeklyBackup
from tests.pricing.job_worker import AUGUST_2, PERIODS, WrittenAnew, jobs_of, run_due

RUNNERS = 4
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.pricing.job_worker"])


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """Children run `__main__` anew, and a page's test may have left its page there."""
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))


@pytest.fixture
def notes(tmp_path):
    """The file in which every run leaves a line."""
    (tmp_path / "notes").touch()
    return tmp_path / "notes"


def started(*given, **change):
    """A process that wakes up once."""
    process = PROCESSES.Process(target=run_due, args=given, kwargs=change)
    process.start()
    return process


def runs_of(ledger):
    """Period → the job's run."""
    with ledger.read() as connection:
        return {run.period: run for run in list_runs(connection, Page(100))}


def noted(notes):
    """The period of each run that began, in order."""
    return [line.split()[0] for line in notes.read_text().splitlines()]


def test_processes_that_wake_at_once_run_a_job_once(url, ledger, notes):
    """Four processes, three months due: three lines, each run's first and only attempt."""
    pipes = [PROCESSES.Pipe() for _ in range(RUNNERS)]
    processes = [started(url, notes, theirs) for _, theirs in pipes]
    assert [ours.recv() for ours, _ in pipes] == ["ready"] * RUNNERS
    for ours, _ in pipes:
        ours.send("go")
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * RUNNERS
    assert sorted(noted(notes)) == sorted(PERIODS)
    found = [(run.period, run.state, run.attempts) for run in runs_of(ledger).values()]
    assert sorted(found) == [(period, "done", 1) for period in PERIODS]


def killed_in_its_first_run(url, notes):
    """A process that has begun May and is killed there by SIGKILL; its id."""
    process = started(url, notes, hangs=True)
    while not noted(notes):
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()
    return process.pid


def test_a_killed_run_is_taken_over_when_its_claim_has_ended(url, ledger, notes):
    """While the claim holds, others do June and July; after it, May is done as attempt 2."""
    pid = killed_in_its_first_run(url, notes)
    run_due(url, notes, now=AUGUST_2 + LEASE - timedelta(microseconds=1))
    assert noted(notes) == ["2026-05", "2026-06", "2026-07"]
    may = runs_of(ledger)["2026-05"]
    assert (may.state, may.attempts, may.claimed_by.endswith(f":{pid}")) == ("running", 1, True)
    for _ in range(2):
        run_due(url, notes, now=AUGUST_2 + LEASE)
    assert noted(notes) == ["2026-05", "2026-06", "2026-07", "2026-05"]
    may = runs_of(ledger)["2026-05"]
    assert (may.state, may.attempts, may.claimed_by.endswith(f":{pid}")) == ("done", 2, False)


def test_two_that_take_a_killed_run_over_at_once_do_it_once(url, ledger, notes):
    """Whoever claims May first after the kill is the only one."""
    killed_in_its_first_run(url, notes)
    others = [started(url, notes, now=AUGUST_2 + LEASE) for _ in range(2)]
    for process in others:
        process.join()
    assert sorted(noted(notes)) == sorted(["2026-05", *PERIODS])
    assert {run.state for run in runs_of(ledger).values()} == {"done"}


def test_a_job_that_is_written_anew_goes_on_where_it_was(url, ledger, notes):
    """Its name is what the ledger holds: May to July stay done, August is new."""
    run_due(url, notes)
    jobs_of(ledger, WrittenAnew(notes)).run_due()
    assert noted(notes) == [*PERIODS, "2026-08"]


def test_the_names_of_jobs_are_those_of_every_ledger_out_there():
    """Data, not code: with another name, every period that is done would be run again."""
    jobs = (MonthlyClose, DailyCheck, DailyReconciliation, WeeklyBackup)
    names = {job.__dataclass_fields__["name"].default for job in jobs}
    assert names == {"monthly_close", "daily_check", "daily_reconciliation", "weekly_backup"}
    assert (MONTHLY_EXPORT, DAILY_RECONCILIATION) == ("monthly_export", "daily_reconciliation")
