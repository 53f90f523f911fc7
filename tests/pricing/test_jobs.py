"""The monthly export: once per period, whoever wakes up, caught up after downtime."""

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest

from pricing.exports.places import Folder
from pricing.jobs import Jobs
from pricing.ledger.connect import Ledger
from pricing.ledger.job_runs import find_run
from pricing.ledger.upgrade import upgrade_ledger
from pricing.runs.close_jobs import months_over
from tests.pricing.settle.legs import at, fed, leg

AUGUST_2 = datetime(2026, 8, 2, tzinfo=UTC)


@pytest.fixture
def jobs(tmp_path):
    """Jobs over a store with two requests of June, as a process sees them on August 2."""
    url = f"sqlite:///{tmp_path / 'ledger.sqlite'}"
    upgrade_ledger(url)
    till = fed(leg("a"), leg("b", tenant_id="t-birch", started_at=at(60)))
    ledger = Ledger(url)
    yield Jobs(
        ledger=ledger,
        read_usage=lambda query: query(till.cursor),
        clock=lambda: AUGUST_2,
        exports=Folder(tmp_path / "exports"),
        zone=ZoneInfo("UTC"),
    )
    ledger.close()


def test_months_since_the_first_usage_are_exported_once(jobs):
    """June and July are over; a second wake-up finds nothing to do."""
    assert [f"{month:%Y-%m}" for month in jobs.due_months()] == ["2026-06", "2026-07"]
    jobs.run_due()
    assert list(jobs.due_months()) == []


def test_the_files_hold_what_tenants_owe_and_servers_earned(jobs):
    """By hand: two requests of 0.00168; servers and tenants sum alike (V7)."""
    jobs.run_due()
    folder = jobs.exports.path / "2026-06"
    sums = [
        sum(pq.read_table(folder / f"{name}.parquet").column("amount").to_pylist())
        for name in ("chargeback", "servers")
    ]
    assert sums == [Decimal("0.00336"), Decimal("0.00336")]
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert sorted(manifest["files"]) == sorted(
        f"{name}.{kind}" for name in ("chargeback", "servers") for kind in ("csv", "parquet")
    )


def test_a_done_month_runs_again_only_on_demand(jobs):
    """A repeat is a success that does nothing; `again` replaces the files."""
    june = next(iter(jobs.due_months()))
    assert jobs.export(june).state == "done"
    assert jobs.export(june) is None
    assert jobs.export(june, again=True).attempts == 2


class Slow:
    """A job that lasts until its claim was extended."""

    name = "slow"

    def __init__(self, ledger):
        self.ledger, self.claims = ledger, []

    def due(self, _now):
        """Once."""
        yield "2026-06"

    def run(self, period, _now):
        """Looks at its own claim until it has changed."""
        while len(set(self.claims)) < 2:
            with self.ledger.read() as connection:
                self.claims.append(find_run(connection, self.name, period=period).lease_until)
        return {}


def test_a_claim_is_extended_while_the_work_goes_on(jobs):
    """Each look at the clock is a minute later: the lease moves on, and the run ends done."""
    minutes = itertools.count()
    ticking = replace(
        jobs, clock=lambda: AUGUST_2 + timedelta(minutes=next(minutes)), renew_seconds=0.01
    )
    run = ticking.run(Slow(jobs.ledger), "2026-06")
    assert run.state == "done"
    assert run.duration_seconds >= 60


@pytest.mark.parametrize(
    ("zone", "ends"),
    [
        ("Europe/Berlin", ["2026-02-28T23:00", "2026-03-31T22:00", "2026-10-31T23:00"]),
        ("Asia/Kolkata", ["2026-02-28T18:30", "2026-03-31T18:30", "2026-10-31T18:30"]),
        ("Australia/Lord_Howe", ["2026-02-28T13:00", "2026-03-31T13:00", "2026-10-31T13:00"]),
        ("America/St_Johns", ["2026-03-01T03:30", "2026-04-01T02:30", "2026-11-01T02:30"]),
    ],
)
def test_a_month_is_due_once_whatever_the_clocks_do(zone, ends):
    """28 days, and clocks that change on March 29 and October 25 (elsewhere on other days).

    By hand from the offsets: due six hours after the end, and not a microsecond before.
    """
    first = datetime(2026, 2, 10, tzinfo=UTC)
    for month, end in zip(("2026-02", "2026-03", "2026-10"), ends, strict=True):
        due_at = datetime.fromisoformat(f"{end}+00:00") + timedelta(hours=6)
        just_before = due_at - timedelta(microseconds=1)
        due, early = (
            [f"{m:%Y-%m}" for m in months_over(first, ZoneInfo(zone), now)]
            for now in (due_at, just_before)
        )
        assert (due.count(month), month in early) == (1, False)
