"""`tokentill cache`: published counts of Mooncake's traces, and what a person may mistype."""

import json

import pytest
import typer
from typer.testing import CliRunner

from pricing import cli_cache


def run(*arguments, command="curve"):
    """Result of `tokentill cache` with `arguments`."""
    app = typer.Typer()
    cli_cache.register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["cache", command, *map(str, arguments)])


def test_an_unbounded_cache_hits_what_the_trace_publishes(shared):
    """Mooncake conversation: 54,098,411 of 144,793,823 tokens (facts/economics.md §2 d2)."""
    trace = shared / "data/traces/mooncake_conversation.parquet"
    found = json.loads(run("--trace", trace, "--json").stdout)
    assert (found["input_tokens"], found["block_tokens"]) == (144_793_823, 512)
    assert found["points"][-1]["hit_tokens"] == 54_098_411


def test_sizes_in_gib_need_the_bytes_of_a_token(shared):
    """100 GiB of 51,168 B a token are 2,098,477 tokens: 4,098 whole blocks of 512."""
    trace = shared / "data/traces/mooncake_conversation.parquet"
    assert run("--trace", trace, "--gib", 100).exit_code == 2
    sized = run("--trace", trace, "--gib", 100, "--kv-bytes-per-token", 51168, "--json")
    (point,) = json.loads(sized.stdout)["points"]
    assert point["blocks"] == 100 * 2**30 // (512 * 51_168)


@pytest.mark.parametrize("text", ["", "hello\n", '{"timestamp": 0}\n'])
def test_a_file_that_is_no_trace_is_refused(tmp_path, text):
    """Exit 1 with what was expected."""
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    result = run("--trace", path)
    assert (result.exit_code, "tokentill cache curve" in result.stderr) == (1, True)


def test_one_more_gib_of_the_conversation_trace(shared):
    """By hand from two points of the curve: N·Δr·(0.98·c − 6)/10⁶; nothing at κ = p_h/p_m.

    N is a million million tokens, so a gain of Δr is worth Δr·10⁶ times the margin in CNY.
    """
    trace = ("--trace", shared / "data/traces/mooncake_conversation.parquet")
    size = ("--kv-bytes-per-token", 51168)
    prices = ("--price-input", 8, "--price-cached", 2, "--input-tokens", 10**12)
    points = json.loads(run(*trace, *size, "--gib", 100, "--gib", 101, "--json").stdout)["points"]
    gain = points[1]["hit_ratio"] - points[0]["hit_ratio"]
    asked = (*trace, *size, *prices, "--gib", 100, "--cost-per-million-uncached", 7, "--json")
    found = json.loads(run(*asked, "--kappa", "0.02", command="gib").stdout)
    assert found["hit_ratio_gain"] == pytest.approx(gain)
    assert float(found["traffic_fixed"]) == pytest.approx(gain * 1e6 * (0.98 * 7 - 6))
    even = json.loads(run(*asked, "--kappa", "0.25", command="gib").stdout)
    assert even["compute_fixed"] == "0"  # κ = p_h / p_m


def test_figures_say_unit_window_and_formula(tmp_path, root):
    """Two prompts of two blocks of 512: the window is the trace's 2,048 tokens."""
    trace, section = tmp_path / "trace.jsonl", "docs/formulas.md#94-hit-ratio-against-cache-size"
    line = {"timestamp": 0, "input_length": 1024, "output_length": 1, "hash_ids": [1, 2]}
    trace.write_text(f"{json.dumps(line)}\n" * 2)
    under = run("--trace", trace).stderr
    assert under == f"Hit ratio of the trace's 2,048 input tokens; {section}\n"
    size = ("--trace", trace, "--kv-bytes-per-token", 51168, "--gib", 0)
    prices = ("--price-input", 8, "--price-cached", 2, "--kappa", "0.02")
    printed = " ".join(run(*size, *prices, command="gib").stdout.split())
    assert (
        f"unit currency of the prices, per GiB and 2,048 input tokens formula {section}" in printed
    )
    assert "\n### 9.4 Hit ratio against cache size\n" in (root / "docs/formulas.md").read_text()
