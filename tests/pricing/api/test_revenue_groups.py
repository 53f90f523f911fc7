"""/v1/revenue: by pool and model, and however grouped the same money."""

from datetime import timedelta
from decimal import Decimal
from itertools import combinations

import pytest

from tests.pricing.api.conftest import BOOK, NOW, leg

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
GROUPS = ("pool", "model_id", "stage", "node_id")


@pytest.fixture
def earned(house):
    """Pools a and b; 500,000 input at 2.00 a million are 1.00; 400,000 of them cached at 0.20."""
    assert house.send("POST", "/v1/prices", json={"toml": BOOK}).status_code == 201
    house.settle(
        leg(1, "t-alder", pool="a"),
        leg(2, "t-birch", pool="a", node_id="u02"),
        leg(3, None, pool="b", cached_input_tokens=400_000),
    )
    return house


def read(house, *groups):
    return house.get("/v1/revenue", params=DAY | {"group_by": groups}).json()["items"]


def test_revenue_by_pool(earned):
    """a: 2 × 1.00; b: 0.1 M × 2.00 + 0.4 M × 0.20 = 0.28, hit ratio 0.8."""
    found = [(row["pool"], row["amount"], row["hit_ratio"]) for row in read(earned, "pool")]
    assert found == [("a", "2", 0.0), ("b", "0.28", 0.8)]


def test_however_grouped_the_money_is_the_servers(earned):
    """V7: every grouping adds up to what /v1/revenue/servers says."""
    servers = earned.get("/v1/revenue/servers", params=DAY).json()["items"]
    total = sum(Decimal(row["amount"]) for row in servers)
    assert total == Decimal("2.28")
    for size in range(1, len(GROUPS) + 1):
        for groups in combinations(GROUPS, size):
            assert sum(Decimal(row["amount"]) for row in read(earned, *groups)) == total


@pytest.mark.parametrize("path", ["/v1/revenue", "/v1/revenue/servers"])
def test_a_window_may_cut_an_hour(earned, path):
    """The third request began three seconds after the hour: 0.28 of 2.28 lie behind the cut."""
    cut = (NOW - timedelta(hours=2, seconds=-3)).isoformat()
    parts = [(DAY["start_at"], cut), (cut, DAY["end_at"])]
    found = [
        earned.get(path, params={"start_at": start, "end_at": end}).json()["items"]
        for start, end in parts
    ]
    assert [sum(Decimal(row["amount"]) for row in rows) for rows in found] == [
        Decimal(2),
        Decimal("0.28"),
    ]
