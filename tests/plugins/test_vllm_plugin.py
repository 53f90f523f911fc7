"""The vLLM plug-in end to end: a step's statistics → a file → rows."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokentill_vllm.finished import Finished
from tokentill_vllm.hourly_file import HourlyFile
from tokentill_vllm.stat_logger import FOLDER_VARIABLE, TokentillStatLogger
from tokentill_vllm.writer import Writer

from metering.errors import UsageInvalid
from metering.sources import parse_line
from metering.sources.record import NodeIdentity, Row

ROOT = Path(__file__).resolve().parents[2]
NODE = NodeIdentity(node_id="d1", stage="decode", model_id="configured")
CONFIG = SimpleNamespace(model_config=SimpleNamespace(served_model_name=["glm-5.2"]))


def lines(folder: Path) -> list[bytes]:
    return [
        line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().split(b"\n")
    ]


def rows(folder: Path, node: NodeIdentity = NODE) -> list[Row]:
    parsed = (parse_line("vllm_stats", line, node, "f:0") for line in lines(folder))
    return [row for row in parsed if row is not None]


def step(*requests: Any, calls: list[int] | None = None) -> SimpleNamespace:
    """What vLLM hands over after one step of the engine."""
    n = [1] * len(requests) if calls is None else calls
    return SimpleNamespace(
        finished_requests=list(requests), n_params_iter=n, iteration_timestamp=1796046485.30712
    )


def request(**changes: Any) -> SimpleNamespace:
    """A FinishedRequestStats of 0.33.0 by hand."""
    base = {
        "finish_reason": "stop",
        "request_id": "chatcmpl-req-1",
        "e2e_latency": 3.2,
        "num_prompt_tokens": 4211,
        "num_preemptions": 0,
        "num_generation_tokens": 318,
        "max_tokens_param": 512,
        "queued_time": 0.05,
        "prefill_time": 0.35,
        "decode_time": 2.7,
        "num_cached_tokens": 3072,
    }
    return SimpleNamespace(**(base | changes))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Records steps through a plug-in and gives the folder with what it wrote."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    plugin = TokentillStatLogger(CONFIG, 0)

    def record(*steps: SimpleNamespace) -> Path:
        for one in steps:
            plugin.record(None, one, None, engine_idx=0)
        assert plugin._writer is not None
        plugin._writer.close()
        return tmp_path

    return record


def test_a_finished_request_becomes_a_leg(written: Callable[..., Path]) -> None:
    """By hand: arrival = 1796046485.30712 - 3.2 = 1796046482.10712."""
    (row,) = rows(written(step(request())))
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (
        4211,
        3072,
        318,
    )
    assert row["started_at"].isoformat() == "2026-11-30T13:48:02.107120+00:00"
    assert row["finished_at"].isoformat() == "2026-11-30T13:48:05.307120+00:00"
    assert (row["join_key"], row["client_request_id"]) == ("chatcmpl-req-1", "req-1")
    assert (row["model_id"], row["engine"], row["status"]) == ("glm-5.2", "vllm", "ok")
    assert (row["queue_seconds"], row["decode_seconds"]) == (0.05, 2.7)


def test_the_sample_of_a_real_plugin(shared: Path, written: Callable[..., Path]) -> None:
    """What vLLM 0.33.0 hands to a plug-in: data/engines/vllm_finished_request_stats.json."""
    sample = json.loads((shared / "data/engines/vllm_finished_request_stats.json").read_text())
    (row,) = rows(written(step(*[SimpleNamespace(**r) for r in sample])))
    assert (row["input_tokens"], row["cached_input_tokens"], row["output_tokens"]) == (
        4211,
        3072,
        318,
    )


def test_samples_of_one_call_share_a_group(written: Callable[..., Path]) -> None:
    """n=2 on a unified engine: two legs of one group of two; a decode leg's group is its key."""
    sample = request(num_prompt_tokens=48, num_generation_tokens=4)
    folder = written(step(sample, calls=[]), step(sample, calls=[2]))
    unified = NodeIdentity(node_id="n", stage="unified", model_id="m")
    assert {(r["group_size"], r["output_tokens"]) for r in rows(folder, unified)} == {(2, 4)}
    assert len({r["group_id"] for r in rows(folder, unified)}) == 1
    assert {r["group_id"] for r in rows(folder)} == {"chatcmpl-req-1"}


def test_samples_of_one_step_keep_their_order(written: Callable[..., Path]) -> None:
    """Cold, n=2 (vLLM 0.32, prefill): 0 and 672 cached in one step; the first one is the bill's."""
    found = [request(num_cached_tokens=cached) for cached in (0, 672)]
    read = rows(written(step(*found, calls=[2])))
    first, second = sorted(read, key=lambda row: row["finished_at"])
    assert first["finished_at"] < second["finished_at"]
    assert (first["cached_input_tokens"], second["cached_input_tokens"]) == (0, 672)
    assert len({row["started_at"].replace(microsecond=0) for row in read}) == 1


def test_pooling_requests_are_embeddings(written: Callable[..., Path]) -> None:
    """A pooling request has no max_tokens; its output is 0."""
    (row,) = rows(written(step(request(max_tokens_param=None, num_generation_tokens=0))))
    assert (row["operation"], row["output_tokens"]) == ("embedding", 0)


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("stop", "ok"),
        ("length", "ok"),
        ("repetition", "ok"),
        ("abort", "aborted"),
        ("error", "error"),
    ],
)
def test_status(written: Callable[..., Path], reason: str, status: str) -> None:
    """The five finish reasons of 0.33.0."""
    (row,) = rows(written(step(request(finish_reason=reason))))
    assert row["status"] == status


