"""Real processes, SIGKILLed at random moments: the same totals to the last digit (V3, V4)."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from itertools import takewhile

import pyarrow.parquet as pq
import pytest

REQUESTS = 1_500
BLOCK_TOKENS = 512
PRICES = {"uncached": Decimal(8), "cached": Decimal(2), "output": Decimal(28)}


@pytest.fixture(scope="module")
def trace(shared):
    """The Mooncake conversation trace."""
    return shared / "data" / "traces" / "mooncake_conversation.parquet"


@pytest.fixture(scope="module")
def expected(trace):
    """Totals of its first requests by the rule alone: blocks are known as soon as seen."""
    known: set[int] = set()
    sums = {"requests": 0, "input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
    for row in pq.read_table(trace).slice(0, REQUESTS).to_pylist():
        hits = sum(1 for _ in takewhile(known.__contains__, row["hash_ids"]))
        known.update(row["hash_ids"])
        sums["requests"] += 1
        sums["input_tokens"] += row["input_length"]
        sums["cached_input_tokens"] += min(hits * BLOCK_TOKENS, row["input_length"])
        sums["output_tokens"] += row["output_length"]
    return sums


def demo(trace, *extra, zone="UTC"):
    """The JSON of one run on two prefill and two decode servers."""
    shape = ["--prefill", "2", "--decode", "2", "--cache", "shared", "--requests", str(REQUESTS)]
    command = [sys.executable, "-m", "tokentill", "demo", "--once", "--json", "--trace", trace]
    done = subprocess.run(
        [*command, *shape, *extra],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TZ": zone},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "zone"),
    [((), "Asia/Shanghai"), (("--kill-seed", "7"), "UTC"), (("--kill-seed", "11"), "UTC")],
    ids=["another zone", "kills 7", "kills 11"],
)
def test_totals_are_exact(trace, expected, extra, zone):
    """Requests, tokens and money as the rule says; every server's difference is 0."""
    answer = demo(trace, *extra, zone=zone)
    totals = answer["totals"]
    assert {name: totals[name] for name in expected} == expected
    uncached = expected["input_tokens"] - expected["cached_input_tokens"]
    million = Decimal(1_000_000)
    money = (
        uncached * PRICES["uncached"]
        + expected["cached_input_tokens"] * PRICES["cached"]
        + expected["output_tokens"] * PRICES["output"]
    ) / million
    assert Decimal(totals["amount"]) == money
    assert sum(Decimal(tenant["amount"]) for tenant in answer["tenants"]) == money
    assert {Decimal(server["difference"]) for server in answer["servers"]} == {Decimal(0)}
