"""Metrics of engines, accelerators and servers → samples."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.errors import ConfigInvalid, UsageInvalid
from metering.sources import METRICS_PARSERS, dcgm, parse_line, parse_metrics
from metering.sources.record import NodeIdentity, Row
from metering.sources.sglang_loads import engine_of
from metering.usage import SAMPLE_FIELDS, NodeSample
from metering.wire import SAMPLE_SCHEMA, to_batch

NODE = NodeIdentity(node_id="n1", stage="unified", model_id="m", pool="a")
AT = datetime(2026, 11, 30, 14, tzinfo=UTC)
COUNTERS = ("counter_input_tokens", "counter_output_tokens", "counter_cached_tokens")


def rows(source: str, text: str) -> list[Row]:
    parsed = parse_metrics(source, text, NODE, AT)
    for row in parsed:
        NodeSample(**row)
        assert set(row) <= {field.name for field in SAMPLE_FIELDS}
    to_batch(parsed, SAMPLE_SCHEMA)
    return parsed


def one(shared: Path, source: str, name: str) -> Row:
    (row,) = rows(source, (shared / "data" / name).read_text())
    return row


@pytest.mark.parametrize("folder", ["engines", "engines/full"])
@pytest.mark.parametrize(
    ("role", "counters", "requests"),
    [
        ("prefill", [25331, 13, 21504], 13),
        ("decode", [24821, 1903, 21440], 12),
        ("unified", [24241, 1937, 20736], 12),
    ],
)
def test_sglang_counters_equal_the_export(
    shared: Path, folder: str, role: str, counters: list[int], requests: int
) -> None:
    """data/engines/README.md: with no disconnect the counters are the sums over the export."""
    row = one(shared, "sglang_metrics", f"{folder}/sglang_metrics_{role}.prom")
    assert [row[name] for name in COUNTERS] == counters
    assert (row["counter_requests"], row["counter_aborted_requests"]) == (requests, 1)
    assert (row["stage"], row["model_id"]) == (role, "Qwen/Qwen3-32B")
    assert (row["running_requests"], row["queued_requests"], row["kv_usage_ratio"]) == (3, 1, 0.42)
    assert row.get("counter_epoch") is None


def test_real_sglang_counters(shared: Path) -> None:
    """facts/real_engine.md: prompt 12,101, generation 1,000, cached 9,417, 3 aborted."""
    row = one(shared, "sglang_metrics", "real_engine/sglang/plain/metrics_after.prom")
    assert [row[name] for name in COUNTERS] == [12_101, 1_000, 9_417]
    assert row["counter_aborted_requests"] == 3


def test_real_vllm_counters(shared: Path) -> None:
    """facts/real_engine.md: prompt 12,228, generation 716, cached 8,416; the epoch is _created."""
    row = one(shared, "vllm_metrics", "real_engine/plain/metrics_after.prom")
    assert [row[name] for name in COUNTERS] == [12_228, 716, 8_416]
    assert row["counter_epoch"] == "1796045450.162291"


def test_vllm_tells_finished_from_counted(shared: Path) -> None:
    """The three aborts of the capture moved the counters by 59 and 288; nothing else is between."""
    captured = (shared / "data/real_engine/plain/cases.jsonl").read_text().splitlines()
    aborts = [c["counter_delta"] for c in map(json.loads, captured) if "abort" in c["case"]]
    row = one(shared, "vllm_metrics", "real_engine/plain/metrics_after.prom")
    for kind, name, right in (("input", "prompt", 59), ("output", "generation", 288)):
        gap = row[f"counter_{kind}_tokens"] - row[f"counter_finished_{kind}_tokens"]
        assert gap == sum(a[f"vllm:{name}_tokens_total"] for a in aborts) == right


def test_a_restart_changes_the_epoch(shared: Path) -> None:
    """The killed vLLM of the captures and a fresh one differ in their _created."""
    epochs = {
        one(shared, "vllm_metrics", f"real_engine/{name}")["counter_epoch"]
        for name in ("crash/metrics_last_KILL9ENGINE.prom", "plain/metrics_after.prom")
    }
    assert len(epochs) == 2


def test_vllm_without_created_falls_back_to_the_process() -> None:
    """prometheus_client can be told not to write _created; the process start remains."""
    text = 'vllm:prompt_tokens_total{model_name="m"} 5\nprocess_start_time_seconds 1796045371.17\n'
    (row,) = rows("vllm_metrics", text)
    assert (row["counter_input_tokens"], row["counter_epoch"]) == (5, "1796045371.170000")


def test_vllm_replicas_are_added() -> None:
    """Two data-parallel engines: 3 + 4 requests running, 10 + 20 tokens, mean KV use."""
    text = "".join(
        f'vllm:num_requests_running{{engine="{e}",model_name="m"}} {running}\n'
        f'vllm:prompt_tokens_total{{engine="{e}",model_name="m"}} {tokens}\n'
        f'vllm:kv_cache_usage_perc{{engine="{e}",model_name="m"}} {usage}\n'
        for e, running, tokens, usage in ((0, 3, 10, 0.2), (1, 4, 20, 0.4))
    )
    (row,) = rows("vllm_metrics", text)
    assert (row["running_requests"], row["counter_input_tokens"]) == (7, 30)
    assert row["kv_usage_ratio"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("ranks", "running"),
    [
        # four tensor ranks repeat one engine
        ([(0, 0, ""), (1, 0, ""), (2, 0, ""), (3, 0, "")], 3),
        # two pipeline stages of two tensor ranks repeat it too
        ([(0, 0, ""), (1, 0, ""), (0, 1, ""), (1, 1, "")], 3),
        # DP attention: each replica reports under a tensor rank of its own
        ([(0, 0, "0"), (1, 0, "1")], 6),
        # two replicas of two tensor ranks
        ([(0, 0, "0"), (1, 0, "0"), (0, 0, "1"), (1, 0, "1")], 6),
    ],
)
def test_sglang_ranks_are_taken_once(ranks: list[tuple[int, int, str]], running: int) -> None:
    """sglang #6892, #7597: repeats by TP and PP are no work, DP replicas are."""
    text = "".join(
        f'sglang:num_running_reqs{{model_name="m",engine_type="unified",tp_rank="{tp}",'
        f'pp_rank="{pp}"{f""",dp_rank="{dp}" """.strip() if dp else ""}}} 3\n'
        for tp, pp, dp in ranks
    )
    (row,) = rows("sglang_metrics", text)
    assert row["running_requests"] == running


