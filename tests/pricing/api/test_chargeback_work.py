"""/v1/chargeback/work beside /v1/chargeback/costs: the same work shares the cost."""

from decimal import Decimal

import pytest

from tests.pricing.api.conftest import open_house
from tests.pricing.api.test_economics import DAY, furnish_pair, half

PATH = "/v1/chargeback/work"


@pytest.fixture(scope="module")
def pair(ledger_template, tmp_path_factory):
    """The pair of test_economics, three pairs of t-birch with hits, and a half that waits."""
    with open_house(ledger_template, tmp_path_factory.mktemp("work")) as made:
        furnish_pair(made)
        birch = {"tenant_id": "t-birch", "input_tokens": 1_000_001, "cached_input_tokens": 400_000}
        sides = (("prefill", "p01"), ("decode", "d01"))
        for i in range(200, 203):
            made.settle(*(half(i, stage, node) | birch for stage, node in sides))
        made.settle(half(300, "prefill", "p01", input_tokens=777, cached_input_tokens=0))
        yield made


def items(house, path=PATH, **params):
    answer = house.get(path, params=DAY | params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_the_work_of_a_prefill_server(pair):
    """t-alder: 8.64 M delivered, 2.16 M failed, 777 waiting; t-birch 3 × 1,000,001."""
    rows = {row["tenant_id"]: row for row in items(pair, node_id="p01")}
    names = ("work_tokens", "delivered_tokens", "failed_tokens", "waiting_tokens", "rest_tokens")
    found = {owner: tuple(row[name] for name in names) for owner, row in rows.items()}
    assert found == {
        "t-alder": (10_800_777, 8_640_000, 2_160_000, 777, 0),
        "t-birch": (3_000_003, 3_000_003, 0, 0, 0),
    }
    assert rows["t-birch"]["cached_input_tokens"] == 1_200_000
    assert rows["t-alder"]["prefill_seconds"] == 12.0  # ten pairs, the failed and the waiting half


def test_cost_is_shared_by_what_was_delivered_and_failed(pair):
    """κ = 1 weighs every input token alike: of 240 for 43.2 M tokens, 240 · delivered ÷ 43.2 M."""
    work = {row["tenant_id"]: row for row in items(pair, node_id="p01")}
    costs = items(pair, "/v1/chargeback/costs", kappa="1", per_server=True)
    carried = {row["owner"]: row for row in costs if row["node_id"] == "p01"}
    for owner in ("t-alder", "t-birch"):
        share = Decimal(240) * work[owner]["delivered_tokens"] / 43_200_000
        assert Decimal(carried[owner]["used"]) == pytest.approx(share, abs=Decimal("1e-14"))
    failed = sum(row["failed_tokens"] for row in work.values())
    assert Decimal(carried[None]["failed"]) == Decimal(240) * failed / 43_200_000


def test_rows_of_a_server_add_up_whoever_is_asked_for(pair):
    """By tenant or all at once; t-birch's 3,000 output tokens on d01."""
    parts = [row for name in ("t-alder", "t-birch") for row in items(pair, tenant_id=name)]
    assert sum(row["legs"] for row in parts) == sum(row["legs"] for row in items(pair)) == 28
    (row,) = items(pair, tenant_id="t-birch", node_id="d01")
    assert (row["stage"], row["work_tokens"], row["rest_tokens"]) == ("decode", 3_000, 0)


def test_a_tenant_is_refused(furnished):
    """What a record names is evidence, not ownership: 403, its own rows included."""
    own = furnished.tenant["t-alder"]
    for asked in ({}, {"tenant_id": "t-alder"}, {"tenant_id": "t-birch"}):
        assert furnished.get(PATH, own, params=DAY | asked).status_code == 403


def test_a_part_of_a_day_is_refused(pair):
    """422 that says what to ask for."""
    answer = pair.get(PATH, params=DAY | {"start_at": "2026-10-01T01:00:00Z"})
    assert (answer.status_code, "midnight UTC" in answer.json()["detail"]) == (422, True)
