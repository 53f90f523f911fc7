"""The demo's money side, as finance finds it: closed months, documents, one month that waits."""

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest

from metering.replay.customers import Customers
from pricing.demo.parties import BUYERS, CENTRES, NAMES
from tests.dashboard.conftest import wait_for

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "tokentill", "demo", "--requests", "800"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A demo with its history that stays: what it said, and a client of its API."""
    folder = tmp_path_factory.mktemp("demo")
    process = subprocess.Popen(
        COMMAND, env=os.environ | {"TMPDIR": str(folder)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("traffic goes on"):
                break
        text = "".join(said)
        url, key = re.search(r"API\s+(\S+)/openapi.json\s+key (\S+)", text).groups()
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as api:
            yield SimpleNamespace(said=text, api=api, url=url)
    finally:
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        process.stderr.close()
        process.wait(60)


def get(demo, path, **params):
    """The JSON of a route."""
    return demo.api.get(path, params=params).raise_for_status().json()


def months(demo):
    """(months that the demo says it closed, the one it left open)."""
    closed = re.search(r"closed\s+(.*): \d+ documents", demo.said).group(1).split(", ")
    return closed, re.search(r"open\s+(\d{4}-\d\d):", demo.said).group(1)


def settled_report(demo):
    """How the close of the open month stands, between two turns of the settler."""
    report = get(demo, "/v1/close", month=months(demo)[1])
    kinds = {each["kind"] for tenant in report["tenants"] for each in tenant["blockers"]}
    return None if "unsettled" in kinds else report


def test_everybody_of_the_replay_is_a_party():
    """Each tenant of the replay's customers has a name and a buyer, each centre its project."""
    customers = Customers(len(BUYERS), 1).all
    assert list(BUYERS) == list(NAMES) == list(dict.fromkeys(each.tenant_id for each in customers))
    projects = {(each.tenant_id, each.project_id) for each in customers}
    assert {(t, project) for t, named in CENTRES.items() for project in named} <= projects


def test_closed_months_are_issued_and_can_be_read(demo):
    """Every document of a closed month is final, whole by its own legs, and is there as a PDF."""
    documents = get(demo, "/v1/invoices", limit=500)["items"]
    closed, _ = months(demo)
    assert {each["month"][:7] for each in documents} <= set(closed)
    assert {each["state"] for each in documents} == {"final"}
    assert {each["kind"] for each in documents} == {"invoice", "statement"}
    number = documents[-1]["number"]
    assert get(demo, f"/v1/invoices/{number}/verification")["is_whole"]
    pdf = demo.api.get(f"/v1/invoices/{number}/documents/pdf").raise_for_status().content
    assert pdf.startswith(b"%PDF")


def test_what_was_disputed_comes_back_on_the_next_invoice(demo):
    """The credited amount, as a line that points at the disputed one."""
    (dispute,) = get(demo, "/v1/disputes", limit=10)["items"]
    assert dispute["state"] == "credited"
    lines = get(demo, f"/v1/invoices/{dispute['credited_on']}")["lines"]
    (line,) = [each for each in lines if each["corrects_number"] == dispute["number"]]
    assert line["rounded_amount"] == f"-{dispute['credited_amount']}"


def test_the_newest_month_waits_for_a_decision(demo):
    """The engine on trial did not say what was cached; first tries without an answer wait too.

    By hand: 40 requests of 30,000 × 8 + 600 × 28 per million, if nothing was cached: 10.272 CNY.
    """
    report = wait_for(lambda: settled_report(demo))
    assert {each["outcome"] for each in report["tenants"]} == {"blocked", "ready"}
    blockers = [each for tenant in report["tenants"] for each in tenant["blockers"]]
    (trial,) = [each for each in blockers if each["kind"] != "pending"]
    assert (trial["name"], trial["count"]) == ("t-birch:unpriced", 40)
    assert trial["amount_max"] == "10.272"


def test_a_tenants_key_is_given_out(demo):
    """It sees the tenant's own documents and nobody else's."""
    key = re.search(r"as t-alder TOKENTILL_API_URL=\S+ TOKENTILL_API_KEY=(\S+)", demo.said).group(1)
    headers = {"Authorization": f"Bearer {key}"}
    seen = httpx.get(f"{demo.url}/v1/invoices", headers=headers).raise_for_status().json()["items"]
    assert {each["tenant_id"] for each in seen} == {"t-alder"}


def test_cost_centres_stand_in_the_breakdown(demo):
    """Usage was settled after its projects were assigned, so documents break it down by them."""
    documents = get(demo, "/v1/invoices", tenant_id="t-alder", limit=10)["items"]
    annex = get(demo, f"/v1/invoices/{documents[-1]['number']}")["annex"]
    assert {row["cost_centre_id"] for row in annex} <= set(CENTRES["t-alder"].values())
