"""`tokentill work` on a home whose usage is not settled yet: the command settles it."""

import json

import pyarrow as pa
import pytest

from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.store.connect import open_store
from metering.wire import to_batch
from pricing.ledger.upgrade import upgrade_usage
from tests.pricing.serve.conftest import tokentill
from tests.pricing.settle.legs import NOW, decode, leg, prefill

WINDOW = "2026-06-01T00:00:00Z/2026-06-02T00:00:00Z"


@pytest.fixture
def home(tmp_path):
    """A pair of t-alder on p1 and d1, and two requests of t-birch on u1."""
    upgrade_usage(tmp_path / "usage.duckdb")
    store = open_store(tmp_path / "usage.duckdb")
    birch = [leg(f"u{i}", tenant_id="t-birch", decode_seconds=1.5) for i in range(2)]
    table = pa.Table.from_batches([to_batch([prefill("p"), decode("d"), *birch])])
    append_legs(store.cursor(), [LegBatch(table=table, sender="test")], NOW)
    store.close()
    return tmp_path


def test_rows_by_server_and_tenant(home):
    """1,000 of input on p1, 50 of output on d1, 2 × 1,050 and 3 s on u1; all is delivered."""
    done = tokentill(home, "work", WINDOW, "--json")
    rows = json.loads(done.stdout)["work"]
    found = {row["node_id"]: (row["tenant_id"], row["work_tokens"]) for row in rows}
    assert found == {"p1": ("t-alder", 1000), "d1": ("t-alder", 50), "u1": ("t-birch", 2100)}
    assert all(row["work_tokens"] == row["delivered_tokens"] for row in rows)
    assert max(row["decode_seconds"] for row in rows) == 3.0


def test_one_server_or_one_tenant_as_a_table(home):
    """A line each under the titles; units and formula on stderr."""
    done = tokentill(home, "work", "2026-06", "--tenant", "t-birch")
    title, line = done.stdout.splitlines()
    assert title.split()[:3] == ["server", "stage", "tenant"]
    assert line.split()[:4] == ["u1", "unified", "t-birch", "2"]
    assert "docs/formulas.md#6-whose-cost-it-is" in done.stderr
    assert len(tokentill(home, "work", "2026-06", "--node", "p1").stdout.splitlines()) == 2


def test_a_part_of_a_day_is_refused(home):
    """Exit 1 with what to ask for."""
    done = tokentill(home, "work", WINDOW.replace("T00:00:00Z/", "T01:00:00Z/"))
    assert (done.exit_code, "midnight UTC" in done.stderr) == (1, True)
