"""/v1/economics/attribution: the rules beside the book of record, and instances of servers."""

from decimal import Decimal

import pytest

from tests.pricing.api.conftest import NOW, open_house
from tests.pricing.api.test_economics import COSTS, DAY, furnish_pair, row

SHAPLEY = {"rule": "shapley", "decode_slowdown": "3", "prefill_speedup": "2"}


@pytest.fixture
def pair(house):
    """The pair of test_economics (17.28 on p01, 0.08 on d01), to change."""
    furnish_pair(house)
    return house


@pytest.fixture(scope="module")
def spanned(ledger_template, tmp_path_factory):
    """The pair whose prefill instance spans p01 and p02, weights 3 : 1; p01's usage alone came."""
    with open_house(ledger_template, tmp_path_factory.mktemp("spanned")) as made:
        furnish_pair(made)
        for node_id, weight in (("p01", "3"), ("p02", "1")):
            patch(made, node_id, instance_id="glm-a", instance_weight=weight)
        patch(made, "p02", rated_tokens_per_second="1000", cost_assumptions=COSTS)
        yield made


def patch(house, node_id, **change):
    answer = house.send("PATCH", f"/v1/servers/{node_id}", json=change)
    assert answer.status_code == 200, answer.text


def attributed(house, **params):
    answer = house.get("/v1/economics/attribution", params=DAY | params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def amounts(rows, kind="server"):
    return {row["name"]: row["amount"] for row in rows if row["kind"] == kind}


def test_every_row_names_its_rule(pair):
    """A figure that leaves as CSV still says under which rule it was made."""
    assert {row["rule"] for row in attributed(pair)} == {"price_line"}
    rows = attributed(pair, kv_share="0.50", first_token_to_prefill=True)
    assert {row["rule"] for row in rows} == {"price_line first_token_to_prefill=true kv_share=0.5"}


def test_a_discount_is_spread_by_list_price(pair):
    """Relative stand-alone price: 1.736 off 17.36 is a tenth of every line; shares stay."""
    rows = attributed(pair, rule="stand_alone", discount=["t-alder=1.736"])
    assert amounts(rows) == {"d01": "0.072", "p01": "15.552"}
    assert amounts(rows, "tenant") == {"t-alder": "15.624"}
    assert [r["share"] for r in rows] == [r["share"] for r in attributed(pair)]


@pytest.mark.parametrize("discount", ["t-alder", "t-birch=1", "t-alder=x", "=1"])
def test_a_discount_that_cannot_be_spread_is_refused(pair, discount):
    """No amount, a tenant that bought nothing, no number, no tenant: 422."""
    params = DAY | {"rule": "stand_alone", "discount": [discount]}
    assert pair.get("/v1/economics/attribution", params=params).status_code == 422


def test_shapley_asks_for_ratings_and_assumptions(pair):
    """d01 has no rating; without slowdown and speed-up there is no counterfactual."""
    missing = pair.get("/v1/economics/attribution", params=DAY | SHAPLEY)
    assert (missing.status_code, "d01" in missing.json()["detail"]) == (422, True)
    plain = pair.get("/v1/economics/attribution", params=DAY | {"rule": "shapley"})
    assert (plain.status_code, "decode_slowdown" in plain.text) == (422, True)


def test_shapley_of_the_pair(pair):
    """By hand: 8,640 s of prefill at 1,000/s, 20 s of decode at 500/s, 17.36 CNY, no hits.

    v(P) = 17.36/8,700, v(D) = 17.36/4,340, v(PD) = 17.36/8,640: φ_D ÷ v(PD) = 1/2·(1 + 8,640/4,340
    − 8,640/8,700).
    """
    patch(pair, "d01", rated_tokens_per_second="500")
    rows = attributed(pair, **SHAPLEY)
    share = (1 + 8_640 / 4_340 - 8_640 / 8_700) / 2
    assert float(amounts(rows)["d01"]) == pytest.approx(17.36 * share)
    assert sum(Decimal(each) for each in amounts(rows).values()) == Decimal("17.36")


def test_an_instance_books_once_and_is_split_by_weight(spanned):
    """17.28 over 3 : 1 is 12.96 and 4.32; 8.64 M tokens are 6.48 M and 2.16 M; difference 0."""
    items = spanned.get("/v1/revenue/servers", params=DAY).json()["items"]
    found = {r["node_id"]: (r["amount"], r["input_tokens"], r["difference"]) for r in items}
    assert found["p01"] == ("12.96", 6_480_000, "0")
    assert found["p02"] == ("4.32", 2_160_000, "0")
    assert sum(Decimal(r["amount"]) for r in items) == Decimal("17.36")


@pytest.mark.parametrize("path", ["/v1/economics/hours", "/v1/economics/servers"])
def test_every_report_per_server_splits_it_alike(spanned, path):
    """Hours and economics say what /v1/revenue/servers says."""
    items = spanned.get(path, params=DAY).json()["items"]
    earned = {r.get("node_id") or r["group"]: r["revenue"] for r in items}
    assert earned == {"d01": "0.08", "p01": "12.96", "p02": "4.32"}


def test_revenue_by_node_splits_it_as_well(spanned):
    """/v1/revenue by node: 12.96 + 4.32 + 0.08; by stage the sums are the same."""
    params = DAY | {"group_by": ["node_id"]}
    items = spanned.get("/v1/revenue", params=params).json()["items"]
    earned = {row["node_id"]: (row["amount"], row["uncached_tokens"]) for row in items}
    assert earned["p01"] == ("12.96", 6_480_000)
    assert earned["p02"] == ("4.32", 2_160_000)
    stages = spanned.get("/v1/revenue", params=DAY | {"group_by": ["stage"]}).json()["items"]
    assert {row["stage"]: row["amount"] for row in stages} == {"prefill": "17.28", "decode": "0.08"}


def test_attribution_splits_it_too(spanned):
    """The same under the book of record; Σ servers = Σ tenants."""
    rows = attributed(spanned)
    assert amounts(rows) == {"d01": "0.08", "p01": "12.96", "p02": "4.32"}
    assert amounts(rows, "tenant") == {"t-alder": "17.36"}


def test_work_is_split_for_cost_as_well(spanned):
    """p02 did a quarter: 2.16 M of 43.2 M tokens are used, 0.54 M lost: 240 · 0.05 and 0.0125."""
    found = row(spanned, "p02")
    assert (found["used_cost"], found["failed_cost"], found["cost"]) == ("12", "3", "240")
    assert found["utilization_ratio"] == 0.05


def test_one_server_of_an_instance_can_be_asked_for(spanned):
    """Hours of p02, whose usage p01 sent."""
    params = DAY | {"node_id": "p02"}
    (hour,) = spanned.get("/v1/economics/hours", params=params).json()["items"]
    assert (hour["node_id"], hour["revenue"]) == ("p02", "4.32")


def test_a_weight_is_above_zero(house):
    """A weight of 0 would hide a server from its instance."""
    body = {"node_id": "x", "name": "x", "stage": "prefill", "in_service_from": NOW.isoformat()}
    answer = house.send("POST", "/v1/servers", json=body | {"instance_weight": "0"})
    assert answer.status_code == 422
