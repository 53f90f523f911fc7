"""Policies through the API: kept as data, in force for what settles, named by every answer."""

from datetime import timedelta

from tests.pricing.api.conftest import BOOK, NOW, furnish, leg

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}


def set_policy(house, toml):
    """Put a policy in force now."""
    body = {"toml": toml, "effective_from": NOW.isoformat()}
    return house.send("POST", "/v1/policies", json=body)


def test_a_story_names_the_policy_that_decided(house):
    """An aborted answer of t-alder is not billed by its own policy; t-birch's is by the house's."""
    furnish(house)
    assert set_policy(house, '[tenant.t-alder]\naborted = "not_billed"').status_code == 201
    house.settle(
        *(leg(200 + n, f"t-{t}", status="aborted") for n, t in enumerate(["alder", "birch"]))
    )
    stories = [house.get(f"/v1/requests/{200 + n:032x}").json() for n in (0, 1)]
    assert [(each["disposition"], each["policy"]) for each in stories] == [
        ("cost", 'tenant.aborted = "not_billed"'),
        ("billed", 'aborted = "bill"'),
    ]


def test_the_book_of_record_is_a_policy(house):
    """Two books; without a policy the first by name counts, with it the one that it names."""
    for text in (BOOK, BOOK.replace("list-cny", "newer").replace('"2.00"', '"3.00"')):
        house.send("POST", "/v1/prices", json={"toml": text})
    asked = {"model_id": "m-river", "at": (NOW - timedelta(days=1)).isoformat()}
    assert house.get("/v1/prices/quote", params=asked).json()["book"] == "list-cny"
    set_policy(house, 'default_book = "newer"')
    quoted = house.get("/v1/prices/quote", params=asked).json()
    assert (quoted["book"], quoted["per_million_tokens"]["input"]) == ("newer", "3")


def test_a_book_of_record_must_be_published(house):
    """Otherwise the policy would silently fall back to another book."""
    refused = set_policy(house, 'default_book = "lost"')
    assert refused.status_code == 422
    assert "'lost' is not published" in refused.json()["detail"]


def test_a_mistake_is_refused_with_its_key(house):
    """A pool cannot decide when orphans are given up."""
    refused = set_policy(house, "[pool.pd]\norphan_after_seconds = 5")
    assert refused.status_code == 422
    assert "pool.pd.orphan_after_seconds" in refused.json()["detail"]
