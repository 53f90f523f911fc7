"""The finance month by commands: close, issue, print, correct, prove, export; two at once."""

import csv
import json
import subprocess
import sys
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from pricing.ledger.connect import Ledger
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from tests.pricing.ledger.test_close_races import TENANTS, fill
from tests.pricing.serve.conftest import environment, tokentill

TOTAL = sum(2 * (n + 1) for n in range(len(TENANTS)))


@pytest.fixture
def month(tmp_path):
    """A home with June's usage of six tenants: 2, 4, … 12 CNY."""
    folder = tmp_path / "home"
    folder.mkdir()
    upgrade_ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    upgrade_usage(folder / "usage.duckdb")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    fill(ledger, folder / "usage.duckdb")
    ledger.close()
    return folder


def run(home, *words):
    """A command that must succeed; its output."""
    done = tokentill(home, *words)
    assert done.exit_code == 0, done.stderr or done.exception
    return done.stdout


@pytest.mark.slow
def test_two_commands_at_once_make_one_invoice_each(month):
    """C04: the second one waits for the first, and reports what it found."""
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "tokentill", "close", "2026-06", "--json"],
            env=environment(month),
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    reports = [json.loads(process.communicate()[0]) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    outcomes = sorted({each["outcome"] for each in report["tenants"]} for report in reports)
    assert sorted(map(list, outcomes)) == [["already_closed"], ["closed"]]
    sums = [
        sum(Decimal(made["net_amount"]) for each in r["tenants"] for made in each["documents"])
        for r in reports
    ]
    assert sums == [TOTAL, TOTAL]


@pytest.mark.slow
def test_the_finance_month(month, tmp_path):
    """Close, issue, print twice, verify, cancel, and export what sums to it all."""
    run(month, "close", "2026-06")
    run(month, "invoice", "issue", "INV-000001", "INV-000002")
    for name in ("one.pdf", "two.pdf"):
        run(month, "invoice", "document", "INV-000001", "--out", str(tmp_path / name))
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()
    assert json.loads(run(month, "invoice", "verify", "INV-000001", "--json"))["is_whole"]
    assert "CN-000001" in run(month, "invoice", "credit", "INV-000002", "--reason", "wrong buyer")
    listed = json.loads(run(month, "invoice", "list", "--month", "2026-06", "--json"))
    assert sum(Decimal(each["gross_amount"]) for each in listed) == TOTAL - 4
    out = tmp_path / "focus.csv"
    run(month, "export", "2026-06", "--kind", "focus", "--out", str(out))
    with out.open(newline="", encoding="utf-8") as file:
        assert sum(Decimal(row["BilledCost"]) for row in csv.DictReader(file)) == TOTAL - 4
    out = tmp_path / "requests.parquet"
    words = ("--kind", "requests", "--format", "parquet", "--out", str(out))
    run(month, "export", "2026-06", *words)
    assert sum(pq.read_table(out).column("amount").to_pylist()) == TOTAL
