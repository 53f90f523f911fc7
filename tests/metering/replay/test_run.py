"""A run: exact totals in the files, repeatable bytes, times that end now or follow a pace."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from metering.replay.cluster import Faults
from metering.replay.customers import Customers
from metering.replay.history import DailyCurve, spread
from metering.replay.request import TraceRequest
from metering.replay.run import Pace, Replay, ReplaySettings
from metering.replay.traces import read_trace
from metering.replay.workload import white_paper
from metering.sources.record import NodeIdentity, Row
from metering.sources.sglang_export import parse
from tests.metering.replay.parts import (
    NOW,
    fast_shape,
    play,
    request,
    served,
    shape,
    steady,
)

ROUGH = Faults(retry_share=0.15, abort_share=0.1, kv_failure_share=0.05)
TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens")


def described(out: Path, name: str = "done.json") -> Any:
    return json.loads((out / name).read_text(encoding="utf-8"))


def rows_of(out: Path) -> list[Row]:
    """Every line of every node as the product's own parser reads it."""
    rows: list[Row | None] = []
    for node in described(out, "cluster.json")["nodes"]:
        named = {name: node[name] for name in ("node_id", "stage", "model_id", "pool")}
        for path in sorted(Path(node["log_dir"]).iterdir()):
            records = path.read_bytes().splitlines()
            rows += [parse(record, NodeIdentity(**named), path.name) for record in records]
    return [row for row in rows if row is not None]


@pytest.mark.parametrize(
    ("name", "totals"),
    [
        ("conversation", (12_031, 144_793_823, 54_098_411, 4_122_048)),
        ("synthetic", (3_993, 61_194_628, 39_852_661, 595_432)),
    ],
)
def test_mooncake_files_hold_the_published_totals(
    shared: Path, tmp_path: Path, name: str, totals: tuple[int, ...]
):
    """../shared/data/README.md, through 2 prefill and 2 decode nodes with a shared infinite cache:
    input and cached from the prefill lines, output from the decode lines."""
    trace = shared / f"data/traces/mooncake_{name}.parquet"
    play(lambda: read_trace(trace), tmp_path, shape=fast_shape(2, 2))
    rows = [row for row in rows_of(tmp_path) if row["status"] == "ok"]
    prefill = [row for row in rows if row["stage"] == "prefill"]
    decode = [row for row in rows if row["stage"] == "decode"]
    assert len(prefill) == len(decode) == totals[0]
    assert len({row["join_key"] for row in rows}) == totals[0]
    assert sum(row["input_tokens"] for row in prefill) == totals[1]
    assert sum(row["cached_input_tokens"] for row in prefill) == totals[2]
    assert sum(row["output_tokens"] for row in decode) == totals[3]
    done = described(tmp_path)
    assert (done["requests"], *(done[key] for key in TOKENS)) == totals
    assert done["legs"] == 2 * totals[0]


def test_what_the_parser_finds_is_what_done_json_says(tmp_path: Path):
    """Independent reading: delivered requests are the ok decode lines and their prefill lines."""
    play(steady(400, 2.0), tmp_path, shape=shape(2, 3), faults=ROUGH)
    rows, done = rows_of(tmp_path), described(tmp_path)
    answers = [row for row in rows if row["stage"] == "decode" and row["status"] == "ok"]
    prompts = {
        row["join_key"]: row for row in rows if row["stage"] == "prefill" and row["status"] == "ok"
    }
    fed = [prompts[row["join_key"]] for row in answers]
    assert len(answers) == done["requests"]
    assert sum(row["input_tokens"] for row in fed) == done["input_tokens"]
    assert sum(row["cached_input_tokens"] for row in fed) == done["cached_input_tokens"]
    assert sum(row["output_tokens"] for row in answers) == done["output_tokens"]
    by_status = [sum(row["status"] == status for row in rows) for status in ("warmup", "error")]
    assert by_status[0] == done["warmup_lines"] == 5
    assert by_status[1] >= 2 * done["kv_failures"]
    assert len(rows) == done["legs"] + done["warmup_lines"]
    # Alone: the client left, or the decode side died before the router tried again.
    alone = len(prompts) - len(answers)
    assert done["aborted"] <= alone <= done["aborted"] + done["retries"]
    assert done["requests"] + done["aborted"] + done["kv_failures"] == 400


def test_owners_reach_the_rows(tmp_path: Path):
    """Both legs carry tenant, project and key as custom labels."""
    play(steady(100), tmp_path, shape=shape(4, 2))
    rows = [row for row in rows_of(tmp_path) if row["status"] == "ok"]
    customers = {tuple(customer) for customer in Customers(3, 1).all}
    owners = {(row["tenant_id"], row["project_id"], row["api_key_id"]) for row in rows}
    assert owners <= customers
    assert len({row["tenant_id"] for row in rows}) == 3
    by_key: dict[str, set[str]] = {}
    for row in rows:
        by_key.setdefault(row["join_key"], set()).add(row["api_key_id"])
    assert all(len(keys) == 1 for keys in by_key.values())


