"""A real server, and a real sidecar beside each engine: from engines' files to settled requests."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.engines.engine import MODEL, Engine
from tests.pricing.serve.conftest import Server

WAIT_SECONDS_MAX = 90
SECOND = timedelta(seconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BOOK = f"""
book = "live"
currency = "CNY"
[[price]]
model = "{MODEL}"
effective_from = 2020-01-01T00:00:00+08:00
per_million_tokens = {{ input = "2.00", cached_input = "0.20", output = "8.00" }}
"""
SIDECAR = """
node = "{node}"
stage = "{stage}"
pool = "{pool}"
model = "{model}"
engine = "{engine}"
state_dir = "{state}"
collectors = ["{collector}"]
key = "{key}"

[limits]
poll_seconds = 0.2
watermark_seconds = 1.0

[[source]]
kind = "{source}"
dir = "{usage}"

[[source]]
kind = "metrics"
url = "{url}/metrics"
interval_seconds = 0.5
"""
COMMAND = [sys.executable, "-m", "tokentill"]


class Till:
    """One `tokentill serve` and the sidecars of a run."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.server = Server(folder / "home", port).start()
        headers = {"Authorization": f"Bearer {self.server.key}"}
        self.api = httpx.Client(base_url=self.server.url, headers=headers, timeout=60)
        self.api.post("/v1/prices", json={"toml": BOOK, "state": "published"}).raise_for_status()
        self.sidecars: dict[str, subprocess.Popen[bytes]] = {}
        self.engines: list[Engine] = []

    def follow(self, *engines: Engine, pool: str) -> None:
        """Start a sidecar beside each engine; return when each has read its counters once."""
        for engine in engines:
            asked = {"name": engine.node, "role": "node", "node_id": engine.node}
            key = self.api.post("/v1/keys", json=asked).raise_for_status().json()["secret"]
            config = self.folder / f"{engine.node}.toml"
            text = SIDECAR.format(
                node=engine.node,
                stage=engine.stage,
                pool=pool,
                model=MODEL,
                engine=engine.engine,
                state=self.folder / f"{engine.node}-state",
                collector=self.server.url,
                key=key,
                source=engine.source,
                usage=engine.usage,
                url=engine.url,
            )
            config.write_text(text, encoding="utf-8")
            command = [*COMMAND, "sidecar", "run", "--config", str(config)]
            with (self.folder / f"{engine.node}-sidecar.log").open("ab") as log:
                self.sidecars[engine.node] = subprocess.Popen(command, stdout=log, stderr=log)
            self.engines.append(engine)
        begun = datetime.now(UTC)
        for engine in engines:
            _until(lambda node=engine.node: self._delivered_samples(node) > begun + 3 * SECOND)

    def _delivered_samples(self, node: str) -> datetime:
        """When the collector last took samples of a node's counters."""
        cursor = self.folder / f"{node}-state" / "samples.cursor"
        at = json.loads(cursor.read_text("utf-8"))["delivered_at"] if cursor.exists() else None
        return datetime.fromisoformat(at) if at else EPOCH

    def settled(self) -> None:
        """Wait until every line is delivered and decided, and the counters are read after it."""
        for engine in self.engines:
            _until(lambda each=engine: self.read(each) == self.lines(each))
        _until(lambda: self.api.get("/health/ready").json()["details"]["unsettled_legs"] == 0)
        done = datetime.now(UTC)
        for engine in self.engines:
            if engine.process is not None:
                _until(lambda node=engine.node: self._delivered_samples(node) > done + 3 * SECOND)

    def lines(self, engine: Engine) -> int:
        """Lines that the engine has written."""
        return sum(path.read_bytes().count(b"\n") for path in engine.usage.iterdir())

    def read(self, engine: Engine) -> int:
        """Lines that its sidecar has delivered."""
        cursor = self.folder / f"{engine.node}-state" / f"{engine.source}.cursor"
        return (
            json.loads(cursor.read_text("utf-8"))["totals"].get("lines", 0)
            if cursor.exists()
            else 0
        )

    def get(self, path: str, **params: Any) -> list[dict[str, Any]]:
        """All items of a list."""
        answer = self.api.get(path, params=params).raise_for_status()
        items: list[dict[str, Any]] = answer.json()["items"]
        return items

    def end(self) -> None:
        """SIGTERM to the sidecars, then to the server."""
        for process in self.sidecars.values():
            process.send_signal(signal.SIGTERM)
        for process in self.sidecars.values():
            process.wait(timeout=60)
        self.api.close()
        self.server.end()


def _until(holds: Callable[[], bool]) -> None:
    """Wait for a condition; fail after a while."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, "the sidecars or the server are stuck: see their logs"
        time.sleep(0.2)
