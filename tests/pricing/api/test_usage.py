"""/v1/usage, /v1/chargeback, /v1/revenue, /v1/requests: exact, and the same everywhere."""

import csv
import io
from decimal import Decimal

import pyarrow as pa
import pytest

from pricing.runs.reprice import reprice_open
from tests.pricing.api.conftest import BOOK, NOW, leg

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}


def items(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def usage(house, **params):
    return items(house.get("/v1/usage", params=DAY | params))


def test_usage_of_the_house_adds_up(furnished):
    """110 requests × 500,000 uncached tokens × 2.00 per million = 110 CNY."""
    (row,) = usage(furnished)
    assert (row["requests"], row["uncached_tokens"], row["amount"]) == (110, 55_000_000, "110")
    assert (row["currency"], row["disposition"], row["tenant_id"]) == ("CNY", "billed", None)


def test_groups_are_parts_of_the_whole(furnished):
    """By tenant: 10 + 99 + 1 (unattributed, a row of its own) = 110 CNY."""
    rows = usage(furnished, group_by="tenant_id")
    assert {row["tenant_id"]: row["amount"] for row in rows} == {
        "t-alder": "10",
        "t-birch": "99",
        None: "1",
    }


def test_days_are_cut_in_the_zone(furnished):
    """10:00 UTC is 18:00 of the same day in Shanghai, which ends at 16:00 UTC."""
    (row,) = usage(furnished, interval="day", zone="Asia/Shanghai")
    assert (row["start_at"], row["end_at"]) == ("2026-10-01T00:00:00Z", "2026-10-01T16:00:00Z")


def test_an_hour_that_a_zone_would_cut_is_refused(furnished):
    """Buckets are whole UTC hours here: Kolkata's days (UTC+5:30) would cut one in two."""
    answer = furnished.get("/v1/usage", params=DAY | {"interval": "day", "zone": "Asia/Kolkata"})
    assert answer.status_code == 422
    assert "inside a bucket" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"start_at": "2026-10-01T00:00:00"}, "start_at"),
        ({"start_at": "1790000000"}, "start_at"),
        ({"end_at": "2026-10-01T00:00:00Z"}, "start_at must lie before end_at"),
        ({"end_at": "2036-10-01T00:00:00Z"}, "longer than"),
        ({"interval": "hour", "end_at": "2028-10-01T00:00:00Z"}, "intervals"),
        ({"tenant": "t-birch"}, "'tenant' is no parameter"),
        ({"group_by": "price"}, "group_by"),
        ({"zone": "Mars"}, "Mars"),
    ],
)
def test_a_question_that_could_be_misread_is_refused(furnished, params, field):
    """No zone, a bare number, an unknown filter: 422 that names it, never a silent default."""
    answer = furnished.get("/v1/usage", params=DAY | params)
    assert (answer.status_code, field in answer.json()["detail"]) == (422, True), answer.text


def test_a_filter_that_is_given_twice_is_refused(furnished):
    """Of tenant_id=a&tenant_id=b a library would take the last: neither was meant alone."""
    query = "start_at=2026-10-01T00:00:00Z&end_at=2026-10-02T00:00:00Z"
    answer = furnished.get(f"/v1/usage?{query}&tenant_id=t-alder&tenant_id=t-birch")
    assert answer.status_code == 422


def test_chargeback_has_every_line(furnished):
    """The same 110 CNY by tenant, project, cost centre and model."""
    rows = items(furnished.get("/v1/chargeback", params=DAY))
    assert sum(Decimal(row["amount"]) for row in rows) == 110
    assert {row["project_id"] for row in rows} == {"search"}


def test_servers_earn_what_tenants_owe(furnished):
    """V7: Σ servers = Σ tenants = 110 CNY, and the formula's difference is 0."""
    (row,) = items(furnished.get("/v1/revenue/servers", params=DAY))
    assert (row["node_id"], row["amount"], row["formula"]) == ("u01", "110", "110")
    assert row["difference"] == "0"
    assert row["hit_ratio"] == 0.0
    assert row["utilization_ratio"] is None


