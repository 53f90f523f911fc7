"""/metrics of replayed nodes: SGLang 0.5.23's names and labels, agreeing with the lines it wrote.

Counters of the tokenizer move when a request ends and know more than the file: a client that left
is counted and never written. As in the engine there is no `_created` series, so a restart shows
only as a decrease.
"""

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from metering.replay.cluster import NodeLoad
from metering.replay.devices import DeviceMetrics
from metering.replay.hardware import HardwareProfile
from metering.replay.intervals import Intervals
from metering.replay.legs import Ending, Leg
from metering.replay.nodes import EngineNode, Timeline
from metering.replay.request import Customer
from metering.replay.sglang_files import WARMUP_INPUT_TOKENS, warmup_output_tokens
from metering.usage import Stage

PAGE_TOKENS: Final = 64
NOBODY: Final = Customer("", "", "")

_CUSTOMER = ("api_key_id", "project", "tenant")
_RANKS: Final = {"moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
_COUNTERS: Final = {  # family: (help, labels beside engine_type and model_name)
    "prompt_tokens": ("Number of prefill tokens processed.", ("is_streaming", *_CUSTOMER)),
    "generation_tokens": ("Number of generation tokens processed.", ("is_streaming", *_CUSTOMER)),
    "num_requests": ("Number of requests processed.", ("is_streaming", *_CUSTOMER)),
    "cached_tokens": (
        "Number of cached prompt tokens by source (device/host/storage).",
        ("cache_source", *_CUSTOMER),
    ),
    "num_aborted_requests": ("Number of requests aborted.", _CUSTOMER),
    "num_transfer_failed_reqs": ("The number of transfer failed requests.", tuple(_RANKS)),
    "realtime_tokens": ("Total number of tokens processed.", ("mode", *_RANKS)),
    "prefill_effective_tokens": (
        "Effective prefill tokens with retracted-request re-counts excluded.",
        ("mode", *_RANKS),
    ),
}
_GAUGES: Final = {
    "num_running_reqs": "The number of running requests.",
    "num_queue_reqs": "The number of requests in the waiting queue.",
    "num_used_tokens": "The number of used tokens.",
    "token_usage": "The token usage.",
    "max_total_num_tokens": "Maximum total number of tokens in the KV cache pool.",
    "page_size": "KV cache page size in tokens.",
    "cache_hit_rate": "The prefix cache hit rate.",
    "utilization": "The utilization.",
}


class _Work(NamedTuple):
    """What one ended request adds to the counters, in tokens."""

    customer: Customer
    is_streaming: bool
    input_tokens: int
    cached_tokens: int
    output_tokens: int


class NodeMetrics(Collector):
    """Counters and gauges of one node. load: what the node is busy with when it is scraped."""

    def __init__(
        self, node: EngineNode, hardware: HardwareProfile, load: Callable[[], NodeLoad]
    ) -> None:
        self.node = node
        self._capacity_tokens = hardware.kv_capacity_tokens
        self._devices = DeviceMetrics(node, hardware)
        self._intervals = Intervals()
        self._load = load
        self._lock = Lock()
        self._counts: dict[tuple[str, tuple[str, ...]], int] = {}
        self._prompt_tokens = 0
        self._cached_tokens = 0

    def count_leg(self, leg: Leg, timeline: Timeline) -> None:
        """Count a finished leg, written or not."""
        work = _Work(
            customer=leg.call.customer,
            is_streaming=leg.call.is_streaming,
            input_tokens=leg.call.request.input_tokens,
            cached_tokens=leg.cached_tokens,
            output_tokens=leg.output_tokens,
        )
        with self._lock:
            self._count(work)
            self._add("num_transfer_failed_reqs", int(leg.ending is Ending.TRANSFER_FAILED))
            # Facts: the custom labels of this family are always empty.
            self._add("num_aborted_requests", int(not leg.is_written), _customer_labels(NOBODY))
            self._intervals.count(leg, timeline)

    def count_warmup(self) -> None:
        """Count the request that the engine sends itself at start."""
        work = _Work(
            customer=NOBODY,
            is_streaming=False,
            input_tokens=WARMUP_INPUT_TOKENS,
            cached_tokens=0,
            output_tokens=warmup_output_tokens(self.node.stage),
        )
        with self._lock:
            self._count(work)

    def collect(self) -> Iterable[Metric]:
        """Every family, as of now."""
        with self._lock:
            counts = dict(self._counts)
            intervals = self._intervals.family(*self._engine_labels())
            hit_rate = self._cached_tokens / (self._prompt_tokens or 1)
        yield from self._counter_families(counts)
        if intervals.samples:
            yield intervals
        load = self._load()
        yield from self._gauge_families(load, hit_rate)
        yield from self._devices.families(load)

    def _count(self, work: _Work) -> None:
        owner = _customer_labels(work.customer)
        served = {"is_streaming": str(work.is_streaming).lower(), **owner}
        self._add("prompt_tokens", work.input_tokens, served)
        self._add("generation_tokens", work.output_tokens, served)
        self._add("num_requests", 1, served)
        source = "storage" if self.node.has_shared_cache else "device"
        self._add("cached_tokens", work.cached_tokens, {"cache_source": source, **owner})
        if self.node.stage is Stage.DECODE:
            self._add("realtime_tokens", max(work.output_tokens - 1, 0), {"mode": "decode"})
            return
        computed = work.input_tokens - work.cached_tokens
        self._add("realtime_tokens", computed, {"mode": "prefill_compute"})
        self._add("realtime_tokens", work.cached_tokens, {"mode": "prefill_cache"})
        self._add("prefill_effective_tokens", computed, {"mode": "input"})
        self._add("prefill_effective_tokens", work.cached_tokens, {"mode": f"{source}_hit"})
        self._prompt_tokens += work.input_tokens
        self._cached_tokens += work.cached_tokens

    def _add(self, family: str, amount: int, labels: dict[str, str] | None = None) -> None:
        """A series appears with its first increment, as in the engine."""
        if amount:
            given = _RANKS | (labels or {})
            key = family, tuple(given[name] for name in _COUNTERS[family][1])
            self._counts[key] = self._counts.get(key, 0) + amount

    def _engine_labels(self) -> tuple[str, str]:
        return self.node.stage.value, self.node.model_id

    def _counter_families(
        self, counts: dict[tuple[str, tuple[str, ...]], int]
    ) -> Iterable[CounterMetricFamily]:
        for family, (meaning, labels) in _COUNTERS.items():
            metric = CounterMetricFamily(
                f"sglang:{family}", meaning, labels=("engine_type", "model_name", *labels)
            )
            for (name, values), count in counts.items():
                if name == family:
                    metric.add_metric((*self._engine_labels(), *values), count)
            if metric.samples:
                yield metric

    def _gauge_families(self, load: NodeLoad, hit_rate: float) -> Iterable[GaugeMetricFamily]:
        values = {
            "num_running_reqs": load.running_requests,
            "num_queue_reqs": load.queued_requests,
            "num_used_tokens": load.used_tokens,
            "token_usage": min(load.used_tokens / self._capacity_tokens, 1.0),
            "max_total_num_tokens": self._capacity_tokens,
            "page_size": PAGE_TOKENS,
            "cache_hit_rate": hit_rate,
            "utilization": -1 if self.node.stage is Stage.PREFILL else 0,  # as useless as there
        }
        labels = ("engine_type", "model_name", *_RANKS)
        for name, meaning in _GAUGES.items():
            metric = GaugeMetricFamily(f"sglang:{name}", meaning, labels=labels)
            metric.add_metric((*self._engine_labels(), *_RANKS.values()), values[name])
            yield metric


def _customer_labels(customer: Customer) -> dict[str, str]:
    return {
        "api_key_id": customer.api_key_id,
        "project": customer.project_id,
        "tenant": customer.tenant_id,
    }
