"""The command: a real process, its exit codes, its files, a stop in the middle."""

import json
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.metering.replay.parts import lines_of, served


def command(root: Path, *options: str) -> list[str]:
    return [sys.executable, str(root / "tokentill.py"), "replay", *options]


def run(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(root, *options), capture_output=True, text=True, check=False)


def start(root: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(root, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def waited_for(path: Path, process: subprocess.Popen[str]) -> Path:
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return path


def described(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_workload_is_written_and_its_totals_printed(root: Path, tmp_path: Path):
    """Two prefill and four decode servers by default; --json is done.json on one line."""
    done = run(
        root, "--workload", "white-paper", "--requests", "50", "--out", str(tmp_path), "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == described(tmp_path / "done.json")
    assert described(tmp_path / "done.json")["requests"] == 50
    assert len(described(tmp_path / "cluster.json")["nodes"]) == 6


def test_tz_changes_the_names_and_nothing_else(root: Path, tmp_path: Path, monkeypatch: Any):
    """SGLang names its files by local time; the totals know no zone."""
    printed = []
    for zone in ("UTC", "Asia/Shanghai"):
        monkeypatch.setenv("TZ", zone)
        done = run(root, "--requests", "20", "--out", str(tmp_path / zone), "--json")
        printed.append(json.loads(done.stdout))
    keys = ("requests", "input_tokens", "cached_input_tokens", "output_tokens", "lines_by_node")
    assert [printed[0][key] for key in keys] == [printed[1][key] for key in keys]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stop_leaves_whole_lines(root: Path, tmp_path: Path, sent: signal.Signals):
    """However it ends, every line is JSON and done.json does not claim the end."""
    process = start(root, "--speed", "200", "--out", str(tmp_path))
    waited_for(tmp_path / "cluster.json", process)
    while not served_lines(tmp_path):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(sent)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert all(lines_of(folder) for folder in tmp_path.glob("*-*"))
    assert not (tmp_path / "done.json").exists()


def served_lines(out: Path) -> int:
    """Nodes that wrote more than their warm-up so far."""
    return sum(p.read_bytes().count(b"\n") > 1 for p in out.glob("*/*.log"))


def test_metrics_stay_until_stopped(root: Path, tmp_path: Path):
    """The endpoints outlive the last line, so that the last counters can be scraped."""
    process = start(root, "--requests", "30", "--out", str(tmp_path), "--serve-metrics-port", "0")
    waited_for(tmp_path / "done.json", process)
    for node in described(tmp_path / "cluster.json")["nodes"]:
        text = urllib.request.urlopen(node["metrics_url"], timeout=10).read().decode()  # noqa: S310
        counted = sum(
            float(line.split()[-1])
            for line in text.splitlines()
            if line.startswith("sglang:num_requests_total")
        )
        assert counted == len(lines_of(Path(node["log_dir"])))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    process.communicate()


def test_real_time_writes_now(root: Path, tmp_path: Path):
    """At a pace nothing is written before its time, and the last line is of now."""
    began_at = time.time()
    done = run(root, "--requests", "20", "--speed", "100", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    ends = [line["request_finished_ts"] for n in tmp_path.glob("*-*") for line in served(n)]
    assert began_at < min(ends)
    assert max(ends) <= time.time()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--trace", "x", "--workload", "white-paper"], "either --trace or --workload"),
        (["--history-days", "3", "--speed", "2"], "leave --speed out"),
        (["--outage-hours-ago", "9"], "add --history-days"),
        (["--hardware", "abacus"], "s5000-glm-5.2"),
        (["--retries", "1.5"], "less than or equal to 1"),
    ],
)
def test_wrong_usage_ends_with_2(root: Path, tmp_path: Path, options: list[str], told: str):
    """And says what is right."""
    done = run(root, "--out", str(tmp_path / "out"), *options)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.replace("│", "").split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--trace", "/nowhere/trace"], "No such file"),
        (["--prefill", "0"], "prefill_nodes"),
        (["--aborts", "0.6", "--retries", "0.6"], "Lower them"),
        (["--history-days", "1000"], "--history-days"),
    ],
)
def test_expected_failures_end_with_1(root: Path, tmp_path: Path, options: list[str], told: str):
    """One message on stderr, nothing on stdout."""
    done = run(root, "--out", str(tmp_path), *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_told(root: Path, tmp_path: Path):
    """A limit of 20 KiB a file stands for the full disk: exit 1 and what to do."""
    limited = f"ulimit -f 20; exec {shlex.join(command(root, '--out', str(tmp_path / 'out')))}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "free space, then replay into an empty folder" in done.stderr
    assert not (tmp_path / "out" / "done.json").exists()


def test_an_idle_server_runs_and_serves_nothing(root: Path, tmp_path: Path):
    """20 requests and a warm-up a server; the idle one has its warm-up alone."""
    sizes = ("--requests", "20", "--prefill", "1", "--decode", "1", "--idle", "1")
    assert run(root, *sizes, "--out", str(tmp_path)).returncode == 0
    totals = json.loads((tmp_path / "done.json").read_text())
    assert totals["lines_by_node"] == {"prefill-1": 21, "decode-1": 21, "decode-2": 1}
