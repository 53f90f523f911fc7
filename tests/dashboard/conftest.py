"""A real server with usage, and the dashboard's pages against it."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from streamlit.testing.v1 import AppTest

SECRET = re.compile(r"tk_[A-Za-z0-9_-]{20,}")
ONE_PAGE = Path(__file__).with_name("one_page.py")
NDJSON = {"Content-Type": "application/x-ndjson"}
WAIT_SECONDS = 120.0
BOOK = """
book = "list-cny"
currency = "CNY"
timezone = "UTC"
[[price]]
model = "m-river"
effective_from = 2020-01-01T00:00:00Z
per_million_tokens = { input = "2.00", cached_input = "0.20", output = "8.00" }
"""


@pytest.fixture(autouse=True)
def main_module(monkeypatch):
    """AppTest leaves its script as __main__; processes that later tests start would run it."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def free_port():
    """A TCP port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(probe):
    """What `probe` answers once it is true."""
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        if found := probe():
            return found
        time.sleep(0.1)
    raise TimeoutError(probe)


def answers(url):
    """Whether somebody answers 200 at `url`."""
    try:
        return httpx.get(url).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def leg(number, tenant_id, at, **change):
    """One unified leg: 100,000 tokens in, 60,000 of them cached, 1,000 out: 0.1 CNY.

    By hand: 0.04 × 2.00 + 0.06 × 0.20 + 0.001 × 8.00 = 0.08 + 0.012 + 0.008.
    """
    base = {
        "event_id": f"{number:032x}",
        "stage": "unified",
        "operation": "chat",
        "node_id": "u01",
        "tenant_id": tenant_id,
        "project_id": "search",
        "model_id": "m-river",
        "started_at": (at - timedelta(seconds=9)).isoformat(),
        "finished_at": at.isoformat(),
        "input_tokens": 100_000,
        "cached_input_tokens": 60_000,
        "output_tokens": 1_000,
        "status": "ok",
        "source": "usage_ndjson",
    }
    return base | change


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A running `tokentill serve` on an empty home: url, operator's key."""
    folder = tmp_path_factory.mktemp("serve")
    port, log = free_port(), folder / "serve.log"
    environment = {
        **os.environ,
        "TOKENTILL_HOME": str(folder / "home"),
        "TOKENTILL_SERVER_PORT": str(port),
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tokentill", "serve"], env=environment, stdout=out, stderr=out
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: process.poll() is None and answers(f"{url}/health/ready"))
        yield SimpleNamespace(url=url, key=SECRET.search(log.read_text("utf-8")).group())
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def house(server):
    """The server with today's usage: t-alder 10 requests (1 CNY), t-birch 20 (2 CNY), one unpriced.

    u02 is registered and idle.
    """
    headers = {"Authorization": f"Bearer {server.key}"}
    now = datetime.now(UTC)
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as api:
        api.post("/v1/prices", json={"toml": BOOK}).raise_for_status()
        for tenant in ("t-alder", "t-birch"):
            body = {"tenant_id": tenant, "name": tenant, "billing_zone": "UTC", "currency": "CNY"}
            api.post("/v1/tenants", json=body).raise_for_status()
        for node in ("u01", "u02"):
            body = {"node_id": node, "name": node, "stage": "unified"}
            since = (now - timedelta(days=1)).isoformat()
            api.post("/v1/servers", json=body | {"in_service_from": since}).raise_for_status()
        at = now - timedelta(seconds=1)
        legs = [leg(n, "t-alder" if n < 10 else "t-birch", at) for n in range(30)]
        later = at + timedelta(milliseconds=500)
        legs.append(leg(30, "t-birch", later, model_id="m-unknown"))
        body = "\n".join(map(json.dumps, legs))
        api.post("/v1/usage/legs", content=body, headers=NDJSON).raise_for_status()
        wait_for(lambda: _requests(api, now) == len(legs))
        server.tenant = _key(api, role="tenant", tenant_id="t-alder")
        server.viewer = _key(api, role="viewer")
        server.gateway = _key(api, role="gateway")
    return server


def _key(api, **body):
    """The secret of a new key."""
    return api.post("/v1/keys", json=body | {"name": "test"}).raise_for_status().json()["secret"]


def _requests(api, now):
    """Requests settled today."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)
    asked = {"start_at": day.isoformat(), "end_at": (day + timedelta(days=3)).isoformat()}
    rows = api.get("/v1/usage", params=asked).raise_for_status().json()["items"]
    return sum(row["requests"] for row in rows)


@pytest.fixture
def show(monkeypatch):
    """A function that shows a page with a key: the AppTest after its run."""

    def run(server, path, *, key=None, **params):
        monkeypatch.setenv("TOKENTILL_API_URL", server.url)
        monkeypatch.setenv("TOKENTILL_API_KEY", server.key if key is None else key)
        test = AppTest.from_file(str(ONE_PAGE), default_timeout=60)
        test.query_params["page"] = path
        for name, value in params.items():
            test.query_params[name] = value
        return test.run()

    return run
