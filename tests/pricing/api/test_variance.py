"""/v1/economics/variance: effects of settled usage that sum to the change."""

from datetime import timedelta
from decimal import Decimal

from tests.pricing.api.conftest import BOOK, NOW, leg

WINDOWS = {
    "before_start_at": "2026-09-30T00:00:00Z",
    "before_end_at": "2026-09-30T12:00:00Z",
    "start_at": "2026-10-01T00:00:00Z",
    "end_at": "2026-10-02T00:00:00Z",
}
EFFECTS = ("calendar", "volume", "mix", "hit_ratio", "price")


def at(number, days_ago, **change):
    moment = NOW - timedelta(days=days_ago, hours=2)
    times = {"started_at": moment, "finished_at": moment + timedelta(seconds=1)}
    return leg(number, "t-alder", **(times | change))


def test_more_hits_at_the_same_traffic_cost_revenue(house):
    """1 M tokens twelve hours each: r from 0 to 0.5 at 2.00/0.20 loses 0.5 M × 1.80 = 0.90 CNY."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(
        at(1, 1, input_tokens=1_000_000),
        at(2, 0, input_tokens=1_000_000, cached_input_tokens=500_000),
    )
    answer = house.get("/v1/economics/variance", params=WINDOWS)
    (row,) = answer.json()["items"]
    assert (row["before"], row["after"], row["change"]) == ("2", "1.1", "-0.9")
    assert {name: row[name] for name in EFFECTS} == {
        "calendar": "0", "volume": "0", "mix": "0", "hit_ratio": "-0.9", "price": "0",
    }  # fmt: skip
    assert (row["largest_effect"], row["after_hit_ratio"]) == ("hit_ratio", 0.5)


def test_effects_add_up_to_the_last_digit(house):
    """Odd counts and models, thirds in every ratio: the five effects are the change, exactly."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(
        at(1, 1, input_tokens=1_000_003, cached_input_tokens=7, output_tokens=31),
        at(2, 0, input_tokens=333_337, cached_input_tokens=111_113, output_tokens=77),
        at(3, 0, input_tokens=77, output_tokens=13),
    )
    for segment in ("model", "tenant", "project"):
        answer = house.get("/v1/economics/variance", params=WINDOWS | {"segment": segment})
        (row,) = answer.json()["items"]
        effects = sum(Decimal(row[name]) for name in EFFECTS)
        assert Decimal(row["before"]) + effects == Decimal(row["after"])


def test_a_window_without_usage_is_all_volume(house):
    """Nothing before: the whole 1 CNY is volume; its ratio is unknown, not infinite."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(at(1, 0))
    (row,) = house.get("/v1/economics/variance", params=WINDOWS).json()["items"]
    assert (row["volume"], row["change_ratio"], row["before_hit_ratio"]) == ("1", None, None)
