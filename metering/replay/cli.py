"""`tokentill replay`: a trace or the built-in workload as the files and metrics of a cluster."""

import json
import signal
import sys
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Event
from typing import Annotated, Final, Literal

import typer

from metering.errors import MeteringError
from metering.replay.cluster import CacheSharing, ClusterShape, Faults
from metering.replay.hardware import (
    LONG_CONTEXT_PROFILE,
    PROFILES,
    SHORT_CONTEXT_PROFILE,
    HardwareProfile,
)
from metering.replay.history import DailyCurve, spread
from metering.replay.metrics_server import serving
from metering.replay.request import Source
from metering.replay.run import Pace, Replay, ReplaySettings, Totals
from metering.replay.traces import read_trace
from metering.replay.workload import REQUESTS_PER_SECOND_PER_PREFILL_NODE, white_paper

WORKLOAD_REQUESTS: Final = 2000
SLEEP_SECONDS_MAX: Final = 3600.0
EXAMPLE: Final = (
    "Example: tokentill replay --workload white-paper --prefill 2 --decode 4 --out ./cluster "
    "--speed 10 --serve-metrics-port 30000"
)


def hardware_profile(name: str) -> HardwareProfile:
    """The profile called `name`."""
    if name not in PROFILES:
        raise typer.BadParameter(f"unknown profile {name!r}; known: {', '.join(PROFILES)}")
    return PROFILES[name]


Out = Annotated[
    Path, typer.Option(help="Folder for cluster.json, a folder of files per node, and done.json.")
]
Trace = Annotated[
    Path | None,
    typer.Option(help="Mooncake (Parquet, JSON lines), agentic (Parquet) or Azure (CSV)."),
]
Workload = Annotated[
    Literal["white-paper"] | None, typer.Option(help="The built-in workload, if no trace is given.")
]
Requests = Annotated[
    int | None, typer.Option(min=1, help="Only the first N; the workload makes 2000 by default.")
]
Nodes = Annotated[int, typer.Option(help="Servers of that stage.")]
Cache = Annotated[
    CacheSharing, typer.Option(help="One prefix cache for all prefill servers, or one each.")
]
CacheTokens = Annotated[
    int | None, typer.Option(help="Capacity of a prefix cache (LRU); left out: infinite.")
]
Hardware = Annotated[
    HardwareProfile | None,
    typer.Option(
        parser=hardware_profile, metavar="PROFILE", help=f"Speeds: {', '.join(PROFILES)}."
    ),
]
Model = Annotated[str, typer.Option(help="Name of the model that the cluster serves.")]
Speed = Annotated[
    float | None,
    typer.Option(min=0.001, help="Trace seconds per second; left out: as fast as possible."),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same ids, owners and routes.")]
Tenants = Annotated[int, typer.Option(help="Tenants; few are large (Zipf's law).")]
Retries = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of requests that the router sends twice.")
]
Aborts = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of requests whose client leaves early.")
]
KvFailures = Annotated[
    float, typer.Option(min=0.0, max=1.0, help="Share of requests whose KV cache never arrives.")
]
Port = Annotated[
    int | None,
    typer.Option(min=0, max=65_535, help="First /metrics port (0: any); serves until stopped."),
]
HistoryDays = Annotated[
    int | None, typer.Option(help="Spread over the past N days, busy by day, quiet by night.")
]
OutageHoursAgo = Annotated[
    int | None, typer.Option(help="Of the history: nothing is served for six hours from then on.")
]
Growing = Annotated[
    bool, typer.Option("--growing-tenant", help="The third tenant grows from nothing.")
]
Idle = Annotated[
    int, typer.Option(min=0, max=64, help="Further decode servers that get no request.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the totals as JSON.")]


