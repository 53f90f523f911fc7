"""/v1/economics: cost beside revenue, on usage that went the whole way from legs to roll-ups.

One prefill server p01 at 1,000 tokens/s in its first 12 hours (NOW is noon): 43.2 M tokens of
capacity. Ten requests of 864,000 tokens are 20 % of it, one failed prompt of 2.16 M is 5 %. It
costs 7,440 CNY a month of hosting and as much of capital: 10 + 10 an hour, 240 in the window.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from pricing.scope import Role
from tests.pricing.api.conftest import BOOK, NOW, leg, open_house

START = datetime(2026, 10, 1, tzinfo=UTC)
DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
COSTS = {
    "currency": "CNY",
    "assets": {"server": {"purchase": "446400", "life_months": 60}},
    "monthly": {"hosting": "7440"},
}


def half(number, stage, node_id, **change):
    """One half of request `number`: the prefill half, or the decode half a second later."""
    base = {
        "stage": stage,
        "node_id": node_id,
        "pool": "pd",
        "join_key": f"k{number}",
        "started_at": NOW - timedelta(hours=2),
        "finished_at": NOW - timedelta(hours=2, seconds=-1 - (stage == "decode")),
        "input_tokens": 864_000,
        "output_tokens": 1 if stage == "prefill" else 1_000,
        "prefill_seconds": 1.0 if stage == "prefill" else None,
    }
    return leg(number * 2 + (stage == "decode"), "t-alder", **(base | change))


def furnish_pair(house):
    """p01 with its costs, d01 without them, an idle p02 of the catalogue; ten requests, a loss."""
    assert house.send("POST", "/v1/prices", json={"toml": BOOK}).status_code == 201
    server = {"in_service_from": START.isoformat(), "pool": "pd"}
    rated = {"rated_tokens_per_second": "1000"}
    for node_id, stage, facts in (
        ("p01", "prefill", rated | {"cost_assumptions": COSTS}),
        ("d01", "decode", {}),
        ("p02", "prefill", {"hardware": "mtt-s5000"}),
    ):
        body = server | {"node_id": node_id, "name": node_id, "stage": stage} | facts
        answer = house.send("POST", "/v1/servers", json=body)
        assert answer.status_code == 201, answer.text
    pairs = [half(i, s, n) for i in range(10) for s, n in (("prefill", "p01"), ("decode", "d01"))]
    lost = half(99, "prefill", "p01", input_tokens=2_160_000, status="error")
    house.settle(*pairs, lost)


@pytest.fixture(scope="module")
def pair(ledger_template, tmp_path_factory):
    """The house of the docstring; read only."""
    with open_house(ledger_template, tmp_path_factory.mktemp("pair")) as made:
        furnish_pair(made)
        made.tenant = made.key(Role.VIEWER)
        yield made


def economics(house, **params):
    answer = house.get("/v1/economics/servers", params=DAY | params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def row(house, group, **params):
    (found,) = [r for r in economics(house, **params)["items"] if r["group"] == group]
    return found


def test_cost_stands_beside_revenue(pair):
    """8.64 M tokens at 2.00 per million earn 17.28; 240 of cost: a loss of 222.72."""
    found = row(pair, "p01")
    assert (found["revenue"], found["cost"], found["profit"]) == ("17.28", "240", "-222.72")
    assert found["utilization_ratio"] == 0.2
    assert found["gross_margin"] == pytest.approx(1 - 240 / 17.28)
    assert found["margin_on_cost"] == pytest.approx(17.28 / 240 - 1)


def test_kinds_of_cost_sum_to_the_cost(pair):
    """20 % used, 5 % lost to the failed prompt, 75 % idle of 240."""
    found = row(pair, "p01")
    kinds = ("used_cost", "failed_cost", "idle_cost", "reserved_cost", "shared_cost")
    assert [found[kind] for kind in kinds] == ["48", "12", "180", "0", "0"]


def test_what_would_pay(pair):
    """240 / 17.28 = 13.89 times the revenue: U = 2.78; 240 / 8.64 M tokens = 27.78 a million."""
    found = row(pair, "p01")
    assert found["break_even_factor"] == pytest.approx(240 / 17.28)
    assert found["break_even_utilization_ratio"] == pytest.approx(0.2 * 240 / 17.28)
    assert Decimal(found["cost_per_million_input"]) == Decimal("27.777777777777778")
    assert found["payback_months"] is None  # 17.28 earned, 120 of hosting paid


def test_vat_is_taken_off_before_cost_is_compared(pair):
    """17.28 with 8 % inside are 16 net."""
    found = row(pair, "p01", vat_rate="0.08")
    assert (found["revenue"], found["net_revenue"], found["profit"]) == ("17.28", "16", "-224")


def test_a_cost_that_nobody_stated_is_asked_for(pair):
    """d01 earns 10,000 × 8 per million = 0.08 at unknown cost; p02's price is not public."""
    decode, idle = row(pair, "d01"), row(pair, "p02")
    assert (decode["revenue"], decode["cost"], decode["gross_margin"]) == ("0.08", None, None)
    assert any("server_price" in each and "ask the vendor" in each for each in idle["missing"])


