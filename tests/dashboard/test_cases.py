"""Cases C08, C09 and C22 as the dashboard shows them, against processes started as shipped."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from tests.dashboard.conftest import (
    NDJSON,
    _key,
    _requests,
    import_old,
    leg,
    serving,
    talk,
    wait_for,
)
from tests.dashboard.test_pages import said

JUNE = {"window": "custom", "from": "2026-06-01", "to": "2026-06-30", "compare": "none"}
PRICE = """
[[price]]
model = "{model}"
effective_from = {since}T00:00:00Z
per_million_tokens = {{ input = "{miss}", cached_input = "{hit}", output = "{output}" }}
"""
VERSIONS = [("2026-05-01", "2.00", "0.20", "8.00"), ("2026-06-16", "1.60", "0.16", "6.00"),
            ("2026-07-01", "1.00", "0.10", "4.00")]  # fmt: skip


def book(count):
    """The first versions of case C08, and the price of case C22 for another model."""
    asked = [("m-river", *each) for each in VERSIONS[:count]]
    asked += [("m-lake", "2020-01-01", "2.00", "0.20", "8.00")]
    names = ("model", "since", "miss", "hit", "output")
    prices = [PRICE.format(**dict(zip(names, each, strict=True))) for each in asked]
    return 'book = "list"\ncurrency = "CNY"\ntimezone = "UTC"\n' + "".join(prices)


@pytest.fixture(scope="module")
def june(tmp_path_factory):
    """June 2026 of C08 for t-alder, 5.00 CNY, and one request of t-birch, 2.20 CNY."""
    folder = tmp_path_factory.mktemp("june")
    with serving(folder) as found, talk(found) as api:
        api.post("/v1/prices", json={"toml": book(2)}).raise_for_status()
        for tenant in ("t-alder", "t-birch"):
            body = {"tenant_id": tenant, "name": tenant, "billing_zone": "UTC", "currency": "CNY"}
            api.post("/v1/tenants", json=body).raise_for_status()
            setattr(found, tenant[2:], _key(api, role="tenant", tenant_id=tenant))
        asked = {"input_tokens": 1_000_000, "cached_input_tokens": 0, "output_tokens": 100_000}
        last, first = (
            datetime(2026, 6, 15, 23, 59, 59, 999_000, UTC),
            datetime(2026, 6, 16, tzinfo=UTC),
        )
        events = [("t-alder", last), ("t-alder", first), ("t-birch", first)]
        legs = [
            leg(number, tenant, at, started_at=at.isoformat(), **asked)
            for number, (tenant, at) in enumerate(events)
        ]
        import_old(found, folder, legs)
        wait_for(lambda: _requests(api, first) == len(legs))
        yield found


def headline(show, server, key, path="mine"):
    """The first line of a tenant's June."""
    return show(server, path, key=key, **JUNE).subheader[0].value


def test_a_new_price_does_not_rewrite_june(june, show):
    """C08: 2.80 + 2.20 = 5.00, before the close, after it, and after v3 was published."""
    seen = [headline(show, june, june.alder)]
    with talk(june) as api:
        api.post("/v1/close", json={"month": "2026-06"}).raise_for_status()
        api.post("/v1/prices", json={"toml": book(3)}).raise_for_status()
    seen.append(headline(show, june, june.alder))
    assert [line for line in seen if "cost ¥5.00" in line] == seen


def test_one_tenant_never_sees_the_bill_of_another(june, show):
    """C09: t-birch opens June, then t-alder within the life of the cache, in one process."""
    assert "cost ¥2.20" in headline(show, june, june.birch)
    for more in ({}, {"tenant": "t-birch"}):
        test = show(june, "mine", key=june.alder, **JUNE, **more)
        assert "¥2.20" not in said(test)
        assert "¥7.20" not in said(test)


def test_page_close_and_ingest_share_one_store(june, show):
    """C22: 100 events of 1,000 tokens while pages are open and a close runs: 100,000 and ¥0.20."""
    at = datetime.now(UTC) - timedelta(seconds=1)
    asked = {"input_tokens": 1_000, "cached_input_tokens": 0, "output_tokens": 0}
    asked |= {"model_id": "m-lake", "started_at": at.isoformat()}
    bodies = [json.dumps(leg(100 + n, "t-alder", at, **asked)) for n in range(100)]
    with talk(june) as api, ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(api.post, "/v1/usage/legs", content=b, headers=NDJSON) for b in bodies]
        closed = pool.submit(api.post, "/v1/close", json={"month": "2026-06"})
        assert not show(june, "overview", window="30d").exception
        assert {each.result().json()["accepted"] for each in sent} == {1}
        assert closed.result().json()["is_done"]
        wait_for(lambda: _requests(api, at) == len(bodies))
    test = show(june, "mine", key=june.alder, window="30d", model="m-lake")
    assert "¥0.20" in test.subheader[0].value
    assert "100,000 tokens in the window" in test.metric[2].help
