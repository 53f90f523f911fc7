"""/metrics: names and labels of a real server, counters that agree with the lines."""

import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from metering.errors import ConfigInvalid
from metering.replay.cluster import Faults, Simulation
from metering.replay.customers import Customers
from metering.replay.metrics import NodeMetrics
from metering.replay.metrics_server import serving
from metering.replay.run import Replay, ReplaySettings
from metering.sources import parse_metrics
from metering.sources.record import NodeIdentity
from tests.metering.replay.parts import NOW, PLAIN, lines_of, request, shape

NODE = NodeIdentity(node_id="decode-1", stage="decode", model_id="glm-5.2")
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series_of(text: str) -> Series:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def text_of(metrics: NodeMetrics) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    return generate_latest(registry).decode()


def scraped(metrics: NodeMetrics) -> Series:
    return series_of(text_of(metrics))


def total(series: Series, name: str, **labels: str) -> float:
    """Sum of the series called `name` that have these labels."""
    return sum(
        value
        for (found, has), value in series.items()
        if found == name and has.issuperset(labels.items())
    )


def played(out: Path, **faults: float) -> Replay:
    settings = ReplaySettings(shape=shape(), faults=Faults(**faults), tenants=3)
    run = Replay(
        lambda: (request(i * 2.0, [(i % 20 * 10, 9), (1000 + i, 1)]) for i in range(200)),
        settings,
        out,
    )
    run.announce()
    run.run(NOW)
    return run


@pytest.mark.parametrize("place", [0, 1])
def test_counters_agree_with_the_lines(tmp_path: Path, place: int):
    """Facts §1a: with no client gone, the sums over the file are the counters, label by label."""
    run = played(tmp_path, retry_share=0.1, kv_failure_share=0.1)
    series = scraped(run.metrics[place])
    sums: Counter[tuple[str, str, str]] = Counter()
    for line in lines_of(run.nodes[place].log_folder):
        labels = line["request_parameters"].get("custom_labels", {})
        owner = labels.get("tenant", ""), labels.get("project", "")
        sums["prompt", *owner] += line["prompt_tokens"]
        sums["generation", *owner] += line["completion_tokens"]
        sums["cached", *owner] += line["cached_tokens"]
    for (kind, tenant, project), tokens in sums.items():
        name = f"sglang:{kind}_tokens_total"
        assert total(series, name, tenant=tenant, project=project) == tokens
    assert total(series, "sglang:num_requests_total") == len(lines_of(run.nodes[place].log_folder))


def test_only_the_counters_know_a_client_that_left(tmp_path: Path):
    """Facts §1a: counter prompt and generation and one request each, no line in the file."""
    run = played(tmp_path, abort_share=0.2)
    series = scraped(run.metrics[1])
    aborted = total(series, "sglang:num_aborted_requests_total", tenant="", engine_type="decode")
    lines = lines_of(run.nodes[1].log_folder)
    assert 20 < aborted < 60
    assert total(series, "sglang:num_requests_total") == len(lines) + aborted
    written_tokens = sum(line["prompt_tokens"] for line in lines)
    assert total(series, "sglang:prompt_tokens_total") == written_tokens + 1000 * aborted


@pytest.mark.parametrize(("place", "stage"), [(0, "prefill"), (1, "decode")])
def test_names_and_labels_are_those_of_a_real_server(
    tmp_path: Path, shared: Path, place: int, stage: str
):
    """../shared/data/engines: same family, same label names but for the allowed custom labels."""
    text = (shared / f"data/engines/sglang_metrics_{stage}.prom").read_text(encoding="utf-8")
    real = {name: {key for key, _ in labels} for name, labels in series_of(text)}
    run = played(tmp_path, abort_share=0.1, kv_failure_share=0.1)
    of_engine = [key for key in scraped(run.metrics[place]) if key[0].startswith("sglang:")]
    for name, labels in of_engine:
        names = {key for key, _ in labels}
        assert names - {"project"} == real[name], name
        assert dict(labels)["engine_type"] == stage


