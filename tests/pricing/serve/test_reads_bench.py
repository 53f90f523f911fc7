"""bench/reads.py in small: a server of its own, ingest beside reads, lists walked to their end.

The full size, 10 M requests, is `make bench ARGS=reads`.
"""

import json
import subprocess
import sys

import pytest

SMALL = {"requests": 6_000, "invoices": 1_200, "walked": 5_000, "rounds": 2, "seconds": 1}


@pytest.mark.slow
def test_lists_are_whole_and_ten_reads_are_timed_while_usage_comes_in(root):
    """5,000 requests in pages and in one stream, 1,200 invoices: none twice, none missing."""
    options = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "bench/reads.py", *options]
    run = subprocess.run(command, cwd=root, capture_output=True, check=True, text=True)
    figures = json.loads(run.stdout)
    for walked in figures["paging"].values():
        assert (walked["twice"], walked["missing"]) == (0, 0)
        assert walked["rows"] >= SMALL["invoices"]
    assert len(figures["reads"]) == 10
    assert all(0 < read["p50_seconds"] <= read["p99_seconds"] for read in figures["reads"].values())
    assert all(figures["ingest"].values())
