"""How the sidecar is: one document for the log, the status command and Prometheus."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class SourceHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One source. lag_bytes: seen and not delivered. totals: since its first start."""

    name: str
    lag_bytes: int
    lag_seconds: float | None
    delivered_at: str | None
    trouble: str
    totals: dict[str, int]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The sidecar as a whole. clock_skew_seconds: the collector's clock minus the node's."""

    at: str
    node: str
    stage: str
    pid: int
    collector: str
    watermark_at: str | None
    clock_skew_seconds: float | None
    rejected_files: int
    sources: list[SourceHealth]

    def log_fields(self) -> dict[str, Any]:
        """The health line's keys and values."""
        totals: dict[str, int] = {}
        for source in self.sources:
            for name, count in source.totals.items():
                totals[name] = totals.get(name, 0) + count
        return {
            "node": self.node,
            "stage": self.stage,
            "collector": self.collector,
            "watermark_at": self.watermark_at,
            "clock_skew_seconds": self.clock_skew_seconds,
            "lag_bytes": sum(source.lag_bytes for source in self.sources),
            "troubles": {s.name: s.trouble for s in self.sources if s.trouble},
            "rejected_files": self.rejected_files,
            **dict(sorted(totals.items())),
        }


PREFIX: Final = "tokentill_sidecar_"


class HealthMetrics(Collector):
    """Health as Prometheus metrics."""

    def __init__(self, health: Callable[[], Health | None]) -> None:
        self._health = health

    def collect(self) -> Iterable[Metric]:
        """The metrics of the last look."""
        health = self._health()
        if health is None:
            return
        records = CounterMetricFamily(
            PREFIX + "records", "Records by source and outcome", labels=("source", "outcome")
        )
        read = CounterMetricFamily(PREFIX + "read_bytes", "Bytes of lines", labels=("source",))
        lost = CounterMetricFamily(
            PREFIX + "lost_bytes", "Bytes seen, never sent, and gone", labels=("source",)
        )
        lag = GaugeMetricFamily(
            PREFIX + "lag_bytes", "Bytes seen and not delivered", labels=("source",)
        )
        troubled = GaugeMetricFamily(
            PREFIX + "source_troubled", "1: the source cannot be read or sent", labels=("source",)
        )
        for source in health.sources:
            counts = dict(source.totals)
            read.add_metric((source.name,), counts.pop("bytes", 0))
            lost.add_metric((source.name,), counts.pop("lost_bytes", 0))
            for outcome, count in counts.items():
                records.add_metric((source.name, outcome), count)
            lag.add_metric((source.name,), source.lag_bytes)
            troubled.add_metric((source.name,), 1 if source.trouble else 0)
        yield from (records, read, lost, lag, troubled)
        yield GaugeMetricFamily(
            PREFIX + "rejected_files", "Batches that the collector refused", health.rejected_files
        )
        if health.clock_skew_seconds is not None:
            yield GaugeMetricFamily(
                PREFIX + "clock_skew_seconds",
                "The collector's clock minus the node's",
                health.clock_skew_seconds,
            )


def serve_metrics(port: int, health: Callable[[], Health | None]) -> Callable[[], None]:
    """Serve health on 127.0.0.1:`port`/metrics; returns what ends it. Raises OSError."""
    registry = CollectorRegistry()
    registry.register(HealthMetrics(health))
    server, thread = start_http_server(port, "127.0.0.1", registry)

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return close
