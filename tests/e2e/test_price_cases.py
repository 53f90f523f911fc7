"""Published pricing failures through the whole product: API, settler, re-rate (cases.json)."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pricing.runs.reprice import reprice_open
from tests.e2e.rate_command import book_text, per_million
from tests.pricing.api.conftest import ledger_template, leg, open_house

__all__ = ["ledger_template"]
JUNE = {"start_at": "2026-06-01T00:00:00Z", "end_at": "2026-07-01T00:00:00Z"}
AFTER_JUNE = datetime(2026, 7, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def cases(shared):
    """Cases by id."""
    loaded = json.loads((shared / "cases" / "cases.json").read_text("utf-8"))
    listed = loaded if isinstance(loaded, list) else loaded["cases"]
    return {case["id"]: case for case in listed}


@pytest.fixture
def house(ledger_template, tmp_path):
    """An application of its own, in July."""
    with open_house(ledger_template, tmp_path) as made:
        made.clock.now = AFTER_JUNE
        yield made


def entry(model, prices, effective_from="2026-01-01T00:00:00Z", **extra):
    """One dated entry of the book."""
    listed = {"per_million_tokens": per_million(prices), **extra}
    return {"model": model, "effective_from": effective_from, **listed}


def publish(house, *entries):
    """Publish a book of these entries and do what the settler then does."""
    kept = house.send("POST", "/v1/prices", json={"toml": book_text(list(entries))})
    assert kept.status_code == 201, kept.text
    cursor = house.store.cursor()
    list(reprice_open(cursor, house.rules.at(house.clock.now), now=house.clock.now))
    cursor.close()
    return kept.json()["revision"]


def meter(house, events, **change):
    """Settle the case's events as unified legs of t-alder."""
    house.settle(
        *(
            leg(
                number,
                "t-alder",
                model_id=event.get("model", "m-river"),
                started_at=datetime.fromisoformat(event.get("at", "2026-06-10T03:00:00Z")),
                finished_at=datetime.fromisoformat(event.get("at", "2026-06-10T03:00:00Z")),
                input_tokens=event["input_tokens"],
                cached_input_tokens=event["cached_tokens"],
                output_tokens=event["output_tokens"],
                **change,
            )
            for number, event in enumerate(events)
        )
    )


def june(house, path="/v1/requests", **asked):
    """Rows of June."""
    return house.get(path, params=JUNE | asked).json()["items"]


def billed(house):
    """What June is billed in all."""
    rows = june(house, disposition="billed")
    return sum((Decimal(row["amount"]) for row in rows), Decimal(0))


def test_c01_every_reader_says_the_same(house, cases):
    """Priced row, its story, usage and chargeback: 0.0635, and 181,000 input tokens once."""
    case = cases["C01"]["input"]
    publish(house, entry("m-river", case["price"]["per_million"]))
    meter(house, case["events"])
    (row,) = june(house)
    story = house.get(f"/v1/requests/{row['request_id']}").json()
    assert row["amount"] == story["amount"] == "0.0635"
    assert {x["line"]: x["amount"] for x in story["lines"]} == {
        "input": "0.009",
        "cached_input": "0.0353",
        "output": "0.0192",
    }
    (usage,) = june(house, "/v1/usage")
    assert usage["uncached_tokens"] + usage["cached_tokens"] == 181_000


def test_c03_unknown_money_is_listed_until_a_price_is_published(house, cases):
    """Before: 0.28 and a finding with 41.2 M tokens; after: 82.68, and 82.40 said of t-alder."""
    case = cases["C03"]["input"]
    listed = case["price_book_v1"][0]
    publish(house, entry("m-river", listed["per_million"]))
    meter(house, case["events"])
    assert billed(house) == Decimal("0.28")
    (found,) = (x for x in june(house, "/v1/findings") if x["reason"] == "no_price")
    assert (found["model_id"], found["input_tokens"]) == ("m-river-xl", 41_200_000)
    xl = entry("m-river-xl", listed["per_million"], "2026-06-01T00:00:00Z")
    revision = publish(house, entry("m-river", listed["per_million"]), xl)
    effects = house.get(f"/v1/prices/cases/{revision}/effects").json()
    (effect,) = effects["items"]
    assert (effect["tenant_id"], effect["difference"], effect["requests"]) == (
        "t-alder",
        "82.4",
        1,
    )
    assert billed(house) == Decimal("82.68")
    assert june(house, disposition="unpriced") == []


def test_c08_a_later_price_never_touches_june(house, cases):
    """2.80 at v1 and 2.20 at v2 before and after v3; trying v3 on June changes nothing."""
    case = cases["C08"]["input"]
    v1, v2, v3 = (
        entry("m-river", each["per_million"], each["effective_from"])
        for each in case["price_versions"]
    )
    publish(house, v1, v2)
    meter(house, case["events"])
    assert [row["amount"] for row in june(house)] == ["2.8", "2.2"]
    tried = {"toml": book_text([v1, v2, v3]), **JUNE}
    totals = house.send("POST", "/v1/prices/what-if", json=tried).json()["totals"]
    assert totals[0]["difference"] == "0"
    revision = publish(house, v1, v2, v3)
    assert house.get(f"/v1/prices/cases/{revision}/effects").json()["items"] == []
    assert billed(house) == Decimal("5.00")


def test_c18_quote_priced_row_and_what_if_agree_at_the_limit(house, cases):
    """200,000 | 200,001 | 250,000 with 200,000 hits: 0.51, 1.015005, 0.365, 1.890005 in all."""
    case = cases["C18"]["input"]
    tier = {"input_tokens_above": 200_000, "per_million_tokens": per_million(case["long"])}
    tiered = entry("m-river", case["base"], tiers=[tier])
    publish(house, entry("m-other", case["base"]))
    meter(house, case["events"])
    tried = house.send(
        "POST", "/v1/prices/what-if", json={"toml": book_text([tiered]), **JUNE}
    ).json()
    publish(house, tiered)
    assert sorted(row["amount"] for row in june(house)) == ["0.365", "0.51", "1.015005"]
    assert billed(house) == Decimal("1.890005") == Decimal(tried["totals"][0]["amount_after"])
    asked = {"model_id": "m-river", "at": "2026-06-10T03:00:00Z"}
    quotes = [
        house.get("/v1/prices/quote", params=asked | {"input_tokens": tokens}).json()
        for tokens in (200_000, 200_001, 250_000)
    ]
    assert [each["per_million_tokens"]["input"] for each in quotes] == ["2.5", "5", "5"]
