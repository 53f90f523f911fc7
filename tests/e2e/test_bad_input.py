"""Bad input to a running server: what is wrong is named with its remedy, nothing else is lost."""

import json
import resource
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx
import pytest

from tests.pricing.serve.conftest import BOOK, server  # noqa: F401 - one server for this module

pytestmark = pytest.mark.slow
NOW = datetime.now(UTC)
AT = (NOW - timedelta(hours=1)).isoformat()
DAY = {
    "start_at": (NOW - timedelta(hours=6)).replace(minute=0, second=0, microsecond=0).isoformat(),
    "end_at": (NOW + timedelta(hours=3)).replace(minute=0, second=0, microsecond=0).isoformat(),
}
NDJSON = {"Content-Type": "application/x-ndjson"}
SETTLE_SECONDS_MAX = 60


@pytest.fixture(scope="module")
def api(server):  # noqa: F811
    """A client with the operator's key; m-river costs 2.00 CNY per million input tokens."""
    headers = {"Authorization": f"Bearer {server.key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        client.post("/v1/prices", json={"toml": BOOK, "state": "published"}).raise_for_status()
        yield client


def leg(name, **change):
    """A valid leg of 1,000 uncached input tokens; a test changes only what it is about."""
    base = {
        "event_id": name,
        "stage": "unified",
        "node_id": "u01",
        "tenant_id": "t-alder",
        "model_id": "m-river",
        "started_at": AT,
        "finished_at": AT,
        "input_tokens": 1000,
        "cached_input_tokens": 0,
        "output_tokens": 0,
        "status": "ok",
    }
    return base | change


def post(api, *lines, **headers):
    """POST the lines, dictionaries as JSON, as NDJSON unless the headers say otherwise."""
    body = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines)
    return api.post("/v1/usage/legs", content=body.encode(), headers=NDJSON | headers)


def chargeback(api, requests, **wanted):
    """The one chargeback row with these values, once it counts so many requests."""
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while time.monotonic() < deadline:
        rows = api.get("/v1/chargeback", params=DAY).json()["items"]
        found = [row for row in rows if wanted.items() <= row.items()]
        if sum(row["requests"] for row in found) >= requests:
            (row,) = found
            return row
        time.sleep(0.1)
    raise AssertionError(rows)


FAULTS = {
    "torn": ('{"event_id": "x', "record", "expected one JSON object on a line"),
    "no object": ("[1, 2]", "record", "expected a JSON object, got list"),
    "schema version": ({"schema_version": 9}, "schema_version", "expected 1, got 9"),
    "negative": ({"input_tokens": -5}, "input_tokens", "must lie in 0..1000000000000, got -5"),
    "huge": ({"output_tokens": 10**13}, "output_tokens", "got 10000000000000"),
    "beyond 64 bits": ({"output_tokens": 10**30}, "output_tokens", "must lie in 0.."),
    "broken count": ({"input_tokens": 1.5}, "input_tokens", "expected a whole number, got 1.5"),
    "count as text": ({"input_tokens": "12"}, "input_tokens", "expected a whole number"),
    "negative tier": ({"cached_by_tier": {"host": -1}}, "cached_by_tier.host", "must lie in"),
    "no zone": ({"started_at": "2026-11-30T12:00:00"}, "started_at", "a time needs a zone"),
    "no time": ({"finished_at": "yesterday"}, "finished_at", "yesterday"),
    "far ahead": ({"finished_at": "2199-01-01T00:00:00Z"}, "finished_at", "set the clock"),
    "long ago": ({"started_at": "2001-01-01T00:00:00Z"}, "started_at", "tokentill import"),
    "no model": ({"model_id": None}, "model_id", "missing"),
    "unknown stage": ({"stage": "prefil"}, "stage", "expected one of decode, gateway, prefill"),
    "unknown status": ({"status": "fine"}, "status", "expected one of aborted, error, ok"),
    "unknown key": ({"tokens": 3}, "tokens", "known keys: "),
    "tenant of no text": ({"tenant_id": {"a": 1}}, "tenant_id", "expected text"),
}


