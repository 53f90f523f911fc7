"""/v1/doctor: well on a healthy house, and each fault is found."""

import pytest

from tests.pricing.api.conftest import BOOK, leg

FAULTS = {
    "no event is stored twice": "INSERT INTO leg FROM leg",
    "what servers earned is what tenants pay, per price key": (
        "UPDATE node_hourly SET uncached_tokens = uncached_tokens + 1 WHERE disposition = 'billed'"
    ),
    "the roll-up holds what the requests say, per price key": "DELETE FROM request",
    "every billed request has its price, once": "DELETE FROM price_key",
    "the settler's mark lies within what was stored": (
        "UPDATE progress SET settled_through_seq = settled_through_seq + 1"
    ),
}


def wrong(house):
    checks = house.get("/v1/doctor").json()["items"]
    assert all(check["remedy"] for check in checks)
    return {check["promise"] for check in checks if check["wrong"]}


@pytest.fixture
def settled(house):
    """One settled request."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(leg(1, "t-alder"))
    return house


def test_a_healthy_house_is_well(settled):
    """Nothing is wrong after a settlement."""
    assert wrong(settled) == set()


@pytest.mark.parametrize("promise", FAULTS)
def test_a_fault_is_found(settled, promise):
    """Each rule, broken in the store itself."""
    with settled.store.cursor() as cursor:
        cursor.execute(FAULTS[promise])
    assert promise in wrong(settled)


def test_a_house_without_prices_is_told(house):
    """Nothing is priced before a book is published."""
    assert wrong(house) == {"there is a published price book"}