def test_unknown_stays_unknown(written: Callable[..., Path]) -> None:
    """vLLM's -1 means not looked up; a version without the field says nothing."""
    old = request()
    del old.num_cached_tokens
    read = rows(written(step(request(num_cached_tokens=-1), old)))
    assert [row["cached_input_tokens"] for row in read] == [None, None]


def test_numbers_that_are_not_finite_are_left_out(written: Callable[..., Path]) -> None:
    """NaN is no JSON; the usage is kept."""
    (row,) = rows(written(step(request(queued_time=float("nan")))))
    assert (row["queue_seconds"], row["input_tokens"]) == (None, 4211)


@pytest.mark.parametrize(
    "stats", [None, 7, SimpleNamespace(), SimpleNamespace(finished_requests=3)]
)
def test_nothing_is_raised_into_the_engine(
    stats: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a later version hands over."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    plugin = TokentillStatLogger(None, 0)
    plugin.record(None, stats)
    plugin.log_engine_initialized()
    plugin.log()
    plugin.record_sleep_state(True, 1)  # noqa: FBT003 # as vLLM calls it


def test_without_a_folder_the_plugin_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable, no file, no thread; a bad limit is no reason to stop an engine."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    TokentillStatLogger(CONFIG, 0).record(None, step(request()))
    monkeypatch.setenv(FOLDER_VARIABLE, "/nowhere")
    monkeypatch.setenv("TOKENTILL_VLLM_QUEUE", "many")
    TokentillStatLogger(CONFIG, 0).record(None, step(request()))


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    """A queue of 1: the second step's two requests are lost, and the file says 2."""
    writer = Writer(str(tmp_path), 1, "m")
    one = Finished(1796046485.0, 0, "a", "stop", 1, 0, 1, 8, 0, 1.0)
    writer._lock.acquire()
    writer._waiting = 1
    writer._lock.release()
    writer.put([one, one], [1, 1])
    writer.close()
    (line,) = [line for line in lines(tmp_path) if line]
    with pytest.raises(UsageInvalid, match="lost 2 requests") as refusal:
        parse_line("vllm_stats", line, NODE, "f:0")
    assert refusal.value.field == "records"


LIMITED = """
import resource, sys
from tokentill_vllm.hourly_file import HourlyFile
file = HourlyFile(sys.argv[1])
for i in range(100): file.add(f'{{"line": "{i:096}"}}')
resource.setrlimit(resource.RLIMIT_FSIZE, (4321, resource.RLIM_INFINITY))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try: file.write()
except OSError: print("refused")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
file.write()
"""


def test_a_line_cut_by_a_full_disk_is_finished(tmp_path: Path) -> None:
    """A file limit of 4,321 bytes cuts a line; when it is lifted, all 100 lines are whole."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "plugins/vllm")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "refused\n"
    whole = [int(json.loads(line)["line"]) for line in lines(tmp_path) if line]
    assert whole == list(range(100))


ENDLESS = """
import os, sys, time
from types import SimpleNamespace as S
from tokentill_vllm.stat_logger import TokentillStatLogger
plugin = TokentillStatLogger(None, 0)
for i in range(10**9):
    r = S(finish_reason="stop", request_id=f"r{i}", e2e_latency=1.0, num_prompt_tokens=i,
          num_generation_tokens=1, max_tokens_param=8, num_cached_tokens=0)
    plugin.record(None, S(finished_requests=[r], n_params_iter=[1]))
    time.sleep(0.0001)
"""


def test_a_kill_leaves_whole_lines(tmp_path: Path) -> None:
    """SIGKILL while writing: every line but a cut last one is a record, none is missing between."""
    child = subprocess.Popen(
        [sys.executable, "-c", ENDLESS],
        env=os.environ | {"PYTHONPATH": str(ROOT / "plugins/vllm"), FOLDER_VARIABLE: str(tmp_path)},
    )
    while not any(path.stat().st_size > 200_000 for path in tmp_path.glob("*.jsonl")):
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    *whole, _cut = lines(tmp_path)
    assert [json.loads(line)["seq"] for line in whole] == list(range(1, len(whole) + 1))


def test_pending_bytes_are_known(tmp_path: Path) -> None:
    """The writer stops collecting when the disk does not take the lines."""
    file = HourlyFile(str(tmp_path))
    file.add("abc")
    assert file.pending_bytes == 4
    file.write()
    assert file.pending_bytes == 0


VLLM = """
from abc import ABC, abstractmethod
class StatLoggerBase(ABC):
    @abstractmethod
    def __init__(self, vllm_config, engine_index=0): ...
    @abstractmethod
    def record(self, scheduler_stats, iteration_stats, mm_cache_stats=None, engine_idx=0): ...
    @abstractmethod
    def log_engine_initialized(self): ...
    def log(self): pass
    def record_sleep_state(self, is_awake, level): pass
"""
LOAD = """
from importlib.metadata import EntryPoint
import tomllib, sys
group = tomllib.load(open(sys.argv[1], "rb"))["project"]["entry-points"]["vllm.stat_logger_plugins"]
(plugin,) = [EntryPoint(name, value, "g").load() for name, value in group.items()]
from vllm.v1.metrics.loggers import StatLoggerBase
assert isinstance(plugin, type) and issubclass(plugin, StatLoggerBase)
plugin(None, 0).record(None, None, mm_cache_stats=None, engine_idx=0)
print("loaded")
"""


def test_vllm_accepts_the_plugin(tmp_path: Path) -> None:
    """vLLM refuses to start with a plug-in that is no StatLoggerBase; its interface of 0.32."""
    module = tmp_path / "vllm" / "v1" / "metrics"
    module.mkdir(parents=True)
    (module / "loggers.py").write_text(VLLM)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(ROOT / "plugins/vllm/pyproject.toml")],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'plugins/vllm'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "loaded\n"