def test_what_is_not_there_is_missing() -> None:
    """NaN is no value; without the scheduler's gauges nothing says that the engine counts."""
    text = (
        'sglang:num_running_reqs{model_name="m",tp_rank="0"} 0\n'
        'sglang:token_usage{model_name="m",tp_rank="0"} NaN\n'
    )
    (row,) = rows("sglang_metrics", text)
    assert (row["running_requests"], row["kv_usage_ratio"]) == (0, None)
    (row,) = rows("sglang_metrics", 'sglang:token_usage{model_name="m"} 0.5\n')
    assert row["counter_input_tokens"] is None
    assert rows("sglang_metrics", "") == []


def test_a_counter_before_its_first_increment_is_zero() -> None:
    """facts/engines.md 1d: SGLang has no series until then; the first request would be lost."""
    (row,) = rows("sglang_metrics", 'sglang:num_running_reqs{model_name="m",tp_rank="0"} 0\n')
    assert [row[name] for name in COUNTERS] == [0, 0, 0]
    (row,) = rows("sglang_metrics", 'sglang:num_running_reqs{model_name="m"} NaN\n')
    assert [row[name] for name in COUNTERS] == [None, None, None]


def test_dcgm(shared: Path) -> None:
    """By hand: (71 + 98) / 2 %, 412.731 + 655.204 W, (91822334411 + 120983345221) mJ."""
    row = one(shared, "dcgm", "engines/dcgm.prom")
    assert row["gpu_utilization_ratio"] == pytest.approx(0.845)
    assert row["power_watts"] == pytest.approx(1067.935)
    assert row["energy_joules"] == pytest.approx(212_805_679.632)
    assert (row["device_count"], row["stage"]) == (2, "unified")


def test_mt_dcgm(shared: Path) -> None:
    """Capital Hostname, DCGM's names, no energy: (63 + 97) / 2 %, 188 + 241 W."""
    row = one(shared, "dcgm", "engines/mt_dcgm.prom")
    assert (row["gpu_utilization_ratio"], row["power_watts"]) == (0.8, 429.0)
    assert row["energy_joules"] is None


def test_only_the_nodes_own_devices(shared: Path) -> None:
    """An engine on half of a server names its GPUs by index or UUID."""
    text = (shared / "data/engines/dcgm.prom").read_text()
    uuid = "GPU-9f2d1a44-7b1e-4c3d-8e55-2b7f3a6c9d10"
    for name in ("1", uuid, "nvidia1"):
        (row,) = dcgm.parse(text, NODE, AT, used=[name])
        assert (row["device_count"], row["power_watts"]) == (1, 655.204)
    assert dcgm.parse(text, NODE, AT, used=["7"]) == []


def test_mig_instances_share_one_gpu() -> None:
    """Each instance repeats the GPU's power; it is drawn once."""
    text = "".join(
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="G",GPU_I_ID="{i}",hostname="h"}} 300\n'
        for i in range(3)
    )
    (row,) = rows("dcgm", text)
    assert (row["power_watts"], row["device_count"]) == (300, 1)


