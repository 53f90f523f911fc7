"""Replayed engine files through real sidecars into a real server, every way of sending them again.

The totals are those that the replay counted by itself (done.json); they are never to change (V3).
"""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from pricing.demo.plan import Prices, sidecar_file
from tests.pricing.serve.conftest import Server

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "tokentill"]
REQUESTS = 300
WAIT_SECONDS_MAX = 90
HOUR = timedelta(hours=1)


class Wire(ThreadingHTTPServer):
    """Between sidecars and server. times: how often a body is passed on; the last answer counts.

    cut: called after the server has answered a body of legs; the sidecar hears nothing of it.
    """

    daemon_threads = True

    def __init__(self, target):
        super().__init__(("127.0.0.1", 0), Passing)
        self.target, self.times, self.cut = target, 1, None
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Passing(BaseHTTPRequestHandler):
    """Passes one POST on."""

    def do_POST(self):
        wire = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kept = {k: v for k, v in self.headers.items() if k not in ("Host", "Content-Length")}
        try:
            for _ in range(wire.times):
                answer = httpx.post(wire.target + self.path, content=body, headers=kept, timeout=60)
        except httpx.TransportError:
            self.close_connection = True
            return
        cut, wire.cut = (wire.cut, None) if self.path.endswith("/legs") else (None, wire.cut)
        if cut is not None:
            cut()
            self.close_connection = True
            return
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_):
        """Nothing."""


class Cluster:
    """Engine files of one prefill and two decode servers, and what reads them."""

    def __init__(self, folder, port):
        self.files, self.folder = folder / "cluster", folder
        shape = ["--workload", "white-paper", "--requests", str(REQUESTS), "--seed", "3"]
        faults = ["--prefill", "1", "--decode", "2", "--retries", "0.05", "--out", str(self.files)]
        subprocess.run([*COMMAND, "replay", *shape, *faults], check=True, capture_output=True)
        self.done = json.loads((self.files / "done.json").read_text("utf-8"))
        self.server = Server(folder / "home", port).start()
        self.wire = Wire(self.server.url)
        self.nodes = json.loads((self.files / "cluster.json").read_text("utf-8"))["nodes"]
        headers = {"Authorization": f"Bearer {self.server.key}"}
        self.api = httpx.Client(base_url=self.server.url, headers=headers, timeout=60)
        self.api.post("/v1/prices", json={"toml": Prices().book(), "state": "published"})
        self.configs = {node["node_id"]: self.configured(node) for node in self.nodes}

    def configured(self, node):
        """The sidecar's file of a node, with a key of its own."""
        asked = {"name": node["node_id"], "role": "node", "node_id": node["node_id"]}
        secret = self.api.post("/v1/keys", json=asked).json()["secret"]
        path = sidecar_file(node, self.folder, self.wire.url)
        (path.parent / "key").write_text(secret, encoding="utf-8")
        return path

    @contextmanager
    def sidecars(self):
        """One for each node, ended with SIGTERM."""
        running = [
            subprocess.Popen([*COMMAND, "sidecar", "run", "--config", str(config)])
            for config in self.configs.values()
        ]
        try:
            yield
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
            for process in running:
                process.wait(60)

    def forget(self):
        """Remove the state of all sidecars: every line will be read again."""
        for config in self.configs.values():
            shutil.rmtree(config.parent / "state", ignore_errors=True)

    def outcomes(self):
        """Sums over the sidecars' cursors: lines, accepted, duplicate, reattributed, …"""
        sums = {}
        for config in self.configs.values():
            for cursor in (config.parent / "state").glob("*.cursor"):
                for name, count in json.loads(cursor.read_text("utf-8"))["totals"].items():
                    sums[name] = sums.get(name, 0) + count
        return sums

    def lines(self):
        """Lines that lie in the engines' folders now."""
        logs = [path for node in self.nodes for path in (self.files / node["node_id"]).iterdir()]
        return sum(path.read_bytes().count(b"\n") for path in logs)

    def delivered(self):
        """Wait until the cursors are behind every line, and everything is settled."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while time.monotonic() < deadline:
            time.sleep(0.2)
            if self.outcomes().get("lines") == self.lines() and self.unsettled() == 0:
                return
        raise AssertionError((self.outcomes(), self.lines(), self.server.log.read_text()[-2000:]))

    def unsettled(self):
        """Legs that are not settled yet; None while the server is away."""
        try:
            return self.api.get("/health/ready").json()["details"].get("unsettled_legs")
        except httpx.TransportError:
            return None

    def totals(self):
        """(requests, input, cached, output tokens, {server: amount}) of what is billed."""
        first = datetime.fromisoformat(self.done["first_received_at"]).replace(
            minute=0, second=0, microsecond=0
        )
        window = {"start_at": first.isoformat(), "end_at": (first + 24 * HOUR).isoformat()}
        rows = self.api.get("/v1/chargeback", params=window).json()["items"]
        billed = [row for row in rows if row["disposition"] == "billed"]
        servers = self.api.get("/v1/revenue/servers", params=window).json()["items"]
        return (
            sum(row["requests"] for row in billed),
            sum(row["uncached_tokens"] + row["cached_tokens"] for row in billed),
            sum(row["cached_tokens"] for row in billed),
            sum(row["output_tokens"] for row in billed),
            {server["node_id"]: Decimal(server["amount"]) for server in servers},
        )


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Metered once, with the server killed after its first commit and before its answer."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as probe:
        port = probe.server_port
    made = Cluster(tmp_path_factory.mktemp("once"), port)

    def power_cut():
        made.server.end(signal.SIGKILL)
        made.server.start()

    made.wire.cut = power_cut
    try:
        with made.sidecars():
            made.delivered()
        assert made.wire.cut is None
        yield made
    finally:
        made.api.close()
        made.wire.shutdown()
        made.wire.server_close()
        made.server.end()


@pytest.fixture
def first(cluster):
    """The totals before a test sends something again."""
    return cluster.totals()


def test_an_answer_that_was_lost_is_a_duplicate(cluster, first):
    """Killed between commit and answer: the batch comes again, and counts once."""
    done, outcomes = cluster.done, cluster.outcomes()
    names = ("requests", "input_tokens", "cached_input_tokens", "output_tokens")
    assert first[:4] == tuple(done["by_outcome"]["delivered"][name] for name in names)
    assert outcomes["duplicate"] > 0
    assert outcomes["accepted"] + outcomes["duplicate"] == done["legs"] + done["warmup_lines"]


def test_files_read_again_from_the_start_are_duplicates(cluster, first):
    """The sidecars' state is gone: every line is sent again and none is stored."""
    cluster.forget()
    with cluster.sidecars():
        cluster.delivered()
    outcomes = cluster.outcomes()
    assert (outcomes["duplicate"], outcomes.get("accepted", 0)) == (outcomes["lines"], 0)
    assert cluster.totals() == first


def test_every_batch_twice(cluster, first):
    """The network delivers each body two times."""
    cluster.forget()
    cluster.wire.times = 2
    with cluster.sidecars():
        cluster.delivered()
    cluster.wire.times = 1
    assert cluster.totals() == first


def test_a_file_copied_to_another_node_stays_with_the_first(cluster, first):
    """Lines of decode-1 in the folder of decode-2: told as reattributed, and decode-1 earns."""
    for path in list((cluster.files / "decode-1").iterdir()):
        shutil.copy(path, cluster.files / "decode-2" / f"{path.stem}_copy{path.suffix}")
    with cluster.sidecars():
        cluster.delivered()
    assert cluster.outcomes()["reattributed"] == cluster.done["lines_by_node"]["decode-1"]
    assert cluster.totals() == first
