"""Histograms of inter-token latency in engines' /metrics → itl_by_bucket."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from metering.sidecar.batch import sample_batch, sample_record
from metering.sources import parse_metrics
from metering.sources.record import NodeIdentity
from metering.usage import BUCKETS_MAX
from metering.wire import SAMPLE_SCHEMA, to_batch

NODE = NodeIdentity(node_id="n1", stage="unified", model_id="m")
AT = datetime(2026, 11, 30, 14, tzinfo=UTC)
VLLM = "vllm:inter_token_latency_seconds_bucket"
SGLANG = "sglang:inter_token_latency_seconds_bucket"


def itl(source: str, text: str) -> dict[str, int] | None:
    """itl_by_bucket of the one row of `text`, as it comes out of Arrow."""
    batch = to_batch(parse_metrics(source, text, NODE, AT), SAMPLE_SCHEMA)
    (found,) = batch.column("itl_by_bucket").to_pylist()
    return None if found is None else dict(found)


def series(name: str, counts: dict[str, int], **labels: str) -> str:
    """One label set of a histogram."""
    texts = [*(f'{key}="{value}"' for key, value in labels.items()), 'model_name="m"']
    return "".join(
        f'{name}{{{",".join([*texts, f"""le="{le}" """.strip()])}}} {n}\n'
        for le, n in counts.items()
    )


def first_tokens(text: str) -> int:
    """Answers that have begun, as the engine counts them."""
    lines = [line for line in text.splitlines() if "time_to_first_token_seconds_count{" in line]
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)


@pytest.mark.parametrize(
    ("name", "tokens", "begun"),
    [
        ("plain/metrics_before.prom", 0, 0),
        ("plain/metrics_after.prom", 716, 59),
        ("plain/metrics_final.prom", 5_709, 200),
        ("pd/prefill_after_all.prom", 84, 78),
    ],
)
def test_vllm_counts_every_token_but_the_first(
    shared: Path, name: str, tokens: int, begun: int
) -> None:
    """Captures of a real vLLM: all intervals = generated tokens − answers that have begun."""
    text = (shared / "data/real_engine" / name).read_text()
    (row,) = parse_metrics("vllm_metrics", text, NODE, AT)
    assert (row["counter_output_tokens"], first_tokens(text)) == (tokens, begun)
    assert row["itl_by_bucket"]["+Inf"] == tokens - begun


def test_buckets_are_the_engines_own(shared: Path) -> None:
    """The capture's own lines: 2,020 intervals up to 10 ms, 5,233 up to 25 ms; 20 bounds."""
    text = (shared / "data/real_engine/plain/metrics_final.prom").read_text()
    counts = itl("vllm_metrics", text)
    assert counts is not None
    assert (counts["0.01"], counts["0.025"], counts["80.0"], len(counts)) == (2020, 5233, 5509, 20)


def test_real_sglang(shared: Path) -> None:
    """The capture's own lines: 733 in all, 249 up to 6 ms, one above 100 ms."""
    text = (shared / "data/real_engine/sglang/plain/metrics_final.prom").read_text()
    counts = itl("sglang_metrics", text)
    assert counts is not None
    assert (counts["0.006"], counts["0.1"], counts["+Inf"], len(counts)) == (249, 732, 733, 24)


def test_sglang_counts_by_token_what_follows_the_first_push(shared: Path) -> None:
    """Two streams of 1,342 tokens together; each first one is no interval: 1,340."""
    text = (shared / "data/engines/full/sglang_metrics_unified.prom").read_text()
    counts = itl("sglang_metrics", text)
    assert counts is not None
    assert counts["+Inf"] == 1_342 - 2


def test_before_its_first_interval_sglang_counts_none(shared: Path) -> None:
    """A prefill server never has one: the scheduler reports, so it is 0, not unknown."""
    text = (shared / "data/engines/full/sglang_metrics_prefill.prom").read_text()
    assert itl("sglang_metrics", text) == {"+Inf": 0}
    assert itl("sglang_metrics", 'sglang:prompt_tokens_total{model_name="m"} 5\n') is None


def test_label_sets_are_added_and_ranks_taken_once() -> None:
    """By hand: tenants 1 + 2 and 5 + 7; a second tensor rank repeats the first."""
    tenants = series(SGLANG, {"0.01": 1, "+Inf": 5}, tenant="a")
    tenants += series(SGLANG, {"0.01": 2, "+Inf": 7}, tenant="b")
    assert itl("sglang_metrics", tenants) == {"0.01": 3, "+Inf": 12}
    ranks = "".join(series(VLLM, {"0.01": 3, "+Inf": 4}, tp_rank=rank) for rank in "01")
    assert itl("vllm_metrics", ranks) == {"0.01": 3, "+Inf": 4}


def test_replicas_are_added_and_the_older_name_is_read() -> None:
    """Two data-parallel engines of an older vLLM: 3 + 1 up to 10 ms, 4 + 2 in all."""
    name = "vllm:time_per_output_token_seconds_bucket"
    text = series(name, {"0.01": 3, "+Inf": 4}, engine="0")
    text += series(name, {"0.01": 1, "+Inf": 2}, engine="1")
    assert itl("vllm_metrics", text) == {"0.01": 4, "+Inf": 6}


@pytest.mark.parametrize("counts", [{"0.01": 3}, dict.fromkeys([*map(str, range(129)), "+Inf"], 1)])
def test_half_a_histogram_and_an_endless_one_are_unknown(counts: dict[str, int]) -> None:
    """Without +Inf nobody knows how many lie above; over 128 bounds no engine has."""
    assert BUCKETS_MAX == 128
    assert itl("vllm_metrics", series(VLLM, counts)) is None


def test_a_sample_survives_the_spool(shared: Path) -> None:
    """A sidecar keeps rows as JSON until they are sent."""
    text = (shared / "data/real_engine/plain/metrics_after.prom").read_text()
    (row,) = parse_metrics("vllm_metrics", text, NODE, AT)
    (kept,) = sample_batch([sample_record(row)]).column("itl_by_bucket").to_pylist()
    assert dict(kept) == itl("vllm_metrics", text)
