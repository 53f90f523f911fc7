"""Cost of servers over HTTP: measured energy, currencies, sums over servers, saved as stated."""

from decimal import Decimal

import pytest

from tests.pricing.api.test_economics import COSTS, DAY, furnish_pair, row

POWER = {"rated_kw": "0", "pue": "1.25", "price_per_kwh": "0.65"}
ENERGY = """INSERT INTO node_sample_hourly
    (hour_start_at, node_id, source, samples, energy_joules, restarts) VALUES
    ('2026-10-01 10:00', 'p01', 'dcgm', 60, 1800000, 0),
    ('2026-10-01 10:00', 'p01', 'redfish', 60, 3600000, 0)"""


@pytest.fixture
def pair(house):
    """The pair of test_economics, to change."""
    furnish_pair(house)
    return house


def state(house, node_id, **costs):
    answer = house.send("PATCH", f"/v1/servers/{node_id}", json={"cost_assumptions": costs})
    assert answer.status_code == 200, answer.text
    return answer.json()


def lines(house, node_id):
    items = house.get("/v1/economics/costs", params=DAY).json()["items"]
    return {item["line"]: item["amount"] for item in items if item["node_id"] == node_id}


def test_measured_energy_takes_the_place_of_the_nameplate(pair):
    """1 kWh at the larger meter × PUE 1.25 × 0.65 = 0.8125; hours without a sample draw 0 kW."""
    pair.store.cursor().execute(ENERGY)
    state(pair, "p01", currency="CNY", power=POWER)
    assert lines(pair, "p01") == {"energy": "0.8125"}
    state(pair, "p01", currency="CNY", power=POWER | {"measured": False})
    assert lines(pair, "p01") == {"energy": "0"}


def test_rent_is_by_the_hour(pair):
    """8 GPUs at 2 for 12 hours: 192."""
    state(pair, "p01", currency="CNY", rent={"gpu_count": 8, "price_per_gpu_hour": "2"})
    assert lines(pair, "p01") == {"rent": "192"}


def test_nothing_is_converted(pair):
    """A cost in USD beside revenue in CNY: two rows, neither with a margin."""
    state(pair, "p01", **(COSTS | {"currency": "USD"}))
    items = pair.get("/v1/economics/servers", params=DAY).json()["items"]
    found = {item["currency"]: item for item in items if item["group"] == "p01"}
    assert (found["CNY"]["cost"], found["CNY"]["gross_margin"]) == (None, None)
    assert (found["USD"]["cost"], found["USD"]["revenue"]) == ("240", "0")
    assert "nothing is converted" in found["CNY"]["missing"][0]


def test_a_fleet_is_the_sum_of_its_servers(pair):
    """240 + 120 of cost, 17.28 + 0.08 of revenue, three times 12 hours in service."""
    state(pair, "d01", currency="CNY", monthly={"all": "7440"})
    state(pair, "p02", currency="CNY", monthly={"none": "0"})
    fleet = row(pair, "fleet", group_by="fleet")
    assert (fleet["revenue"], fleet["cost"], fleet["difference"]) == ("17.36", "360", "0")
    assert (fleet["seconds_in_service"], fleet["stage"]) == (3 * 43_200, None)
    kinds = ("used_cost", "failed_cost", "reserved_cost", "idle_cost", "shared_cost")
    assert sum(Decimal(fleet[kind]) for kind in kinds) == 360


def test_a_fleet_of_two_stages_has_a_cost_by_kind(pair):
    """240 of prefill for 8.64 M tokens in, 120 of decode for 10,000 out: 27.78 and 12,000."""
    state(pair, "d01", currency="CNY", monthly={"all": "7440"})
    state(pair, "p02", currency="CNY", monthly={"none": "0"})
    fleet = row(pair, "fleet", group_by="fleet")
    names = ("cost_per_million_input", "cost_per_million_uncached", "cost_per_million_output")
    found = [float(fleet[name]) for name in names]
    assert found == pytest.approx([240 / 8.64, 240 / 8.64, 12_000])


def test_assumptions_are_shown_as_they_were_stated(pair):
    """A figure that was not given does not appear as one that was."""
    shown = state(pair, "p01", **COSTS)["cost_assumptions"]
    assert shown["monthly"] == COSTS["monthly"]
    assert shown["assets"]["server"]["purchase"] == "446400"


def test_a_server_before_its_service_costs_nothing(pair):
    """p03 comes next month: no seconds, and no row."""
    body = {"node_id": "p03", "name": "p03", "stage": "prefill", "cost_assumptions": COSTS}
    pair.send("POST", "/v1/servers", json=body | {"in_service_from": "2026-11-01T00:00:00Z"})
    assert set(lines(pair, "p03").values()) == {"0"}
