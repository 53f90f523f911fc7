"""The demo: a replayed cluster, real sidecars, a real server, on a temporary home."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

import httpx

from pricing.demo.answers import Answers, billed_requests, read_answers
from pricing.demo.books import TRIAL_REQUESTS, close_books
from pricing.demo.chaos import Chaos
from pricing.demo.children import Child, ChildFailed, end_all
from pricing.demo.parties import ZONE, register_tenants
from pricing.demo.plan import LOOPBACK, Prices, free_port, sidecar_file

START_SECONDS_MAX: Final = 60.0
SETTLE_SECONDS_MAX: Final = 600.0
POLL_SECONDS: Final = 0.25
SECRET: Final = re.compile(r"tk_[A-Za-z0-9_-]{20,}")
METRICS_PORT: Final = 30_000  # of the first engine; the others follow
# white paper 1: 83,670.6 tok/s a prefill server; a decode server's rating is the demo's assumption
RATED: Final = {"prefill": "83670.6", "decode": "5000", "unified": "83670.6"}
HISTORY_MARGIN: Final = timedelta(days=1)
HISTORY_FLAGS: Final = ("--growing-tenant", "--outage-hours-ago", "60")
IDLE: Final = ("--idle", "1")  # one more decode server than the router knows
PRICES_CHANGED_BEFORE: Final = timedelta(days=45)
# the demo's own assumption: traffic and cost of a server are both a small share of a real one's
COSTS: Final = {"currency": "CNY", "timezone": "Asia/Shanghai", "monthly": {"hosting": "25"}}
ENDING: Final = ("replay",)  # processes that end by themselves
TENANT: Final = "t-alder"  # whose key is made, to see what a tenant sees
FINISHED: Final = ("delivered",)  # outcomes of the replay that end in an answer

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the demo is asked for."""

    folder: Path
    prices: Prices = field(default_factory=Prices)
    trace: Path | None = None
    prefill: int = 2
    decode: int = 4
    cache: str = "shared"
    kill_seed: int | None = None
    requests: int | None = None
    history_days: int | None = None  # spread over the past days, then live traffic
    api_port: int = 8080
    dashboard_port: int = 8501
    say: Callable[[str], None] = print
    clock: Callable[[], datetime]  # aware UTC


