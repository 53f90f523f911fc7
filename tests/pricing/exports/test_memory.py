"""Exports of any length stay small: a real process writes them, the system says what it took."""

import subprocess
import sys

import pytest

CHILD = """
import resource, sys
from decimal import Decimal
from pathlib import Path
import pyarrow as pa
from pricing.exports.invoice_tables import LINES
from pricing.exports.streams import STREAMS
rows, kind, out = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
row = {"number": "INV-000001", "tenant_id": "t-alder", "tokens": 1, "amount": Decimal("1.5")}
batch = pa.Table.from_pylist([row] * 10_000, schema=LINES).to_batches()[0]
batches = (batch for _ in range(rows // 10_000))
assert STREAMS[kind](out, pa.RecordBatchReader.from_batches(LINES, batches)) == rows
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""
KEPT_BYTES_MAX = 60_000_000  # the same lines as Python objects are above a gigabyte


def peak_memory_bytes(rows, kind, out):
    """What a process takes at most that writes so many lines."""
    command = [sys.executable, "-c", CHILD, str(rows), kind, str(out)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rows"),
    [("csv", 1_000_000), ("parquet", 1_000_000), ("jsonl", 400_000), ("xlsx", 100_000)],
)
def test_a_million_lines_are_never_in_memory(kind, rows, tmp_path):
    """As much as for 20,000 lines, give or take; bench/close.py writes a million of each kind."""
    few, many = (peak_memory_bytes(count, kind, tmp_path / "out") for count in (20_000, rows))
    assert many - few < KEPT_BYTES_MAX