def test_bad_lines_among_good_ones(api):
    """Every fault in one body between good lines: each is named in its place, the good are stored.

    The refused records are kept in the quarantine, with the same field.
    """
    bad = [
        fault if isinstance(fault, str) else leg(f"bad {name}", **fault)
        for name, (fault, _, _) in FAULTS.items()
    ]
    good = [leg(f"good {name}") for name in FAULTS]
    mixed = [line for pair in zip(bad, good, strict=True) for line in pair]
    answer = post(api, *mixed)
    assert answer.status_code == 200
    told = answer.json()
    assert (told["accepted"], told["rejected"]) == (len(FAULTS), len(FAULTS))
    assert [record["index"] for record in told["records"]] == list(range(0, 2 * len(FAULTS), 2))
    for record, (name, (_, field, words)) in zip(told["records"], FAULTS.items(), strict=True):
        assert record["field"] == field, name
        assert words in record["reason"], name
    row = chargeback(api, len(FAULTS), tenant_id="t-alder", disposition="billed")
    assert Decimal(row["amount"]) == Decimal("0.002") * len(FAULTS)
    kept = api.get("/v1/quarantine", params={"limit": 100}).json()["items"]
    assert sorted(item["field"] for item in kept) == sorted(f for _, f, _ in FAULTS.values())


def test_a_refused_record_is_corrected(api):
    """In the quarantine, with the missing zone added, it is billed like any other."""
    post(api, leg("c1", tenant_id="t-corrected", started_at=AT.partition("+")[0]))
    (kept,) = [
        item
        for item in api.get("/v1/quarantine", params={"limit": 100}).json()["items"]
        if '"c1"' in item["record"]
    ]
    corrected = {
        "record": json.dumps(leg("c1", tenant_id="t-corrected")),
        "reason": "the gateway's clock is UTC",
    }
    done = api.post(f"/v1/quarantine/{kept['quarantine_id']}/resubmit", json=corrected)
    assert done.status_code == 200, done.text
    row = chargeback(api, 1, tenant_id="t-corrected", disposition="billed")
    assert Decimal(row["amount"]) == Decimal("0.002")


def test_unknown_names_are_kept_and_shown(api):
    """A model without price, a tenant and a node nobody registered: shown with their tokens."""
    stranger = {"tenant_id": "t-nobody", "node_id": "n-nobody"}
    told = post(api, leg("s1", **stranger), leg("s2", model_id="m-nobody", **stranger)).json()
    assert told["accepted"] == 2
    billed = chargeback(api, 1, tenant_id="t-nobody", disposition="billed")
    unpriced = chargeback(api, 1, tenant_id="t-nobody", disposition="unpriced")
    assert (Decimal(billed["amount"]), unpriced["amount"]) == (Decimal("0.002"), None)
    assert (unpriced["model_id"], unpriced["uncached_tokens"]) == ("m-nobody", 1000)
    servers = api.get("/v1/revenue/servers", params=DAY).json()["items"]
    assert "n-nobody" in {row["node_id"] for row in servers}
    found = api.get("/v1/findings", params=DAY).json()["items"]
    (named,) = [item for item in found if item["model_id"] == "m-nobody"]
    assert "price" in named["remedy"]


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"Content-Type": "text/csv"}, 415, "application/x-ndjson"),
        ({"Content-Type": "application/vnd.apache.arrow.stream"}, 422, "no Arrow IPC stream"),
        ({"Content-Type": "application/cloudevents-batch+json"}, 422, "JSON"),
        ({"Content-Encoding": "br"}, 415, "br"),
        ({"Content-Encoding": "gzip"}, 422, "gzip"),
        ({"Tokentill-Watermark": "2026-11-30T12:00:00"}, 422, "a time needs a zone"),
        ({"Tokentill-Stage": "prefil"}, 422, "expected one of prefill, decode"),
        ({"Authorization": "Bearer tk_" + "x" * 40}, 401, "not valid"),
        ({"Authorization": ""}, 401, "no Bearer key"),
    ],
)
def test_a_body_or_header_that_cannot_be_used(api, change, status, words):
    """problem+json with the status of docs/wire.md, Answers, what was wrong and what to do."""
    answer = post(api, leg("h1"), "{", **change)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert words in problem["detail"]
    assert problem["remedy"]


