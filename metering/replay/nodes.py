"""The nodes of a replayed cluster and the two clocks: the trace's and the wall's."""

from pathlib import Path
from typing import Any, NamedTuple

from metering.usage import Stage

ENGINE = "sglang"
ENGINE_VERSION = "0.5.23"
BOOTSTRAP_PORT = 8998


class EngineNode(NamedTuple):
    """One SGLang server as the files, the metrics and cluster.json know it."""

    node_id: str
    stage: Stage
    pool: str
    model_id: str
    host: str
    log_folder: Path
    has_shared_cache: bool

    def described(self, metrics_url: str | None) -> dict[str, Any]:
        """The node's entry in cluster.json."""
        return {
            "node_id": self.node_id,
            "stage": self.stage.value,
            "pool": self.pool,
            "model_id": self.model_id,
            "engine": ENGINE,
            "engine_version": ENGINE_VERSION,
            "log_dir": str(self.log_folder),
            "metrics_url": metrics_url,
        }


class Timeline(NamedTuple):
    """Wall time of a trace's time. origin_at: seconds since 1970 of the trace's beginning."""

    origin_at: float
    speed: float = 1.0

    def at(self, trace_seconds: float) -> float:
        """Seconds since 1970 at `trace_seconds` since the trace's beginning."""
        return self.origin_at + trace_seconds / self.speed

    def lasting(self, trace_seconds: float) -> float:
        """Seconds that `trace_seconds` of the trace take."""
        return trace_seconds / self.speed


def engine_nodes(
    out: Path, *, prefill: int, decode: int, pool: str, model_id: str, is_cache_shared: bool
) -> tuple[EngineNode, ...]:
    """`prefill` prefill nodes, then `decode` decode nodes, each with its folder below `out`."""
    nodes = []
    for stage, count in ((Stage.PREFILL, prefill), (Stage.DECODE, decode)):
        for number in range(1, count + 1):
            node_id = f"{stage.value}-{number}"
            nodes.append(
                EngineNode(
                    node_id=node_id,
                    stage=stage,
                    pool=pool,
                    model_id=model_id,
                    host=f"10.0.{3 if stage is Stage.PREFILL else 4}.{10 + number % 240}",
                    log_folder=out / node_id,
                    has_shared_cache=is_cache_shared,
                )
            )
    return tuple(nodes)
