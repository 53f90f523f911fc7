"""/v1/usage, /v1/chargeback, /v1/revenue/servers, /v1/requests: exact, and the same everywhere."""

import pytest

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}


def items(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_usage_of_the_house_adds_up(furnished):
    """110 requests × 1,000 uncached tokens × 2.00 per million = 0.22 CNY."""
    (row,) = items(furnished.get("/v1/usage", params=DAY))
    assert (row["requests"], row["uncached_tokens"], row["amount"]) == (110, 110_000, "0.22")
    assert (row["currency"], row["disposition"], row["tenant_id"]) == ("CNY", "billed", None)
