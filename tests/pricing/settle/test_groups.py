"""Calls with n > 1: one request from what was delivered (docs/pd-accounting.md, trap 9)."""

from decimal import Decimal

from tests.pricing.settle.legs import Till, at, decode, leg, prefill


def sample(name: str, **change):
    """One line of a unified call with n = 2."""
    return leg(name, **({"group_id": "g1", "group_size": 2} | change))


def test_a_unified_group_bills_its_prompt_once():
    """Warm-up without output is no sample; input and cached of the first sample; outputs added.

    By hand: 600 × 2.00 + 400 × 0.20 + (50 + 30) × 8.00 = 1,920 per million.
    """
    till = Till()
    till.feed(
        sample("warm", finished_at=at(1), output_tokens=0, cached_input_tokens=0),
        sample("s1", finished_at=at(5)),
        sample("s2", finished_at=at(6), output_tokens=30, cached_input_tokens=992),
    )
    assert till.amount() == Decimal("0.00192")
    assert till.rows("sum(requests)", "usage_hourly", where="disposition = 'billed'") == [(1,)]
    assert till.amount("node_money") == Decimal("0.00192")


def test_an_incomplete_group_waits_then_settles_from_what_came():
    """One of two samples: nothing before the orphan time, then 0.00168 and a flag."""
    till = Till()
    till.feed(sample("s1"))
    assert till.amount() == 0
    till.give_up()
    assert till.amount() == Decimal("0.00168")
    assert "group_incomplete" in till.requests()[sample("s1")["event_id"]][3]


def test_a_split_group_takes_input_from_its_first_prefill():
    """Two samples on two decode nodes under one key; the second prompt is engine work."""
    till = Till()
    two = {"group_size": 2}
    till.feed(
        prefill("p1", **two),
        prefill("p2", finished_at=at(2), cached_input_tokens=992, **two),
        decode("d1", **two),
        decode("d2", node_id="d2", output_tokens=30, **two),
    )
    assert till.amount() == Decimal("0.00192")
    earned = till.rows("node_id, amount", "node_money", where="disposition = 'billed'")
    assert earned == [
        ("d1", Decimal("0.0004")),
        ("d2", Decimal("0.00024")),
        ("p1", Decimal("0.00128")),
    ]
