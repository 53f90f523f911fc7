"""/v1/roi: SYNTH-1 B over HTTP, saved, compared, exported, and started from metered usage."""

import csv
import io
import json
import tomllib

import pytest

from pricing.scope import Role
from tests.pricing.api.conftest import open_house
from tests.pricing.api.test_economics import DAY, furnish_pair


@pytest.fixture
def stated(root):
    """SYNTH-1 B (facts of an independent computation: NPV 699,884.77) without its Monte Carlo."""
    text = (root / "docs/examples/roi_case.toml").read_text(encoding="utf-8")
    read = json.loads(json.dumps(tomllib.loads(text), default=str))
    read.pop("monte_carlo")
    return read


def saved(house, case, **change):
    answer = house.send("POST", "/v1/roi/cases", json={"case": case | change, "note": "offer"})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_case_is_weighed_as_on_the_command_line(furnished, stated):
    """The NPV of SYNTH-1 B, and where it stands in docs/formulas.md."""
    report = furnished.send("POST", "/v1/roi/report", json=stated).json()
    assert report["outlook"]["npv"] == pytest.approx(699_884.77, abs=0.005)
    assert report["rates"]["xirr"] == pytest.approx(0.2692452, abs=5e-8)
    assert report["figures"]["npv"]["formula"] == "docs/formulas.md#8-investment-estimates"
    assert set(report["figures"]) >= {*report["outlook"], *report["steady_month"]}


def test_a_saved_case_is_read_as_it_was_stated(house, stated):
    """The same NPV later; an Idempotency-Key saves once."""
    body, once = {"case": stated}, {"Idempotency-Key": "k1"}
    first, again = (
        house.send("POST", "/v1/roi/cases", json=body, headers=once).json() for _ in range(2)
    )
    assert first["case_id"] == again["case_id"]
    read = house.get(f"/v1/roi/cases/{first['case_id']}").json()
    assert read["stated"] == stated
    assert read["report"]["outlook"]["npv"] == pytest.approx(699_884.77, abs=0.005)
    assert len(house.get("/v1/roi/cases").json()["items"]) == 1


def test_cases_stand_side_by_side_and_leave_as_csv(house, stated):
    """Half of the price factor that NPV = 0 allows loses money: B and B at a third of the load."""
    base = saved(house, stated)
    poor = saved(house, stated, name="poor", traffic=stated["traffic"] | {"utilization": 0.13})
    params = {"case_id": [base["case_id"], poor["case_id"]]}
    answer = house.get("/v1/roi/compare", params=params, headers={"Accept": "text/csv"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["name"] for row in rows] == ["SYNTH-1 B", "poor"]
    assert float(rows[0]["npv"]) > 0 > float(rows[1]["npv"])


def test_cash_flows_are_exported(house, stated):
    """61 flows: 2,695,000 out, then 60 months."""
    case_id = saved(house, stated)["case_id"]
    flows = house.get(f"/v1/roi/cases/{case_id}/flows").json()["items"]
    assert (len(flows), flows[0]["amount"], flows[0]["date"]) == (61, -2_695_000, "2026-09-01")


def test_an_archived_case_leaves_the_list_and_stays_readable(house, stated):
    """An offer that was decided upon can still be explained."""
    case_id = saved(house, stated)["case_id"]
    assert house.send("DELETE", f"/v1/roi/cases/{case_id}").status_code == 200
    assert house.get("/v1/roi/cases").json()["items"] == []
    assert house.get(f"/v1/roi/cases/{case_id}").json()["archived_at"] is not None


def test_a_viewer_weighs_and_does_not_save(house, stated):
    """cases:read without cases:write."""
    viewer = house.key(Role.VIEWER)
    assert house.send("POST", "/v1/roi/report", viewer, json=stated).status_code == 200
    assert house.send("POST", "/v1/roi/cases", viewer, json={"case": stated}).status_code == 403


def test_a_case_starts_from_metered_months(ledger_template, tmp_path, stated):
    """p01: 8.64 M tokens in 43,200 s are 200 tokens/s; rated 1,000, so U 0.2; 2.00 per million."""
    with open_house(ledger_template, tmp_path) as house:
        furnish_pair(house)
        body = DAY | {"case": stated, "node_ids": ["p01"]}
        answer = house.send("POST", "/v1/roi/metered", json=body)
        assert answer.status_code == 200, answer.text
        made = answer.json()["stated"]
        assert made["traffic"]["input_tokens_per_second"] == pytest.approx(1_000)
        assert made["traffic"]["utilization"] == pytest.approx(0.2)
        assert (made["prices"]["input"], made["prices"]["cached_input"]) == (2.0, 2.0)
        other = house.send("POST", "/v1/roi/metered", json=body | {"case": stated | USD})
        assert (other.status_code, "USD" in other.json()["detail"]) == (422, True)


USD = {"currency": "USD"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"months": 0}, "months"),
        ({"capital": {"wacc": 0.1}}, "capital.assets"),
        ({"hardware": "abacus"}, "abacus"),
        ({"currency": "RZG"}, "ISO 4217"),
        ({"monte_carlo": {"paths": 1_000_000, "drivers": {}}}, "paths"),
        ({"monte_carlo": {"drivers": {"mood": {"uniform": [0, 1]}}}}, "mood"),
    ],
)
def test_a_case_that_cannot_be_weighed_is_refused(furnished, stated, change, words):
    """422 with the key that is wrong."""
    answer = furnished.send("POST", "/v1/roi/report", json=stated | change)
    assert (answer.status_code, words in answer.text) == (422, True), answer.text
