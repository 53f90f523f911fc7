"""A real server with usage, and the dashboard's pages against it."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
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
        "ttft_seconds": 2.0,
        "status": "ok",
        "source": "usage_ndjson",
    }
    return base | change


@contextmanager
def serving(folder, **settings):
    """A running `tokentill serve` on an empty home: url, operator's key."""
    port, log = free_port(), folder / "serve.log"
    environment = {
        **os.environ,
        "TOKENTILL_HOME": str(folder / "home"),
        "TOKENTILL_SERVER_PORT": str(port),
        **settings,
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "tokentill", "serve"], env=environment, stdout=out, stderr=out
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: process.poll() is not None or answers(f"{url}/health/ready"))
        assert process.poll() is None, log.read_text("utf-8")
        yield SimpleNamespace(url=url, key=SECRET.search(log.read_text("utf-8")).group())
    finally:
        process.terminate()
        process.wait(30)


def talk(server):
    """A client with the operator's key."""
    headers = {"Authorization": f"Bearer {server.key}"}
    return httpx.Client(base_url=server.url, headers=headers, timeout=30)


def furnish(api, nodes, since):
    """A price book, two tenants in UTC, and servers rated at 200 tokens/s."""
    api.post("/v1/prices", json={"toml": BOOK}).raise_for_status()
    for tenant in ("t-alder", "t-birch"):
        body = {"tenant_id": tenant, "name": tenant, "billing_zone": "UTC", "currency": "CNY"}
        api.post("/v1/tenants", json=body).raise_for_status()
    for node in nodes:
        body = {"node_id": node, "name": node, "stage": "unified", "rated_tokens_per_second": "200"}
        api.post("/v1/servers", json=body | {"in_service_from": since}).raise_for_status()


def send(api, legs, at):
    """Send legs around `at` and wait until each is settled."""
    body = "\n".join(map(json.dumps, legs))
    api.post("/v1/usage/legs", content=body, headers=NDJSON).raise_for_status()
    wait_for(lambda: _requests(api, at) >= len(legs))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A running `tokentill serve` on an empty home."""
    with serving(tmp_path_factory.mktemp("serve")) as found:
        yield found


@pytest.fixture(scope="session")
def house(server):
    """The server with today's usage: t-alder 10 requests (1 CNY), t-birch 20 (2 CNY), one unpriced.

    u02 is registered and idle.
    """
    now = datetime.now(UTC)
    with talk(server) as api:
        furnish(api, ("u01", "u02"), (now - timedelta(days=1)).isoformat())
        at = now - timedelta(seconds=1)
        legs = [leg(n, "t-alder" if n < 10 else "t-birch", at) for n in range(30)]
        later = at + timedelta(milliseconds=500)
        legs.append(leg(30, "t-birch", later, model_id="m-unknown"))
        send(api, legs, now)
        server.tenant = _key(api, role="tenant", tenant_id="t-alder")
        server.viewer = _key(api, role="viewer")
        server.gateway = _key(api, role="gateway")
    return server


def _key(api, **body):
    """The secret of a new key."""
    return api.post("/v1/keys", json=body | {"name": "test"}).raise_for_status().json()["secret"]


def _requests(api, now):
    """Requests settled around `now`."""
    asked = {
        "start_at": (now - timedelta(days=40)).date().isoformat() + "T00:00:00Z",
        "end_at": (now + timedelta(days=3)).date().isoformat() + "T00:00:00Z",
    }
    rows = api.get("/v1/usage", params=asked).raise_for_status().json()["items"]
    return sum(row["requests"] for row in rows)


@pytest.fixture(scope="session")
def past(tmp_path_factory):
    """A house whose usage is of 2024, the same in every run.

    10 June: each hour t-alder 2 and t-birch 1 request on u01; from 8 to 20 h t-birch 1 on u02; at
    12:50 t-birch 1 without a price. 9 June: each hour t-alder 1 on u01; from 8 to 20 h t-birch 1 on
    u02. 2 May: t-alder 1, t-birch 1 without a price. u03 is idle.
    """
    folder = tmp_path_factory.mktemp("past")
    with serving(folder) as found, talk(found) as api:
        furnish(api, ("u01", "u02", "u03"), "2024-05-01T00:00:00Z")
        asked = [(5, 2, 9, "t-alder", "u01"), (5, 2, 9, "t-birch", "m-unknown")]
        for hour in range(24):
            asked += [(6, 10, hour, "t-alder", "u01")] * 2 + [(6, 10, hour, "t-birch", "u01")]
            asked += [(6, 9, hour, "t-alder", "u01")]
            if 8 <= hour < 20:
                asked += [(6, 10, hour, "t-birch", "u02"), (6, 9, hour, "t-birch", "u02")]
        asked += [(6, 10, 12, "t-birch", "m-unknown")]
        import_old(found, folder, [_past_leg(n, *each) for n, each in enumerate(asked)])
        wait_for(lambda: _requests(api, datetime(2024, 6, 11, tzinfo=UTC)) == len(asked))
        found.tenant = _key(api, role="tenant", tenant_id="t-alder")
        found.finance = _key(api, role="finance")
        yield found


def import_old(server, folder, legs):
    """Bring in usage that is too old to be posted."""
    file = folder / "usage.ndjson"
    file.write_text("\n".join(map(json.dumps, legs)), encoding="utf-8")
    command = [sys.executable, "-m", "tokentill", "import", "usage_ndjson", str(file)]
    told = {**os.environ, "TOKENTILL_API_URL": server.url, "TOKENTILL_API_KEY": server.key}
    subprocess.run(command, env=told, check=True, capture_output=True)


def _past_leg(number, month, day, hour, tenant, what):
    at = datetime(2024, month, day, hour, 50, tzinfo=UTC)
    change = {"model_id": what} if what.startswith("m-") else {"node_id": what}
    return leg(number, tenant, at, **change)


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
