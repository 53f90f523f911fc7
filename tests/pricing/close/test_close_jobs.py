"""The jobs of the ledger: due by what the ledger says, done once, tried again when they failed."""

from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from pricing.exports.places import Folder
from pricing.jobs import Jobs
from pricing.ledger.job_runs import find_run, list_runs
from pricing.ledger.rows import Page
from pricing.runs.close_jobs import (
    DailyCheck,
    DailyReconciliation,
    MonthlyClose,
    WeeklyBackup,
)
from tests.pricing.close.conftest import time, usage


class Clock:
    """A clock that tests move."""

    now = time("2026-06-20T00:00:00Z")

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def jobs(house, clock, tmp_path):
    """Jobs over a house with a tenant in Shanghai and one in UTC, each with a request of June."""
    for tenant_id, zone in (("t-alder", "Asia/Shanghai"), ("t-birch", "UTC")):
        house.tenant(tenant_id, zone)
        house.feed(usage("a", tenant_id, "2026-06-10T10:00:00Z"), now="2026-06-10T11:00:00Z")
    on_usage = lambda task: task(house.till.cursor)  # noqa: E731 - the store of the test
    close = MonthlyClose(
        ledger=house.ledger, read_usage=on_usage, write_usage=on_usage, house_zone=ZoneInfo("UTC")
    )
    check = DailyCheck(ledger=house.ledger, read_usage=on_usage)
    backup = WeeklyBackup(back_up=lambda: str(tmp_path / "backup"))
    return Jobs(
        ledger=house.ledger,
        read_usage=on_usage,
        clock=clock,
        exports=Folder(tmp_path / "exports"),
        zone=ZoneInfo("UTC"),
        more=(close, check, backup),
    )


def periods(house, job):
    """Period → state of the runs of a job."""
    with house.ledger.read() as connection:
        runs = list_runs(connection, Page(100))
    return {run.period: run.state for run in runs if run.job == job}


def test_each_zone_is_closed_when_its_month_is_over(house, jobs, clock):
    """Shanghai's June is over at 16:00 UTC, plus six hours; UTC's eight hours later."""
    jobs.run_due()
    assert periods(house, "monthly_close") == {}
    clock.now = time("2026-06-30T22:00:00Z")
    jobs.run_due()
    assert periods(house, "monthly_close") == {"2026-06@Asia:Shanghai": "done"}
    clock.now = time("2026-07-01T06:00:00Z")
    for _ in range(2):
        jobs.run_due()
    assert len(periods(house, "monthly_close")) == 2
    assert house.document("INV-000002")[0].net_amount == Decimal("2.00")


def test_downtime_of_three_months_is_made_up_for(house, jobs, clock):
    """June, July and August of two zones; the backup and the check of today alone."""
    clock.now = time("2026-09-02T12:00:00Z")
    jobs.run_due()
    assert len(periods(house, "monthly_close")) == 6
    assert periods(house, "daily_check") == {"2026-09-02": "done"}
    assert periods(house, "weekly_backup") == {"2026-W36": "done"}


def test_a_month_that_is_held_up_is_tried_again_after_an_hour(house, jobs, clock):
    """An unpriced request holds t-birch up until its price is published."""
    row = usage("x", "t-birch", "2026-06-11T10:00:00Z", model_id="m-new")
    house.feed(row, now="2026-06-11T11:00:00Z")
    clock.now = time("2026-07-01T06:00:00Z")
    for _ in range(3):
        jobs.run_due()
    with house.ledger.read() as connection:
        run = find_run(connection, "monthly_close", period="2026-06@UTC")
    assert (run.state, run.attempts) == ("failed", 1)
    assert "t-birch:unpriced" in run.error
    house.till.cursor.execute("DELETE FROM usage_hourly WHERE model_id = 'm-new'")
    clock.now += timedelta(hours=1)
    jobs.run_due()
    assert periods(house, "monthly_close")["2026-06@UTC"] == "done"


def test_tokens_that_nothing_reports_hold_up_the_month(house, jobs, clock):
    """u1 counted 2,500,000 prompt tokens on June 10, and its two legs say 2,000,000."""
    insert = (
        "INSERT INTO node_sample BY NAME SELECT ?::TIMESTAMP AS sampled_at, sampled_at AS "
        "ingested_at, 'u1' AS node_id, 'sglang' AS source, ?::BIGINT AS counter_input_tokens"
    )
    for hour, tokens in (("00:00", 0), ("23:00", 2_500_000)):
        house.till.cursor.execute(insert, [f"2026-06-10 {hour}:00", tokens])
    clock.now = time("2026-06-11T06:00:00Z")
    job = DailyReconciliation(ledger=house.ledger, read_usage=jobs.read_usage)
    assert list(job.due(clock.now)) == ["2026-06-10"]
    run = jobs.run(job, "2026-06-10")
    assert run.outcome == {"servers": 1, "unreported": {"u1": 500_000}}
    (alder, _) = house.close("2026-06", "2026-07-02T00:00:00Z").tenants
    assert [(each.name, each.count) for each in alder.blockers] == [("unreconciled:u1", 1)]
    report = house.close("2026-06", "2026-07-02T00:00:00Z", accept=["unreconciled:u1"])
    assert report.is_done


def test_the_daily_check_finds_tampering(house, jobs, clock):
    """A total that was changed behind the ledger's back."""
    clock.now = time("2026-07-01T06:00:00Z")
    jobs.run_due()
    with house.ledger.engine.begin() as connection:
        connection.execute(text("UPDATE invoice SET net_amount = '1.00'"))
    clock.now += timedelta(days=1)
    jobs.run_due()
    assert periods(house, "daily_check") == {"2026-07-01": "done", "2026-07-02": "failed"}