def test_utilization_is_as_useless_as_the_real_one(tmp_path: Path):
    """Facts §1d: −1 on prefill, stuck at 0 on decode."""
    run = played(tmp_path)
    found = [total(scraped(metrics), "sglang:utilization") for metrics in run.metrics]
    assert found == [-1, 0]


def test_gauges_show_the_moment(tmp_path: Path):
    """By hand: when the first answer ends at 1.204 s, the second prompt runs (1,001 of 100,000
    tokens) and the third waits."""
    simulation = Simulation(shape(), Customers(1, 1), Faults(), 1)
    node = played(tmp_path).nodes[0]
    metrics = NodeMetrics(node, PLAIN, lambda: simulation.load(0))
    asked = [request(at, [(int(at * 100), 10)]) for at in (0.0, 0.1, 0.2)]
    answers = (leg for leg in simulation.run(asked) if not leg.is_prefill)
    next(answers)
    series = scraped(metrics)
    assert total(series, "sglang:num_running_reqs") == 1
    assert total(series, "sglang:num_queue_reqs") == 1
    assert total(series, "DCGM_FI_DEV_GPU_UTIL", gpu="7") == 100
    assert total(series, "sglang:token_usage") == pytest.approx(0.01001)


def test_devices_are_named_as_by_the_vendors_exporter(tmp_path: Path, shared: Path):
    """../shared/data/engines/mt_dcgm.prom: same names and labels; 8 cards, idle at 110 W each."""
    text = (shared / "data/engines/mt_dcgm.prom").read_text(encoding="utf-8")
    real = {name: {key for key, _ in labels} for name, labels in series_of(text)}
    series = scraped(played(tmp_path).metrics[1])
    of_devices = [key for key in series if key[0].startswith("DCGM")]
    assert len(of_devices) == 2 * 8
    assert all({key for key, _ in labels} == real[name] for name, labels in of_devices)
    assert total(series, "DCGM_FI_DEV_POWER_USAGE") == 8 * 110


def test_every_node_is_served_on_its_own_port(tmp_path: Path):
    """Real HTTP on loopback; the scrape says which stage it is."""
    run = played(tmp_path)
    with serving(run.metrics, 0) as urls:
        texts = [urllib.request.urlopen(url, timeout=10).read().decode() for url in urls]  # noqa: S310
    assert len(set(urls)) == 2
    assert all(url.startswith("http://127.0.0.1:") for url in urls)
    assert ['engine_type="prefill"' in text for text in texts] == [True, False]


def test_a_taken_port_is_named(tmp_path: Path):
    """The message names the port and the option."""
    run = played(tmp_path)
    with serving(run.metrics[:1], 0) as (url,):
        port = int(url.split(":")[2].partition("/")[0])
        with (
            pytest.raises(ConfigInvalid, match=f"port {port} .* --serve-metrics-port"),
            serving(run.metrics[:1], port),
        ):
            pass


def test_intervals_are_those_between_the_tokens_of_the_lines(tmp_path: Path):
    """Facts §1d: each token after the first push, which holds 50 of an answer that is not streamed.

    Plain hardware decodes a token in 10 ms, so that all lie in the buckets around it.
    """
    source = [request(i * 2.0, [(i * 10, 10)], output_tokens=60) for i in range(40)]
    run = Replay(lambda: iter(source), ReplaySettings(shape=shape()), tmp_path)
    run.announce()
    run.run(NOW)
    series = scraped(run.metrics[1])
    lines = [line for line in lines_of(run.nodes[1].log_folder) if line["completion_tokens"] == 60]
    streamed = sum(line["request_parameters"]["stream"] for line in lines)
    name, tokens = "sglang:inter_token_latency_seconds", 59 * streamed + 10 * (40 - streamed)
    assert 0 < streamed < len(lines) == 40
    assert total(series, f"{name}_count") == total(series, f"{name}_bucket", le="0.015") == tokens
    assert total(series, f"{name}_bucket", le="0.008") == 0
    assert not any(key.startswith(name) for key, _ in scraped(run.metrics[0]))
    (row,) = parse_metrics("sglang_metrics", text_of(run.metrics[1]), NODE, NOW)
    assert row["itl_by_bucket"]["+Inf"] == tokens
