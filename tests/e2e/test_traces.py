"""Public traces through the whole path: published control totals, to the last token and digit.

Control totals: ../shared/data/README.md (recomputed from the traces there) and, for money, by
hand: Σ uncached × 8 + Σ cached × 2 + Σ output × 28 over 10^6.
"""

from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from metering.windows import Window
from pricing.reports.revenue_servers import servers_report
from tests.e2e.metered_trace import metered, replayed, totals
from tests.pricing.settle.legs import NOW

CONVERSATION = (12_031, 144_793_823, 54_098_411, 4_122_048)
SYNTHETIC = (3_993, 61_194_628, 39_852_661, 595_432)


@pytest.fixture(scope="module")
def conversation(shared, tmp_path_factory):
    """Engine files of the Mooncake conversation trace."""
    out = tmp_path_factory.mktemp("conversation")
    replayed(shared / "data" / "traces" / "mooncake_conversation.parquet", out)
    return out


def test_the_conversation_trace_to_the_last_digit(conversation):
    """949.177462 CNY; servers = tenants = requests; 118 requests hit their whole prompt."""
    till = metered(conversation)
    assert totals(till) == CONVERSATION
    sums = {till.amount(view) for view in ("usage_money", "node_money", "request_money")}
    assert sums == {Decimal("949.177462")}
    whole = till.rows("sum(requests)", "usage_hourly", where="flags & 8 > 0")
    assert whole == [(118,)]


def test_every_batch_twice_and_the_files_copied_change_nothing(conversation):
    """Resends are duplicates by content; a copied file under another name repeats its ids (V3)."""
    for path in list((conversation / "prefill-1").iterdir()):
        copy = path.with_name(path.name.replace("sglang", "copy-of-sglang"))
        copy.write_bytes(path.read_bytes())
    try:
        till = metered(conversation, times=2)
    finally:
        for copy in (conversation / "prefill-1").glob("copy-of-*"):
            copy.unlink()
    assert totals(till) == CONVERSATION
    assert till.amount() == Decimal("949.177462")


def test_the_formula_equals_the_ledger_for_every_server(conversation):
    """Design §2: the difference is 0 always; both prefill servers and both decode servers earn."""
    till = metered(conversation)
    window = Window(NOW.replace(month=1), NOW.replace(year=NOW.year + 1))
    servers = servers_report(till.cursor, window)
    assert [server.difference for server in servers] == [0, 0, 0, 0]
    by_stage = {"prefill": Decimal(0), "decode": Decimal(0)}
    for server in servers:
        by_stage[server.stage] += server.amount
    assert by_stage == {"prefill": Decimal("833.760118"), "decode": Decimal("115.417344")}


def test_the_synthetic_trace_to_the_last_digit(shared, tmp_path):
    """267.113154 CNY."""
    replayed(shared / "data" / "traces" / "mooncake_synthetic.parquet", tmp_path)
    till = metered(tmp_path)
    assert totals(till) == SYNTHETIC
    assert till.amount() == Decimal("267.113154")


def test_the_agentic_trace_equals_its_own_control_totals(shared, tmp_path):
    """49,334 requests: each session's input and output as the trace's authors counted them."""
    traces = shared / "data" / "traces"
    done = replayed(traces / "kvct_agentic_requests.parquet", tmp_path)
    columns = ["trace_id", "source_combined_input", "source_combined_output"]
    sessions = pq.read_table(traces / "kvct_agentic_sessions.parquet", columns=columns)
    till = metered(tmp_path)
    requests, *_ = totals(till)
    assert (requests, done["requests"]) == (49_334, 49_334)
    counted = till.rows(
        "labels['session'] AS session, "
        "sum(input_tokens) FILTER (stage = 'prefill')::BIGINT, "
        "sum(output_tokens) FILTER (stage = 'decode')::BIGINT",
        "leg",
        where="status = 'ok' GROUP BY session",
    )
    assert counted == sorted(tuple(row.values()) for row in sessions.to_pylist())
    inputs, outputs = (sum(row[side] for row in counted) for side in (1, 2))
    assert (inputs, outputs) == (totals(till)[1], totals(till)[3])
