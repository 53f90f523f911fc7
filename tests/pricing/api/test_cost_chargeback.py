"""/v1/chargeback/costs and /v1/economics/attribution on the pair of test_economics."""

from decimal import Decimal

import pytest

from tests.pricing.api.conftest import leg, open_house
from tests.pricing.api.test_economics import COSTS, DAY, furnish_pair


@pytest.fixture(scope="module")
def pair(ledger_template, tmp_path_factory):
    """The pair, with 120 of p01's 240 shared and 30 % of it kept for t-birch."""
    with open_house(ledger_template, tmp_path_factory.mktemp("shared")) as made:
        furnish_pair(made)
        costs = COSTS | {"shared": ["hosting"], "reserved": {"t-birch": "0.3"}}
        body = {"cost_assumptions": costs}
        assert made.send("PATCH", "/v1/servers/p01", json=body).status_code == 200
        yield made


def carried(house, **params):
    answer = house.get("/v1/chargeback/costs", params=DAY | params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def amounts(rows, *names):
    return {row["owner"]: tuple(row[name] for name in names) for row in rows}


def test_each_kind_has_its_owner(pair):
    """Of 120: 20 % used, 5 % failed, 30 % kept for t-birch, 45 % idle; 120 shared by the rest.

    t-alder carries 24, t-birch 36: of 120 shared 48 and 72.
    """
    rows = carried(pair)
    kinds = amounts(rows, "used", "failed", "reserved", "idle", "shared", "cost")
    assert kinds["t-alder"] == ("24", "0", "0", "0", "48", "72")
    assert kinds["t-birch"] == ("0", "0", "36", "0", "72", "108")
    assert kinds[None] == ("0", "6", "0", "54", "0", "60")


@pytest.mark.parametrize("idle", ["keep", "by_use", "even"])
@pytest.mark.parametrize("shared", ["keep", "by_use", "even"])
@pytest.mark.parametrize("by", ["tenant", "project", "cost_centre"])
def test_the_rows_sum_to_the_cost(pair, idle, shared, by):
    """240, whatever the policies: nothing is lost and nothing is charged twice."""
    rows = carried(pair, idle=idle, shared=shared, by=by)
    assert sum(Decimal(row["cost"]) for row in rows) == 240
    parts = carried(pair, idle=idle, shared=shared, by=by, per_server=True)
    assert sum(Decimal(row["cost"]) for row in parts) == 240


def test_price_and_cost_stand_side_by_side(pair):
    """t-alder was charged 17.28 + 0.08 and carries 72: a loss of 54.64."""
    (row,) = [row for row in carried(pair) if row["owner"] == "t-alder"]
    assert (row["charged"], row["margin"]) == ("17.36", "-54.64")


def test_fixed_percentages_must_sum_to_100(pair):
    """60 + 30 is refused; 60 + 40 splits the idle 54."""
    asked = {"idle": "fixed", "idle_percent": ["t-alder=60", "t-birch=30"]}
    answer = pair.get("/v1/chargeback/costs", params=DAY | asked)
    assert (answer.status_code, "sum to 100" in answer.json()["detail"]) == (422, True)
    rows = carried(pair, **asked | {"idle_percent": ["t-alder=60", "t-birch=40"]})
    assert amounts(rows, "idle") == {"t-alder": ("32.4",), "t-birch": ("21.6",), None: ("0",)}


def attributed(house, **params):
    answer = house.get("/v1/economics/attribution", params=DAY | params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def by_name(rows, kind):
    return {row["name"]: row["amount"] for row in rows if row["kind"] == kind}


def test_the_book_of_record_is_the_price_line(pair):
    """17.28 of input on p01, 0.08 of output on d01; both of t-alder."""
    rows = attributed(pair)
    assert by_name(rows, "server") == {"d01": "0.08", "p01": "17.28"}
    assert by_name(rows, "tenant") == {"t-alder": "17.36"}


def test_the_first_token_moves_to_the_server_that_sampled_it(pair):
    """Ten tokens at 8 per million: 0.00008."""
    rows = attributed(pair, first_token_to_prefill=True)
    assert by_name(rows, "server") == {"d01": "0.07992", "p01": "17.28008"}


def test_the_cost_rule_asks_for_costs_that_are_not_stated(pair):
    """d01's are not: 422 that names it."""
    answer = pair.get("/v1/economics/attribution", params=DAY | {"rule": "cost"})
    assert (answer.status_code, "d01" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"kv_share": "0.333333333333333"},
        {"first_token_to_prefill": True, "kv_share": "1"},
        {"rule": "cost", "kappa": "0.07"},
        {"rule": "cost", "kv_cost": "0.3"},
        {"rule": "shapley", "decode_slowdown": "3", "prefill_speedup": "2", "kappa": "0.07"},
    ],
)
def test_servers_and_tenants_get_the_ledgers_sum_under_every_rule(house, rule):
    """V7 on settled usage with three tenants, hits, odd counts and a unified server."""
    furnish_pair(house)
    for node_id in ("d01", "u01"):
        body = {"node_id": node_id, "name": node_id, "stage": "unified"}
        facts = {"cost_assumptions": COSTS, "rated_tokens_per_second": "700"}
        body |= {"in_service_from": DAY["start_at"]} | facts
        sent = house.send("POST", "/v1/servers", json=body)
        if sent.status_code == 409:
            house.send("PATCH", f"/v1/servers/{node_id}", json=facts)
    odd = {"input_tokens": 1_000_003, "cached_input_tokens": 333_337, "output_tokens": 77}
    owners = ["t-alder", "t-birch", None] * 3
    house.settle(*(leg(500 + i, owner, **odd) for i, owner in enumerate(owners)))
    rows = attributed(house, **rule)
    ledger = house.get("/v1/usage", params=DAY | {"disposition": "billed"}).json()["items"]
    billed = sum(Decimal(row["amount"]) for row in ledger)
    for kinds in ({"server", "kv_store"}, {"tenant"}):
        assert sum(Decimal(r["amount"]) for r in rows if r["kind"] in kinds) == billed
