"""Export files: genuine lines as the model, quirks, local hours, whole lines."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from metering.replay.cluster import Faults
from metering.replay.nodes import EngineNode, Timeline, engine_nodes
from metering.replay.sglang_files import ExportFile, record
from tests.metering.replay.parts import lines_of, play, request, served, shape, simulate

GENUINE = "data/real_engine/sglang/exporter_{}/sglang-request-metrics-20261130_14.log"
SAMPLES = "data/engines/sglang_{}_export{}.jsonl"
PROMPT = {"input_ids", "text", "lora_path"}  # dropped at request logging level 1
WITHOUT_SCHEDULER = {"weight_versions", "dp_rank"}  # what the samples' harness leaves out
WITHOUT_ROUTER = {"modalities", "external_trace_header"}


def parsed(path: Path) -> list[dict[str, Any]]:
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return [line | {"request_parameters": json.loads(line["request_parameters"])} for line in lines]


def is_chat(line: dict[str, Any]) -> bool:
    given = line["request_parameters"]
    return given["sampling_params"].get("n") == 1 and "text" not in given


def streamed(lines: list[dict[str, Any]], *, is_streamed: bool) -> dict[str, Any]:
    """The first delivered chat line that is streamed or is not."""
    return next(
        line
        for line in lines
        if is_chat(line)
        and line["request_parameters"]["stream"] is is_streamed
        and line["finish_reason"]["type"] != "abort"
        and line["completion_tokens"] != 0
    )


def failed(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return next(line for line in lines if line["finish_reason"].get("status_code") == 500)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of line."""
    folder = tmp_path_factory.mktemp("replay")
    play(
        lambda: (request(i * 2.0, [(i % 20 * 10, 9), (1000 + i, 1)]) for i in range(200)),
        folder,
        shape=shape(cache="per-node"),
        faults=Faults(retry_share=0.1, abort_share=0.1, kv_failure_share=0.1),
    )
    return folder


@pytest.mark.parametrize("stage", ["prefill", "decode"])
@pytest.mark.parametrize("mode", ["streamed", "whole"])
def test_lines_have_the_names_and_order_of_genuine_ones(
    out: Path, shared: Path, stage: str, mode: str
):
    """A real pair of SGLang 0.5.23 servers; level 1 drops the prompt, the gateway adds labels."""
    is_streamed = mode == "streamed"
    model = streamed(parsed(shared / GENUINE.format(stage)), is_streamed=is_streamed)
    line = streamed(served(out / f"{stage}-1"), is_streamed=is_streamed)
    assert list(line) == list(model)
    given = [name for name in line["request_parameters"] if name != "custom_labels"]
    assert given == [name for name in model["request_parameters"] if name not in PROMPT]
    sampling = line["request_parameters"]["sampling_params"]
    assert list(sampling) == list(model["request_parameters"]["sampling_params"])


@pytest.mark.parametrize("stage", ["prefill", "decode"])
def test_values_have_the_types_of_genuine_ones(out: Path, shared: Path, stage: str):
    """A count is an integer, a time a float, a missing detail null."""
    allowed: dict[str, set[type]] = {}
    for line in parsed(shared / GENUINE.format(stage)):
        for name, value in (line | line["request_parameters"]).items():
            allowed.setdefault(name, set()).add(type(value))
    for line in served(out / f"{stage}-1"):
        for name, value in (line | line["request_parameters"]).items():
            assert name == "custom_labels" or type(value) in allowed[name], name


def test_lines_have_the_names_of_the_level_1_sample(out: Path, shared: Path):
    """The sample adds custom labels to what the genuine lines show."""
    samples = parsed(shared / SAMPLES.format("prefill", "_loglevel1"))
    model = streamed(samples, is_streamed=True)
    line = streamed(served(out / "prefill-1"), is_streamed=True)
    assert set(line) - set(model) == WITHOUT_SCHEDULER
    assert set(model) <= set(line)
    given, wanted = line["request_parameters"], model["request_parameters"]
    assert [name for name in given if name not in WITHOUT_ROUTER] == list(wanted)


@pytest.mark.parametrize("stage", ["prefill", "decode"])
def test_the_first_line_is_the_engine_s_warm_up(out: Path, shared: Path, stage: str):
    """The samples' first lines: 4 tokens in, 1 or 8 out, host 2.2.2.2, room 0."""
    model = parsed(shared / SAMPLES.format(stage, ""))[0]
    line = lines_of(out / f"{stage}-1")[0]
    assert set(line) - set(model) == WITHOUT_SCHEDULER
    assert set(model) <= set(line)
    wanted = [name for name in model["request_parameters"] if name not in PROMPT]
    assert list(line["request_parameters"]) == wanted
    for name in ("finish_reason", "prompt_tokens", "completion_tokens", "cached_tokens"):
        assert line[name] == model[name]
    for name in ("sampling_params", "bootstrap_host", "bootstrap_room", "routed_dp_rank"):
        assert line["request_parameters"][name] == model["request_parameters"][name]