def everything(out: Path) -> dict[str, bytes]:
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*.log")}


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path):
    """Names of files included; another seed writes others."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        play(steady(50), tmp_path / name, seed=seed, faults=ROUGH)
    assert everything(tmp_path / "a") == everything(tmp_path / "b")
    assert everything(tmp_path / "a") != everything(tmp_path / "c")


def test_unthrottled_the_last_line_is_sent_now(tmp_path: Path):
    """And the first request came as long before as the trace is long: 19 s of arrivals, 20 prompts
    of 1 s one after the other, 0.2 s for the last answer."""
    play(steady(20), tmp_path)
    sent = [line["response_sent_to_client_ts"] for line in served(tmp_path / "prefill-1")]
    ended = [line["request_finished_ts"] for line in served(tmp_path / "decode-1")]
    received = [line["request_received_ts"] for line in served(tmp_path / "prefill-1")]
    assert max(ended) == pytest.approx(NOW.timestamp(), abs=0.001)
    assert max(sent) < NOW.timestamp()
    assert received == sorted(received)
    assert received[-1] - received[0] == pytest.approx(19.0)


def test_lines_of_a_node_are_in_the_order_of_their_end(tmp_path: Path):
    """The engine appends when the finished output is handed to the HTTP layer."""
    play(steady(200, 0.7), tmp_path, shape=shape(2, 3), faults=ROUGH)
    for folder in tmp_path.glob("*-*"):
        ends = [line["request_finished_ts"] for line in served(folder)]
        assert ends == sorted(ends)


def test_at_a_pace_every_line_waits_for_its_time(tmp_path: Path):
    """By hand: at speed 10 arrivals 1 s apart are 0.1 s apart, from now on."""
    waits: list[float] = []
    play(steady(5), tmp_path, pace=Pace(10.0, waits.append))
    received = [line["request_received_ts"] for line in served(tmp_path / "prefill-1")]
    expected = [NOW.timestamp() + i / 10 for i in range(5)]
    assert received == pytest.approx(expected, abs=1e-3)
    ended = [line["request_finished_ts"] for line in served(tmp_path / "decode-1")]
    assert len(waits) == 10
    assert waits == sorted(waits)
    assert waits[-1] == pytest.approx(ended[-1], abs=1e-3)


def test_a_second_run_appends_like_a_restarted_engine(tmp_path: Path):
    """Facts §1a: a restart within the hour appends to the same file, warm-up first."""
    play(steady(3), tmp_path)
    before = everything(tmp_path)
    play(steady(3), tmp_path, seed=2)
    after = everything(tmp_path)
    assert all(after[name].startswith(text) for name, text in before.items())
    assert len(rows_of(tmp_path)) == 2 * (2 + 6)


def test_cluster_json_describes_every_node(tmp_path: Path):
    """What a sidecar's configuration needs."""
    settings = ReplaySettings(shape=shape(1, 1), model_id="glm-5.2", pool="pd-7")
    run = Replay(steady(1), settings, tmp_path)
    run.announce(["http://127.0.0.1:1/metrics", "http://127.0.0.1:2/metrics"])
    first, second = described(tmp_path, "cluster.json")["nodes"]
    assert first == {
        "node_id": "prefill-1",
        "stage": "prefill",
        "pool": "pd-7",
        "model_id": "glm-5.2",
        "engine": "sglang",
        "engine_version": "0.5.23",
        "log_dir": str(tmp_path / "prefill-1"),
        "metrics_url": "http://127.0.0.1:1/metrics",
    }
    assert (second["node_id"], second["stage"]) == ("decode-1", "decode")


def test_done_json_of_an_earlier_run_is_forgotten_first(tmp_path: Path):
    """Whoever waits for done.json must not find the old one."""
    play(steady(1), tmp_path)
    Replay(steady(1), ReplaySettings(shape=shape()), tmp_path).announce()
    assert not (tmp_path / "done.json").exists()


def test_history_fills_months_hour_by_hour(tmp_path: Path):
    """30 days that end now: times inside them, a file per busy hour, the first near the start."""

    def workload() -> Iterator[TraceRequest]:
        return white_paper(Customers(4, 1), seed=1, requests=3000, requests_per_second=1.0)

    source = spread(workload, DailyCurve(30, NOW, UTC))
    totals = play(source, tmp_path, shape=fast_shape(1, 1))
    assert totals.first_received_at is not None
    start = (NOW - timedelta(days=30)).timestamp()
    assert totals.first_received_at == pytest.approx(start, abs=60)
    names = {path.name for path in (tmp_path / "prefill-1").iterdir()}
    assert len(names) > 600
    first = datetime.fromtimestamp(start, UTC)
    assert f"sglang-request-metrics-{first:%Y%m%d_%H}.log" in names


def test_output_of_zero_tokens_stays_zero(tmp_path: Path):
    """An explicit 0 is a real 0 (27 requests of the agentic trace)."""
    play(lambda: iter([request(output_tokens=0)]), tmp_path)
    (answer,) = [row for row in rows_of(tmp_path) if row["stage"] == "decode"][1:]
    assert (answer["output_tokens"], answer["status"]) == (0, "ok")


def test_no_request_is_no_failure(tmp_path: Path):
    """Only the warm-up lines are written."""
    none: list[TraceRequest] = []
    totals = play(lambda: islice(none, 0), tmp_path)
    assert (totals.legs, totals.warmup_lines) == (0, 2)
    assert described(tmp_path)["first_received_at"] is None
