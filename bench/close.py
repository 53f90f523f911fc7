"""The close of 1,000 tenants over 10 million requests; documents a second; exports of 1 M lines.

The close runs in a process of its own, whose peak memory is measured. Prints one JSON object; run:
python bench/close.py [--requests 10000000] [--tenants 1000] [--lines 1000000]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
from month import KEYS, REQUESTS, USAGE_HOURLY

from metering.store.connect import open_store
from pricing.close_report import CloseReport, Outcome
from pricing.exports.invoice_tables import LINES, lines_table
from pricing.exports.render import RENDERERS, render
from pricing.exports.streams import STREAMS
from pricing.ledger.connect import Ledger
from pricing.ledger.invoices import get_invoice, lines_of
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger
from pricing.runs.close import CloseOrder, close_month
from pricing.runs.price_cells import insert_price_keys
from pricing.scope import Scope

JULY_2 = datetime(2026, 7, 2, tzinfo=UTC)
DOCUMENTS = 20
BATCH_LINES = 10_000


def prepare(folder: Path, requests: int, tenants: int) -> None:
    """A store with the month's requests and a ledger with its tenants."""
    store = open_store(folder / "usage.duckdb", memory_limit="4GB")
    cursor = store.cursor()
    insert_price_keys(cursor, KEYS)
    of_tenants = REQUESTS.replace("% 200)", f"% {tenants})")
    cursor.execute(of_tenants, {"requests": requests, "keys": list(KEYS)})
    cursor.execute(USAGE_HOURLY)
    cursor.execute("UPDATE progress SET settle_seq = 1")
    store.close()
    upgrade_ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    named = {"billing_zone": "UTC", "currency": "CNY", "created_at": JULY_2}
    with ledger.write(actor="bench", at=JULY_2) as change:
        for number in range(tenants):
            add_tenant(change, Tenant(tenant_id=f"t{number}", name=f"t{number}", **named))
    ledger.close()


def close(folder: Path) -> dict[str, Any]:
    """Seconds of the close, of a repeat, and the peak memory of this process."""
    store = open_store(folder / "usage.duckdb", memory_limit="1GB")
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    order = CloseOrder(month=date(2026, 6, 1))

    def run() -> tuple[float, CloseReport]:
        begun = time.perf_counter()
        report = close_month(store.cursor(), ledger, order, now=JULY_2)
        return time.perf_counter() - begun, report

    cpu = time.process_time()
    seconds, report = run()
    again, _ = run()
    figures = {
        "tenants_closed": len(report.with_outcome(Outcome.CLOSED)),
        "close_seconds": round(seconds, 2),
        "close_and_repeat_cpu_seconds": round(time.process_time() - cpu, 2),
        "repeat_seconds": round(again, 2),
        "peak_memory_bytes": peak_memory_bytes(),
    }
    ledger.close()
    store.close()
    return figures


def peak_memory_bytes() -> int:
    """Of this process alone: getrusage would count its parent's at the fork."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def documents(folder: Path) -> dict[str, float]:
    """Documents rendered in a second, by format."""
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    with ledger.read() as connection:
        found = get_invoice(connection, Scope.house(), "INV-000001")
        lines = lines_of(connection, "INV-000001")
    ledger.close()
    rates, paid = {}, attrgetter("unit_price")
    for name in RENDERERS:
        render(found, lines, name, list_price=paid)  # fonts and templates are read once
        begun = time.perf_counter()
        for _ in range(DOCUMENTS):
            render(found, lines, name, list_price=paid)
        rates[name] = round(DOCUMENTS / (time.perf_counter() - begun), 1)
    return rates


def exports(folder: Path, count: int) -> dict[str, Any]:
    """Seconds of an export of so many lines, by format."""
    ledger = Ledger(f"sqlite:///{folder / 'ledger.sqlite'}")
    with ledger.read() as connection:
        found = get_invoice(connection, Scope.house(), "INV-000001")
        lines = lines_of(connection, "INV-000001")
    ledger.close()
    table = lines_table(found, (lines * (BATCH_LINES // len(lines) + 1))[:BATCH_LINES])
    (batch,) = table.combine_chunks().to_batches()

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(count // BATCH_LINES):
            yield batch

    seconds = {}
    for name, write in STREAMS.items():
        begun = time.perf_counter()
        rows = write(folder / "export", pa.RecordBatchReader.from_batches(LINES, batches()))
        seconds[name] = round(time.perf_counter() - begun, 2)
        assert rows == count, name  # noqa: S101 - a benchmark of what was not written says nothing
    return {"lines": count, "seconds": seconds, "peak_memory_bytes": peak_memory_bytes()}


def child(what: str, folder: Path, lines: int) -> Any:
    """The figures of one part, from a process of its own."""
    words = [sys.executable, __file__, "--part", what, "--folder", str(folder)]
    done = subprocess.run([*words, "--lines", str(lines)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Prepare, measure each part in a process of its own, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--tenants", type=int, default=1000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--part", choices=["close", "documents", "exports"])
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.part == "close":
        print(json.dumps(close(asked.folder)))
    elif asked.part == "documents":
        print(json.dumps(documents(asked.folder)))
    elif asked.part == "exports":
        print(json.dumps(exports(asked.folder, asked.lines)))
    else:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder, asked.requests, asked.tenants)
            figures = {"requests": asked.requests} | child("close", folder, asked.lines)
            figures["documents_per_second"] = child("documents", folder, asked.lines)
            figures["export"] = child("exports", folder, asked.lines)
            print(json.dumps(figures))


if __name__ == "__main__":
    main()