class Demo:
    """Starts everything, waits until every token has its owner and price, ends everything."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.folder = options.folder
        self.cluster = self.folder / "cluster"
        # only a demo that stays takes the well-known port; others must not meet on it
        self.port = free_port(options.api_port if options.history_days is not None else 0)
        self.url = f"http://{LOOPBACK}:{self.port}"
        self.metrics_port = free_port(METRICS_PORT)
        self.children: list[Child] = []
        self.secret = ""
        self.started_at = options.clock()

    @contextmanager
    def running(self) -> Iterator["Demo"]:
        """The demo with its processes; they are ended on the way out, whatever happens."""
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        try:
            yield self
        finally:
            end_all(self.children)

    def meter(self) -> Answers:
        """Replay the cluster, meter it, and answer once everything is settled."""
        replay = self._start("replay", self._replay_arguments())
        serve = self._start_server()
        sidecars = self._start_sidecars(replay)
        chaos = None
        if self.options.kill_seed is not None:
            chaos = Chaos([serve, *sidecars], self.options.kill_seed)
            chaos.start()
        try:
            replay.wait()
            return self._wait_until_settled(chaos)
        finally:
            if chaos is not None:
                chaos.stop()
                self.options.say(f"{chaos.kills} processes killed and started again")

    def stay(self) -> None:
        """Go on with live traffic, API and dashboard until interrupted."""
        self._start("live traffic", self._live_arguments())
        page = free_port(self.options.dashboard_port)
        self._start(
            "dashboard",
            ["dashboard"],
            {
                "TOKENTILL_API_URL": self.url,
                "TOKENTILL_API_KEY": self.secret,
                "TOKENTILL_DASHBOARD_PORT": str(page),
            },
        )
        self.options.say(f"dashboard  http://{LOOPBACK}:{page}")
        self.options.say(f"API        {self.url}/openapi.json   key {self.secret}")
        if self.options.history_days is not None:
            self._keep_books(self.started_at - timedelta(days=self.options.history_days))
        self.options.say("traffic goes on; Ctrl-C ends everything and removes the temporary store")
        while True:
            for child in self.children:
                if child.name not in ENDING:
                    child.check()
            time.sleep(POLL_SECONDS)

    def _keep_books(self, first_at: datetime) -> None:
        """Close what is over, and say how a tenant sees its own."""
        say = self.options.say
        try:
            with self.api() as api:
                books = close_books(api, first_at, self.options.clock())
                asked = {"name": TENANT, "role": "tenant", "tenant_id": TENANT}
                secret = api.post("/v1/keys", json=asked).raise_for_status().json()["secret"]
        except httpx.HTTPError as error:  # the demo is worth seeing without
            say(f"books      stay open: {error}")
            return
        closed = ", ".join(f"{month:%Y-%m}" for month in books.closed) or "no month"
        say(f"closed     {closed}: {books.documents} documents, issued")
        if books.left_open is not None:
            say(f"open       {books.left_open:%Y-%m}: {TRIAL_REQUESTS} requests to decide on")
        told = f"TOKENTILL_API_URL={self.url} TOKENTILL_API_KEY={secret}"
        say(f"as {TENANT} {told} tokentill dashboard --port 8502")

    def api(self) -> httpx.Client:
        """A client of the demo's API, with the operator's key."""
        headers = {"Authorization": f"Bearer {self.secret}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30.0)

    def _start(
        self, name: str, arguments: Sequence[str], extra: Mapping[str, str] | None = None
    ) -> Child:
        environment = {
            "TOKENTILL_HOME": str(self.folder / "home"),
            "TOKENTILL_SERVER_PORT": str(self.port),
            "TOKENTILL_LOG_LEVEL": "warning",
            "TOKENTILL_JOBS_MONTHLY_CLOSE": "false",  # the demo closes its past months itself
            **(extra or {}),
        }
        log = self.folder / "logs" / f"{name.replace(' ', '-')}.log"
        child = Child(name, arguments, environment, log)
        self.children.append(child)
        child.start()
        return child

    def _start_server(self) -> Child:
        self.options.say(f"starting the server on {self.url}")
        serve = self._start("serve", ["serve"])
        self.secret = self._wait("the server", serve, self._operator_key)
        self._wait("the API", serve, self._is_ready)
        with self.api() as api:
            body = {"toml": self._book(), "state": "published"}
            api.post("/v1/prices", json=body).raise_for_status()
            if self.options.history_days is not None:
                register_tenants(api, self._history_from())
        return serve

    def _history_from(self) -> datetime:
        """A while before the first request."""
        return self.started_at - timedelta(days=self.options.history_days or 0) - HISTORY_MARGIN

    def _book(self) -> str:
        """In a history prices change: at a Shanghai midnight, for everybody."""
        if self.options.history_days is None:
            return self.options.prices.book()
        changed = self.started_at.astimezone(ZoneInfo(ZONE)) - PRICES_CHANGED_BEFORE
        return self.options.prices.book(changed.replace(hour=0, minute=0, second=0, microsecond=0))

    def _operator_key(self) -> str | None:
        found = SECRET.search((self.folder / "logs" / "serve.log").read_text("utf-8"))
        return found.group() if found else None

    def _is_ready(self) -> bool:
        with self.api() as api:
            try:
                return api.get("/health/ready").status_code == httpx.codes.OK
            except httpx.TransportError:
                return False

    def _replay_arguments(self) -> list[str]:
        options = self.options
        source = ["--trace", str(options.trace)] if options.trace else ["--workload", "white-paper"]
        if options.requests is not None:
            source += ["--requests", str(options.requests)]
        if options.trace is None:
            source += ["--retries", "0.01", "--aborts", "0.01"]
        if options.history_days is not None:
            source += ["--history-days", str(options.history_days), *HISTORY_FLAGS, *IDLE]
        nodes = ["--prefill", str(options.prefill), "--decode", str(options.decode)]
        place = ["--cache", options.cache, "--out", str(self.cluster), "--seed", "1"]
        return ["replay", *source, *nodes, *place]

    def _live_arguments(self) -> list[str]:
        """The built-in workload in real time, into the same engine files."""
        nodes = ["--prefill", str(self.options.prefill), "--decode", str(self.options.decode)]
        live = ["--workload", "white-paper", "--seed", "2", "--speed", "1", *IDLE]
        live += ["--requests", "1000000"]
        ports = ["--serve-metrics-port", str(self.metrics_port)]
        return ["replay", *live, *nodes, *ports, "--out", str(self.cluster)]

    def _start_sidecars(self, replay: Child) -> list[Child]:
        path = self.cluster / "cluster.json"
        description = self._wait("the cluster", replay, lambda: _read_json(path), ended_well=True)
        nodes = description["nodes"]
        self.options.say(f"starting {len(nodes)} sidecars")
        with self.api() as api:
            for number, node in enumerate(nodes):
                if self.options.history_days is not None:  # live traffic will follow
                    port = self.metrics_port + number
                    node["metrics_url"] = f"http://{LOOPBACK}:{port}/metrics"
                self._register(api, node)
        return [
            self._start(
                f"sidecar-{node['node_id']}",
                ["sidecar", "run", "--config", str(self.folder / node["node_id"] / "sidecar.toml")],
            )
            for node in nodes
        ]

    def _register(self, api: httpx.Client, node: dict[str, Any]) -> None:
        """A key that can write only for this node, its server record, its sidecar's file."""
        node_id = node["node_id"]
        asked = {"name": f"sidecar of {node_id}", "role": "node", "node_id": node_id}
        key = api.post("/v1/keys", json=asked)
        key.raise_for_status()
        server = {
            "node_id": node_id,
            "name": node_id,
            "stage": node["stage"],
            "pool": node["pool"],
            "in_service_from": self._history_from().isoformat(),
            "rated_tokens_per_second": RATED[node["stage"]],
        }
        if self.options.history_days is not None:
            server["cost_assumptions"] = COSTS
        api.post("/v1/servers", json=server).raise_for_status()
        config = sidecar_file(node, self.folder, self.url)
        (config.parent / "key").write_text(key.json()["secret"], encoding="utf-8")

    def _wait_until_settled(self, chaos: Chaos | None) -> Answers:
        done = json.loads((self.cluster / "done.json").read_text("utf-8"))
        expected = sum(done["by_outcome"][name]["requests"] for name in FINISHED)
        self.options.say(f"{done['legs']:,} legs written; waiting until all are settled")

        def settled() -> Answers | None:
            window = self._hours_of(done)
            if chaos is not None and chaos.running:
                return None
            with self.api() as api:
                try:
                    if billed_requests(api, *window) < expected:
                        return None
                    return read_answers(api, *window)
                except httpx.HTTPError:  # killed just now
                    return None

        return self._wait("settlement", None, settled, seconds_max=SETTLE_SECONDS_MAX)

    def _hours_of(self, done: dict[str, Any]) -> tuple[datetime, datetime]:
        """The whole UTC hours around the replayed traffic."""
        first = datetime.fromisoformat(done["first_received_at"])
        start = first.replace(minute=0, second=0, microsecond=0)
        now = self.options.clock()
        return start, now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)

    def _wait(
        self,
        what: str,
        child: Child | None,
        probe: Callable[[], Found | None],
        *,
        seconds_max: float = START_SECONDS_MAX,
        ended_well: bool = False,
    ) -> Found:
        """What `probe` answers once it is not empty. Raises ChildFailed or TimeoutError."""
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            if found := probe():
                return found
            ended = child.process.poll() if child is not None and child.process else None
            if child is not None and ended is not None and not (ended_well and ended == 0):
                raise child.failure()
            time.sleep(POLL_SECONDS)
        logs = self.folder / "logs"
        raise ChildFailed(f"{what} did not come within {seconds_max:.0f} s; see the logs in {logs}")


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return found