def replay(
    *,
    out: Out,
    trace: Trace = None,
    workload: Workload = None,
    requests: Requests = None,
    prefill: Nodes = 2,
    decode: Nodes = 4,
    cache: Cache = "shared",
    cache_tokens: CacheTokens = None,
    hardware: Hardware = None,
    model: Model = "glm-5.2",
    speed: Speed = None,
    seed: Seed = 1,
    tenants: Tenants = 8,
    retries: Retries = 0.0,
    aborts: Aborts = 0.0,
    kv_failures: KvFailures = 0.0,
    serve_metrics_port: Port = None,
    history_days: HistoryDays = None,
    outage_hours_ago: OutageHoursAgo = None,
    growing_tenant: Growing = False,
    idle: Idle = 0,
    as_json: AsJson = False,
) -> None:
    """Write what the SGLang servers of a prefill/decode cluster would have written."""
    _refuse_both(trace=trace, workload=workload, speed=speed, history_days=history_days)
    default_profile = SHORT_CONTEXT_PROFILE if trace else LONG_CONTEXT_PROFILE
    try:
        settings = ReplaySettings(
            shape=ClusterShape(
                prefill_nodes=prefill,
                decode_nodes=decode,
                hardware=hardware or PROFILES[default_profile],
                cache=cache,
                cache_tokens=cache_tokens,
                idle_nodes=idle,
            ),
            faults=Faults(retry_share=retries, abort_share=aborts, kv_failure_share=kv_failures),
            tenants=tenants,
            growing=growing_tenant,
            seed=seed,
            model_id=model,
        )
        source = _source(trace, requests, settings)
        source = _in_the_past(source, history_days, outage_hours_ago, settings)
        _play(Replay(source, settings, out), speed, serve_metrics_port, as_json=as_json)
    except (MeteringError, OSError) as error:
        typer.echo(f"tokentill replay: {error}", err=True)
        raise typer.Exit(1) from error


def _refuse_both(
    *, trace: Path | None, workload: str | None, speed: float | None, history_days: int | None
) -> None:
    if trace is not None and workload is not None:
        raise typer.BadParameter("give either --trace or --workload, not both")
    if speed is not None and history_days is not None:
        raise typer.BadParameter("history is written at once: leave --speed out")


def _source(trace: Path | None, requests: int | None, settings: ReplaySettings) -> Source:
    """Where the requests come from; each call begins anew."""
    if trace is not None:
        return lambda: islice(read_trace(trace), requests)
    return lambda: white_paper(
        settings.customers(),
        seed=settings.seed,
        requests=requests or WORKLOAD_REQUESTS,
        requests_per_second=REQUESTS_PER_SECOND_PER_PREFILL_NODE * settings.shape.prefill_nodes,
    )


def _in_the_past(
    source: Source, days: int | None, outage_hours_ago: int | None, settings: ReplaySettings
) -> Source:
    """`source` over the past `days` days, or as it is."""
    if days is None and outage_hours_ago is not None:
        raise typer.BadParameter("an outage lies in a history: add --history-days")
    if days is None:
        return source
    now, zone = datetime.now(UTC), settings.zone
    return spread(source, DailyCurve(days, now, zone, outage_hours_ago=outage_hours_ago))


def _play(run: Replay, speed: float | None, first_port: int | None, *, as_json: bool) -> None:
    """Announce, write, print the totals; with endpoints, stay until told to stop."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    with ExitStack() as stack:
        urls = (
            stack.enter_context(serving(run.metrics, first_port)) if first_port is not None else []
        )
        run.announce(urls)
        typer.echo(f"{len(run.nodes)} nodes, described in {run.description_path}", err=True)
        try:
            totals = run.run(datetime.now(UTC), None if speed is None else Pace(speed, _wait_until))
        except KeyboardInterrupt:
            typer.echo("stopped early: every line is whole, there is no done.json", err=True)
            raise typer.Exit(1) from None
        _print(totals, as_json=as_json)
        if urls:
            typer.echo(f"serving {urls[0]} and so on until Ctrl-C", err=True)
            with suppress(KeyboardInterrupt):
                Event().wait()


def _wait_until(at: float) -> None:
    """Sleep until `at`, in seconds since 1970."""
    while (left_seconds := at - time.time()) > 0:
        time.sleep(min(left_seconds, SLEEP_SECONDS_MAX))


def _print(totals: Totals, *, as_json: bool) -> None:
    described = totals.described()
    if as_json:
        typer.echo(json.dumps(described))
    else:
        for name, value in described.items():
            if not isinstance(value, dict):
                typer.echo(f"{name:<20} {value}")
    sys.stdout.flush()


def register(app: typer.Typer) -> None:
    """Add the command `replay` to `app`."""
    app.command(epilog=EXAMPLE)(replay)
