"""Run: a workload through a cluster into a folder of engine files, now or as history.

OUT/cluster.json describes the nodes before the first line is written; OUT/<node>/ holds their
export files; OUT/done.json holds the exact totals once the last line is written.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from metering.replay.cluster import ClusterShape, Faults, Simulation
from metering.replay.customers import Customers
from metering.replay.legs import Leg, Outcome
from metering.replay.metrics import NodeMetrics
from metering.replay.nodes import Timeline, engine_nodes
from metering.replay.request import Source, random_of
from metering.replay.sglang_files import RESPONSE_SECONDS, ExportFile, record, warmup_record

WARMUP_LEAD_SECONDS: Final = 2.0  # the engines are ready that long before the first request
DESCRIPTION: Final = "cluster.json"
TOTALS: Final = "done.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySettings:
    """What is replayed on. zone: local time of the file names; None is the process's own."""

    shape: ClusterShape
    faults: Faults = field(default_factory=Faults)
    tenants: int = 8
    growing: bool = False  # one tenant grows (customers.py)
    seed: int = 1
    model_id: str = "glm-5.2"
    pool: str = "pd-1"
    zone: tzinfo | None = None

    def customers(self) -> Customers:
        """Who sends requests; each call draws from the beginning."""
        return Customers(self.tenants, self.seed, growing=self.growing)


class Pace(NamedTuple):
    """Real time: `speed` trace seconds a second; `wait_until` sleeps until seconds since 1970."""

    speed: float
    wait_until: Callable[[float], None]


@dataclass(slots=True)
class Tally:
    """Requests of one outcome and their tokens: input as prefilled, output as decoded."""

    requests: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0

    def count_leg(self, leg: Leg) -> None:
        """Add a leg: its prompt if it is the prefill leg, its answer if it is the decode leg."""
        if leg.is_prefill:
            self.requests += 1
            self.input_tokens += leg.call.request.input_tokens
            self.cached_input_tokens += leg.cached_tokens
        else:
            self.output_tokens += leg.output_tokens


@dataclass(slots=True)
class Totals:
    """What was played, exactly; a meter that reads the files must find `delivered`."""

    legs: int = 0  # lines written for requests
    warmup_lines: int = 0
    tallies: dict[Outcome, Tally] = field(default_factory=lambda: {o: Tally() for o in Outcome})
    lines_by_node: dict[str, int] = field(default_factory=dict)
    first_received_at: float | None = None  # seconds since 1970
    last_finished_at: float | None = None

    def count_leg(self, leg: Leg, node_id: str) -> None:
        """Add a leg that finished on `node_id`."""
        self.tallies[leg.call.outcome].count_leg(leg)
        if leg.is_written:
            self.legs += 1
            self.lines_by_node[node_id] += 1

    def finished_within(self, received_at: float, finished_at: float) -> None:
        """A leg's times, in seconds since 1970; legs come in the order in which they finish."""
        self.first_received_at = min(received_at, self.first_received_at or received_at)
        self.last_finished_at = finished_at

    def described(self) -> dict[str, Any]:
        """The content of done.json; the keys at the top speak of delivered requests."""
        delivered = self.tallies[Outcome.DELIVERED]
        return {
            **asdict(delivered),
            "legs": self.legs,
            "warmup_lines": self.warmup_lines,
            "aborted": self.tallies[Outcome.ABORTED].requests,
            "retries": self.tallies[Outcome.RETRIED].requests,
            "kv_failures": self.tallies[Outcome.FAILED].requests,
            "by_outcome": {outcome.value: asdict(t) for outcome, t in self.tallies.items()},
            "lines_by_node": self.lines_by_node,
            "first_received_at": _iso(self.first_received_at),
            "last_finished_at": _iso(self.last_finished_at),
        }


class Replay:
    """One replay: `source` on the cluster of `settings`, into the folder `out`."""

    def __init__(self, source: Source, settings: ReplaySettings, out: Path) -> None:
        shape = settings.shape
        self._source = source
        self._settings = settings
        self._out = out.absolute()
        self._simulation = self._new_simulation()
        self.nodes = engine_nodes(
            self._out,
            prefill=shape.prefill_nodes,
            decode=shape.decode_nodes + shape.idle_nodes,
            pool=settings.pool,
            model_id=settings.model_id,
            is_cache_shared=shape.cache == "shared",
        )
        self.metrics = tuple(
            NodeMetrics(node, shape.hardware, partial(self._simulation.load, place))
            for place, node in enumerate(self.nodes)
        )

    @property
    def description_path(self) -> Path:
        """Where cluster.json is."""
        return self._out / DESCRIPTION

    def announce(self, metrics_urls: Sequence[str] = ()) -> None:
        """Write cluster.json (a URL per node, or none) and forget the totals of an earlier run."""
        self._out.mkdir(parents=True, exist_ok=True)
        (self._out / TOTALS).unlink(missing_ok=True)
        urls: Sequence[str | None] = metrics_urls or [None] * len(self.nodes)
        description = {
            "pool": self._settings.pool,
            "model_id": self._settings.model_id,
            "seed": self._settings.seed,
            "nodes": [node.described(url) for node, url in zip(self.nodes, urls, strict=True)],
        }
        _write_json(self.description_path, description)

    def run(self, now: datetime, pace: Pace | None = None) -> Totals:
        """Write every line. pace None: as fast as possible, the last line finished at `now`."""
        timeline = self._timeline(now, pace)
        totals = Totals(lines_by_node={node.node_id: 0 for node in self.nodes})
        with ExitStack() as stack:
            files = [
                stack.enter_context(closing(ExportFile(node, self._settings.zone)))
                for node in self.nodes
            ]
            self._warm_up(files, timeline, totals)
            for leg in self._simulation.run(self._source()):
                finished_at = timeline.at(leg.finished_at)
                if pace is not None:
                    pace.wait_until(finished_at)
                if leg.is_written:
                    files[leg.node].write(record(leg, self.nodes, timeline), finished_at)
                self.metrics[leg.node].count_leg(leg, timeline)
                totals.count_leg(leg, self.nodes[leg.node].node_id)
                totals.finished_within(timeline.at(leg.received_at), finished_at)
        _write_json(self._out / TOTALS, totals.described())
        return totals

    def _new_simulation(self) -> Simulation:
        settings = self._settings
        customers = settings.customers()
        return Simulation(settings.shape, customers, settings.faults, settings.seed)

    def _timeline(self, now: datetime, pace: Pace | None) -> Timeline:
        """Real pace begins now. Otherwise a dry run tells how long it takes, so it can end now."""
        if pace is not None:
            return Timeline(now.timestamp(), pace.speed)
        last_seconds = 0.0
        for leg in self._new_simulation().run(self._source()):
            last_seconds = leg.finished_at
        return Timeline(now.timestamp() - last_seconds - RESPONSE_SECONDS)

    def _warm_up(self, files: Sequence[ExportFile], timeline: Timeline, totals: Totals) -> None:
        random = random_of(self._settings.seed, "warm-up")
        finished_at = timeline.origin_at - WARMUP_LEAD_SECONDS
        for node, file, metrics in zip(self.nodes, files, self.metrics, strict=True):
            rid = f"{random.getrandbits(128):032x}"
            file.write(warmup_record(node, rid, finished_at), finished_at)
            metrics.count_warmup()
            totals.warmup_lines += 1
            totals.lines_by_node[node.node_id] += 1


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def _write_json(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all: a reader that waits for the file never sees half of it."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(path)
