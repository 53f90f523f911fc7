"""Parts that several replay tests use: small clusters, their lines, a fixed clock."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from metering.replay.cluster import ClusterShape, Faults, Simulation
from metering.replay.customers import Customers
from metering.replay.hardware import PROFILES, HardwareProfile
from metering.replay.legs import Leg
from metering.replay.request import Source, TraceRequest
from metering.replay.run import Pace, Replay, ReplaySettings, Totals

NOW = datetime(2026, 8, 20, 12, 0, tzinfo=UTC)
# Round numbers, so that times can be worked out by hand.
PLAIN = HardwareProfile(
    name="plain",
    meaning="1,000 uncached tokens/s, 10,000 cached or moved tokens/s, 0.01 s an output token",
    prefill_tokens_per_second=1_000,
    kv_load_tokens_per_second=10_000,
    kv_transfer_tokens_per_second=10_000,
    decode_seconds_per_token=0.01,
    decode_seconds_per_token_per_request=0.0,
    kv_capacity_tokens=100_000,
)


def request(at: float = 0.0, blocks: Iterable[tuple[int, int]] = (), **change: Any) -> TraceRequest:
    """1,000 tokens in and 11 out in blocks of 100; a test changes what it is about."""
    base: dict[str, Any] = {"input_tokens": 1000, "output_tokens": 11, "block_tokens": 100}
    return TraceRequest(arrival_seconds=at, block_runs=tuple(blocks), **(base | change))


def shape(prefill: int = 1, decode: int = 1, **change: Any) -> ClusterShape:
    """A cluster of plain hardware."""
    base: dict[str, Any] = {"hardware": PLAIN}
    return ClusterShape(prefill_nodes=prefill, decode_nodes=decode, **(base | change))


def simulate(requests: Iterable[TraceRequest], on: ClusterShape, **faults: float) -> list[Leg]:
    """The legs of `requests`, in order of their end."""
    simulation = Simulation(on, Customers(3, 1), Faults(**faults), 1)
    return list(simulation.run(requests))


def steady(count: int, gap_seconds: float = 1.0) -> Source:
    """`count` requests, one every `gap_seconds`, each with a prompt of its own."""
    return lambda: (request(i * gap_seconds, [(i * 10, 10)]) for i in range(count))


def play(source: Source, out: Path, *, pace: Pace | None = None, **change: Any) -> Totals:
    """Replay `source` into `out`, ending or beginning at `NOW`, file names in UTC."""
    base: dict[str, Any] = {"shape": shape(), "zone": UTC, "tenants": 3}
    run = Replay(source, ReplaySettings(**(base | change)), out)
    run.announce()
    return run.run(NOW, pace)


def fast_shape(prefill: int, decode: int, **change: Any) -> ClusterShape:
    """A cluster on which the public traces run without a growing queue."""
    return shape(prefill, decode, hardware=PROFILES["s5000-deepseek-v3"], **change)


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Every line of a node's files, request_parameters decoded, in order of file and line."""
    lines = []
    for path in sorted(folder.glob("sglang-request-metrics-*.log")):
        for text in path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            line["request_parameters"] = json.loads(line["request_parameters"])
            lines.append(line)
    return lines


def served(folder: Path) -> list[dict[str, Any]]:
    """The lines of a node that are not its own warm-up."""
    return [
        line
        for line in lines_of(folder)
        if line["request_parameters"]["bootstrap_host"] != "2.2.2.2"
    ]
