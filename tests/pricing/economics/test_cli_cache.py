"""`tokentill cache curve`: published counts of Mooncake's traces, and what a person may mistype."""

import json

import pytest
import typer
from typer.testing import CliRunner

from pricing import cli_cache


def run(*arguments):
    """Result of `tokentill cache curve` with `arguments`."""
    app = typer.Typer()
    cli_cache.register(app)
    app.callback()(lambda: None)
    return CliRunner().invoke(app, ["cache", "curve", *map(str, arguments)])


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