def test_a_nodes_key_writes_for_its_node_only(api):
    """The key of p01 may not write for u01: 403 that names the node; for p01 it may."""
    asked = {"name": "p01", "role": "node", "node_id": "p01"}
    own = {"Authorization": f"Bearer {api.post('/v1/keys', json=asked).json()['secret']}"}
    refused = post(api, leg("k1"), **own, **{"Tokentill-Node": "u01"})
    assert (refused.status_code, "p01" in refused.json()["detail"]) == (403, True)
    assert post(api, leg("k1", node_id="p01"), **own).json()["accepted"] == 1


@pytest.mark.parametrize(
    ("path", "params", "field"),
    [
        ("/v1/usage", {"start_at": "2026-11-30T00:00:00"}, "start_at"),
        ("/v1/usage", {"end_at": "2020-01-01T00:00:00Z"}, "start_at"),
        ("/v1/usage", {"interval": "week"}, "interval"),
        ("/v1/requests", {"limit": -3}, "limit"),
        ("/v1/requests", {"disposition": "paid"}, "disposition"),
        ("/v1/chargeback", {"start_at": None}, "start_at"),
    ],
)
def test_a_query_that_cannot_be_answered(api, path, params, field):
    """422 that names the parameter."""
    asked = {name: value for name, value in (DAY | params).items() if value is not None}
    answer = api.get(path, params=asked)
    assert answer.status_code == 422
    assert field in answer.json()["detail"]
    assert answer.json()["remedy"]


def test_a_book_and_json_that_cannot_be_read(api):
    """Line and key of the book, with the key that was meant; the body where JSON is torn."""
    text = BOOK.replace("effective_from", "efective_from")
    refused = api.post("/v1/prices", json={"toml": text, "state": "published"})
    assert refused.status_code == 422
    assert "efective_from: unknown key. Did you mean effective_from?" in refused.json()["detail"]
    assert refused.json()["remedy"]
    torn = api.post("/v1/prices", content=b"{", headers={"Content-Type": "application/json"})
    assert (torn.status_code, torn.json()["errors"][0]["field"]) == (422, "body")


def test_a_full_disk_takes_nothing_and_loses_nothing(api, server):  # noqa: F811
    """No file may grow: 503 with the remedy, health says why; once there is room, all is stored.

    A limit on the size of files makes every write beyond it fail, as a full disk does.
    """
    lines = [leg(f"full {number}", tenant_id="t-full") for number in range(200)]
    log = server.home / "usage.duckdb.wal"
    pid, before = server.process.pid, resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    size = log.stat().st_size if log.exists() else 0
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 100, before[1]))
    try:
        refused = post(api, *lines)
        health = api.get("/health/ready")
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert refused.status_code == 503
    assert "nothing of this batch was stored" in refused.json()["detail"]
    assert "disk" in refused.json()["remedy"]
    assert (health.status_code, health.json()["status"]) == (503, "not_ready")
    again = post(api, *lines)
    assert again.json()["accepted"] == 200, again.text
    assert post(api, *lines).json()["duplicate"] == 200
    row = chargeback(api, 200, tenant_id="t-full", disposition="billed")
    assert Decimal(row["amount"]) == Decimal("0.4")
    assert api.get("/health/ready").status_code == 200