def test_a_pool_has_no_cost_while_one_of_its_servers_has_none(pair):
    """17.28 + 0.08 earned; a sum without d01's cost would be too low."""
    found = row(pair, "pd", group_by="pool")
    assert (found["revenue"], found["cost"], found["stage"]) == ("17.36", None, None)
    assert found["node_ids"] == ["d01", "p01", "p02"]


def test_cost_lines_sum_to_the_cost(pair):
    """120 of hosting and 120 of capital in 12 of October's 744 hours."""
    items = pair.get("/v1/economics/costs", params=DAY).json()["items"]
    lines = {item["line"]: item["amount"] for item in items if item["node_id"] == "p01"}
    assert lines == {"server": "120", "hosting": "120"}


def test_every_figure_says_its_unit_window_and_formula(pair, root):
    """Anchors lead to headings of docs/formulas.md."""
    answer = economics(pair)
    assert (answer["start_at"], answer["end_at"]) == (DAY["start_at"], "2026-10-01T12:00:00Z")
    headings = [
        "".join(c for c in line.lstrip("# ").lower() if c.isalnum() or c in " -").replace(" ", "-")
        for line in (root / "docs/formulas.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("#")
    ]
    assert answer["figures"]["cost"]["unit"].startswith("currency")
    for figure in answer["figures"].values():
        page, _, anchor = figure["formula"].partition("#")
        assert (page, anchor in headings) == ("docs/formulas.md", True), anchor


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"currency": "cny"}, "currency"),
        ({"timezone": "Mars/Base"}, "IANA"),
        ({"assets": {"server": {"purchase": "1", "life_months": 0}}}, "life_months"),
        ({"assets": {"a": {"purchase": "1", "life_months": 7, "method": "annuity"}}}, "wacc"),
        ({"shared": ["switches"]}, "switches"),
        ({"reserved": {"a": "0.6", "b": "0.6"}}, "reserved"),
        ({"capex": "1"}, "capex"),
        ({"monthly": {"energy": "1"}, "power": {"rated_kw": "1", "pue": "0.5"}}, "price_per_kwh"),
    ],
)
def test_assumptions_that_cannot_be_are_refused(pair, change, words):
    """422 that names the field; nothing is stored."""
    body = {"cost_assumptions": {"currency": "CNY"} | change}
    answer = pair.send("PATCH", "/v1/servers/p02", json=body)
    assert (answer.status_code, words in answer.text) == (422, True), answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/v1/economics/servers",
        "/v1/economics/costs",
        "/v1/economics/hours",
        "/v1/economics/attribution",
        "/v1/economics/variance",
        "/v1/economics/cache",
        "/v1/economics/contexts",
        "/v1/chargeback/costs",
        "/v1/chargeback/work",
        "/v1/slo",
        "/v1/roi/cases",
    ],
)
def test_tenants_do_not_see_what_the_house_pays(furnished, path):
    """Cost, margins and plans are the house's: 403, whatever is asked."""
    answer = furnished.get(path, furnished.tenant["t-alder"], params={} if "roi" in path else DAY)
    assert answer.status_code == 403


def test_hours_are_parts_of_the_window(pair):
    """All was billed in the hour of 10:00: 8.64 M of 3.6 M rated tokens, 17.28; 20 of cost."""
    params = DAY | {"node_id": "p01", "cost": True}
    (hour,) = pair.get("/v1/economics/hours", params=params).json()["items"]
    assert (hour["hour_start_at"], hour["revenue"]) == ("2026-10-01T10:00:00Z", "17.28")
    assert (hour["cost"], hour["profit"], hour["utilization_ratio"]) == ("20", "-2.72", 2.4)
    hours = pair.get("/v1/economics/hours", params=DAY).json()["items"]
    assert sum(Decimal(row["revenue"]) for row in hours) == Decimal("17.36")
