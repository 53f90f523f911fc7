"""The monthly export: once per period, whoever wakes up, caught up after downtime."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest

from pricing.exports.places import Folder
from pricing.jobs import Jobs
from pricing.ledger.connect import Ledger
from pricing.ledger.upgrade import upgrade_ledger
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