def test_a_part_of_the_power_is_not_the_power() -> None:
    """Two GPUs, one without a reading: the node's power is unknown."""
    text = (
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",hostname="h"} 10\n'
        'DCGM_FI_DEV_GPU_UTIL{gpu="1",hostname="h"} 30\n'
        'DCGM_FI_DEV_POWER_USAGE{gpu="0",hostname="h"} 300\n'
    )
    (row,) = rows("dcgm", text)
    assert (row["gpu_utilization_ratio"], row["power_watts"]) == (0.2, None)


def test_several_hosts_in_one_body() -> None:
    """A federated body: the node's own lines by host name, or a refusal that says so."""
    text = "".join(f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",Hostname="{h}"}} 5\n' for h in ("n1", "n2"))
    assert rows("dcgm", text)[0]["power_watts"] == 5
    with pytest.raises(UsageInvalid, match="several hosts"):
        rows("dcgm", text.replace("n1", "n3"))


def test_amd_and_server_power(shared: Path) -> None:
    """8123456789012 µJ are 8,123,456.789012 J; the platform's 5120 W stand for the server."""
    amd = one(shared, "amd_metrics", "engines/amd_device_metrics.prom")
    assert (amd["power_watts"], amd["gpu_utilization_ratio"]) == (512, 0.88)
    assert amd["energy_joules"] == pytest.approx(8_123_456.789012)
    server = one(shared, "node_power", "engines/node_power.prom")
    assert (server["power_watts"], server["energy_joules"]) == (5120, 4.1e9)


def test_mthreads_gmi(shared: Path) -> None:
    """63% and 188.00W, under a key with a space at its end."""
    row = one(shared, "mthreads_gmi", "engines/mthreads_gmi.json")
    assert (row["gpu_utilization_ratio"], row["power_watts"]) == (0.63, 188.0)
    assert (row["energy_joules"], row["device_count"]) == (None, 1)


@pytest.mark.parametrize("power", ["N/A", "", "-5W", None, 188, "1e400W"])
def test_mthreads_readings_that_are_none(power: object) -> None:
    """What the tool cannot read is unknown."""
    gpu = {"Index": "0", "Power Readings": {"Power Draw ": power}}
    (row,) = rows("mthreads_gmi", json.dumps({"GPU": [gpu]}))
    assert row["power_watts"] is None


def test_sglang_loads(shared: Path) -> None:
    """The sample names role, version and accelerator."""
    text = (shared / "data/engines/sglang_v1_loads.json").read_text()
    (row,) = rows("sglang_loads", text)
    assert (row["stage"], row["running_requests"], row["kv_usage_ratio"]) == ("prefill", 3, 0.42)
    assert engine_of(text) == ("0.5.23", "prefill", "NVIDIA H200", 4)


@pytest.mark.parametrize("value", ["1e30", "-1", "NaN", "+Inf"])
def test_numbers_that_no_count_can_be(value: str) -> None:
    """What no column can hold is missing, not an error."""
    (row,) = rows("sglang_metrics", f'sglang:num_running_reqs{{model_name="m"}} {value}\n')
    assert row["running_requests"] is None


def test_unknown_formats_are_a_configuration_error() -> None:
    """The message lists what is known."""
    with pytest.raises(ConfigInvalid, match="dcgm"):
        parse_metrics("nvml", "", NODE, AT)
    with pytest.raises(ConfigInvalid, match="sglang_export"):
        parse_line("sglang", b"", NODE, "f:0")


def outcome(source: str, text: str) -> Any:
    """The rows, or None for a refusal; any other exception fails the test."""
    try:
        return rows(source, text)
    except UsageInvalid:
        return None


LINE = st.from_regex(
    r"(sglang:(num_running_reqs|prompt_tokens_total|token_usage)|vllm:prompt_tokens_total"
    r"|DCGM_FI_DEV_POWER_USAGE|ipmi_power_watts)"
    r'(\{(model_name="[^\n]{0,9}",?)?(tp_rank="[0-9a]{0,3}")?(gpu="\d?")?\}?)?'
    r" ?[-+0-9.eNaInf]{0,9}",
    fullmatch=True,
)


@pytest.mark.parametrize("source", sorted(METRICS_PARSERS))
@given(text=st.text(max_size=60) | st.lists(LINE, max_size=4).map("\n".join))
def test_any_text(source: str, text: str) -> None:
    """Rows or a refusal."""
    outcome(source, text)


@given(data=st.data())
def test_any_json(data: st.DataObject) -> None:
    """Members of any type."""
    value = (
        st.none() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)
    )
    load = {
        name: data.draw(value)
        for name in ("num_running_reqs", "num_waiting_reqs", "token_usage", "disaggregation")
    }
    outcome("sglang_loads", json.dumps({"loads": [load], "version": data.draw(value)}))
    gpu = {"Index": data.draw(value), "Utilization": data.draw(value | st.just({"Gpu": "5%"}))}
    outcome("mthreads_gmi", json.dumps({"GPU": data.draw(value | st.just([gpu]))}))