def test_csv_and_arrow_hold_the_same_rows(furnished):
    """Ids as text, money exact: decimal128(38, 15) in Arrow, digits in CSV."""
    params = DAY | {"group_by": "tenant_id"}
    answers = {
        kind: furnished.get("/v1/usage", params=params, headers={"Accept": kind})
        for kind in ("text/csv", "application/vnd.apache.arrow.stream")
    }
    lines = list(csv.DictReader(io.StringIO(answers["text/csv"].text)))
    table = pa.ipc.open_stream(answers["application/vnd.apache.arrow.stream"].content).read_all()
    assert {line["tenant_id"]: line["amount"] for line in lines} == {
        "t-alder": "10",
        "t-birch": "99",
        "": "1",
    }
    assert sum(table["amount"].to_pylist()) == Decimal(110)
    assert table.schema.field("amount").type == pa.decimal128(38, 15)


def test_a_type_that_cannot_be_made_is_refused(furnished):
    """406, not something else than was asked for."""
    answer = furnished.get("/v1/usage", params=DAY, headers={"Accept": "application/pdf"})
    assert answer.status_code == 406


def test_what_has_not_changed_is_not_sent_again(furnished):
    """ETag and If-None-Match; another tenant's answer has another tag."""
    first = furnished.get("/v1/usage", params=DAY)
    tag = {"If-None-Match": first.headers["ETag"]}
    assert furnished.get("/v1/usage", params=DAY, headers=tag).status_code == 304
    alder = furnished.tenant["t-alder"]
    assert furnished.get("/v1/usage", alder, params=DAY, headers=tag).status_code == 200


def test_one_request_tells_its_story(furnished):
    """500,000 tokens × 2.00 per million = 1 CNY, from one unified leg on u01."""
    (first, *_) = items(furnished.get("/v1/requests", params=DAY))
    story = furnished.get(f"/v1/requests/{first['request_id']}").json()
    (line,) = story["lines"]
    assert (line["line"], line["tokens"], line["unit_price"]) == ("input", 500_000, "2")
    assert (line["amount"], line["node_id"], story["amount"]) == ("1", "u01", "1")
    assert story["price"]["entry"].startswith("m-river@")
    assert [leg["node_id"] for leg in story["legs"]] == ["u01"]
    assert [each["cause"] for each in story["history"]] == ["settled"]


def test_a_tenant_does_not_see_which_machine_did_it(furnished):
    """Its own request, without the house's nodes and files."""
    alder = furnished.tenant["t-alder"]
    (first, *_) = items(furnished.get("/v1/requests", alder, params=DAY))
    story = furnished.get(f"/v1/requests/{first['request_id']}", alder)
    assert story.status_code == 200
    assert "u01" not in story.text


def test_a_request_that_was_rated_anew_stands_once(house):
    """V6: 500,000 × 2.00 = 1 CNY is reversed and becomes 500,000 × 4.00 = 2 CNY, visibly."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(leg(1, "t-alder"))
    house.send("POST", "/v1/prices", json={"toml": BOOK.replace("2.00", "4.00")})
    with house.store.cursor() as cursor:
        list(reprice_open(cursor, house.rules.at(NOW), now=NOW))
    (row,) = items(house.get("/v1/requests", params=DAY))
    story = house.get(f"/v1/requests/{row['request_id']}").json()
    assert (row["amount"], story["amount"]) == ("2", "2")
    assert [(each["sign"], each["amount"]) for each in story["history"]] == [
        (1, "1"),
        (-1, "1"),
        (1, "2"),
    ]
    assert usage(house)[0]["amount"] == "2"


def test_requests_can_be_filtered_by_flag_and_disposition(furnished):
    """All are billed, and none carries the flag."""
    billed = items(furnished.get("/v1/requests", params=DAY | {"disposition": "billed"}))
    aborted = items(furnished.get("/v1/requests", params=DAY | {"flag": "aborted"}))
    assert (len(billed), len(aborted)) == (100, 0)


def test_a_finding_names_the_money_and_the_remedy(furnished):
    """The unattributed request: 1 CNY, and what to do about it."""
    found = items(furnished.get("/v1/findings", params=DAY))
    (row,) = [each for each in found if each["kind"] == "unattributed"]
    assert (row["requests"], row["amount_min"], row["amount_max"]) == (1, "1", "1")
    assert "tenant label" in row["remedy"]