@pytest.mark.parametrize("stage", ["prefill", "decode"])
def test_a_failed_transfer_is_an_abort_500(out: Path, shared: Path, stage: str):
    """The samples: the prompt in full, 1 token on the prefill side, 0 on the decode side."""
    model = failed(parsed(shared / SAMPLES.format(stage, "")))
    line = failed(served(out / f"{stage}-1"))
    assert set(line) - set(model) == WITHOUT_SCHEDULER
    assert list(line["finish_reason"]) == list(model["finish_reason"])
    room = line["request_parameters"]["bootstrap_room"]
    wanted_room = model["request_parameters"]["bootstrap_room"]
    wanted = model["finish_reason"]["message"].replace(model["id"], line["id"])
    assert line["finish_reason"]["message"] == wanted.replace(str(wanted_room), str(room))
    assert line["completion_tokens"] == model["completion_tokens"]


def test_a_prefill_line_ends_as_length_zero_with_one_token(out: Path):
    """Facts §1a: max_new_tokens is forced to 1 there, while the parameters keep the client's."""
    for line in served(out / "prefill-1"):
        if line["finish_reason"]["type"] != "abort":
            assert line["finish_reason"] == {"type": "length", "length": 0}
        assert line["completion_tokens"] == 1
        assert line["request_parameters"]["sampling_params"]["max_new_tokens"] >= 11


@pytest.mark.parametrize(
    ("cache", "prefill", "decode"),
    [
        (
            "shared",
            {"device": 0, "host": 0, "storage": 900, "storage_backend": "MooncakeStore"},
            {"device": 0, "host": 0, "storage": 900},
        ),
        ("per-node", {"device": 900, "host": 0}, {"device": 900, "host": 0}),
    ],
)
def test_where_a_hit_came_from(tmp_path: Path, cache: str, prefill: object, decode: object):
    """The samples: a decode line has no storage_backend; without a hit there is null."""
    asked = [request(0.0, [(0, 9)]), request(50.0, [(0, 9)])]
    play(lambda: iter(asked), tmp_path, shape=shape(cache=cache))
    for stage, details in (("prefill", prefill), ("decode", decode)):
        found = [line["cached_tokens_details"] for line in served(tmp_path / f"{stage}-1")]
        assert found == [None, details]


def test_times_of_a_streamed_answer():
    """By hand: received at 100, first token 1.104 s later, the last 0.1 s after that; the first
    chunk leaves 0.4 ms after its token; 10 tokens in 0.1 s."""
    nodes = engine_nodes(Path(), prefill=1, decode=1, pool="p", model_id="m", is_cache_shared=True)
    legs = simulate([request(float(i * 50)) for i in range(20)], shape())
    leg = next(leg for leg in legs if not leg.is_prefill and leg.call.is_streaming)
    line = json.loads(record(leg, nodes, Timeline(100.0 - leg.received_at)))
    assert line["request_received_ts"] == pytest.approx(100.0)
    assert line["first_token_latency"] == pytest.approx(1.104)
    assert line["e2e_latency"] == pytest.approx(1.204)
    assert line["response_sent_to_client_ts"] == pytest.approx(101.1044)
    assert line["request_finished_ts"] == pytest.approx(101.204)
    assert line["decode_throughput"] == pytest.approx(100.0)


def test_speed_shortens_everything_alike():
    """By hand: at speed 10 an e2e of 1.204 s becomes 0.1204 s."""
    nodes = engine_nodes(Path(), prefill=1, decode=1, pool="p", model_id="m", is_cache_shared=True)
    *_, leg = simulate([request()], shape())
    line = json.loads(record(leg, nodes, Timeline(100.0, speed=10.0)))
    assert line["e2e_latency"] == pytest.approx(0.1204)


def node(folder: Path) -> EngineNode:
    return engine_nodes(folder, prefill=1, decode=1, pool="p", model_id="m", is_cache_shared=True)[
        0
    ]


def test_files_are_named_by_the_local_hour(tmp_path: Path):
    """By hand: 18:29 and 18:31 UTC are 23:59 and 00:01 in Kolkata (+05:30)."""
    file = ExportFile(node(tmp_path), ZoneInfo("Asia/Kolkata"))
    at = datetime(2026, 8, 20, 18, 29, tzinfo=UTC)
    file.write(b"a\n", at.timestamp())
    file.write(b"b\n", (at + timedelta(minutes=2)).timestamp())
    file.close()
    names = sorted(path.name for path in (tmp_path / "prefill-1").iterdir())
    assert names == [
        "sglang-request-metrics-20260820_23.log",
        "sglang-request-metrics-20260821_00.log",
    ]


def test_the_hour_that_repeats_is_appended_to(tmp_path: Path):
    """Berlin, 25 October 2026: 00:30 and 01:30 UTC are both 02:30."""
    for hour in (0, 1):
        file = ExportFile(node(tmp_path), ZoneInfo("Europe/Berlin"))
        file.write(b"line\n", datetime(2026, 10, 25, hour, 30, tzinfo=UTC).timestamp())
        file.close()
    (path,) = (tmp_path / "prefill-1").iterdir()
    assert path.name == "sglang-request-metrics-20261025_02.log"
    assert path.read_bytes() == b"line\nline\n"


def test_a_line_is_on_disk_when_it_is_written(tmp_path: Path):
    """One system call a line: nothing waits in a buffer for a process that may be killed."""
    file = ExportFile(node(tmp_path), UTC)
    file.write(b"whole line\n", 0.0)
    (path,) = (tmp_path / "prefill-1").iterdir()
    assert path.read_bytes() == b"whole line\n"
    file.close()
