"""The month's close beside running ingest: one process owns the stores, commands ask it (C22)."""

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import httpx
import pytest

from tests.pricing.serve.conftest import BOOK, tokentill

LAST_MONTH = (datetime.now(UTC).replace(day=1) - timedelta(days=1)).replace(day=10, hour=10)


def leg(number):
    """1,000 uncached input tokens: 0.002 CNY."""
    at = LAST_MONTH.isoformat()
    return {
        "request_id": f"r{number}",
        "stage": "unified",
        "node_id": "u1",
        "status": "ok",
        "tenant_id": "t-alder",
        "model_id": "m-river",
        "started_at": at,
        "finished_at": at,
        "input_tokens": 1000,
        "cached_input_tokens": 0,
        "output_tokens": 0,
    }


@pytest.mark.slow
def test_a_month_is_closed_while_usage_comes_in(server):
    """100 events of last month are sent while it is closed: 0.20 CNY, on this invoice or the next.

    Whatever came before the close is on its invoice; the rest is an adjustment. No request fails.
    """
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {server.key}"}, timeout=60
    ) as api:
        play(server, api)


def play(server, api):
    """Send, close and prove."""
    tenant = {"tenant_id": "t-alder", "name": "Alder", "billing_zone": "UTC", "currency": "CNY"}
    assert api.post("/v1/tenants", json=tenant).status_code == 201
    assert api.post("/v1/prices", json={"toml": BOOK}).status_code == 201
    answers = []

    def send():
        for start in range(0, 100, 5):
            body = "\n".join(json.dumps(leg(start + n)) for n in range(5))
            headers = {"Content-Type": "application/x-ndjson"}
            answers.append(api.post("/v1/usage/legs", content=body, headers=headers).json())

    sender = threading.Thread(target=send)
    sender.start()
    month = f"{LAST_MONTH:%Y-%m}"
    access = {"TOKENTILL_API_URL": server.url, "TOKENTILL_API_KEY": server.key}
    closed = tokentill(server.home, "close", month, "--json", **access)
    sender.join()
    assert sum(each["accepted"] for each in answers) == 100
    report = json.loads(closed.stdout)
    assert report["tenants"][0]["outcome"] in ("closed", "blocked")  # blocked: not settled yet
    while not report["is_done"]:
        again = tokentill(server.home, "close", month, "--json", **access)
        report = json.loads(again.stdout)
    assert sum(Decimal(each["amount"]) for each in settled(api)) == Decimal("0.20")
    for each in report["tenants"][0]["documents"]:
        proof = tokentill(server.home, "invoice", "verify", each["number"], **access)
        assert proof.exit_code == 0, proof.stdout


def window():
    """Last month in UTC."""
    start = LAST_MONTH.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    end = (start + timedelta(days=32)).replace(day=1)
    return {"start_at": start.isoformat(), "end_at": end.isoformat()}


def settled(api):
    """The chargeback of last month, once all 100 requests are settled."""
    deadline = time.monotonic() + 60
    while True:
        answer = api.get("/v1/chargeback", params=window())
        assert answer.status_code == 200, answer.text
        items = answer.json()["items"]
        if sum(each["requests"] for each in items) == 100:
            return items
        assert time.monotonic() < deadline, items
        time.sleep(0.1)
