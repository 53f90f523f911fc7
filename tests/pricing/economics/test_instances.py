"""An instance that spans k servers books once and is split by weight (invariant I6)."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pricing.instances import ALONE, Member, instances_of

weights = st.lists(st.integers(1, 10**6), min_size=1, max_size=8)
QUANTUM = Decimal("0.000000000000001")


def instance(shares, seconds=1):
    """Instance glm-a of servers s0, s1 …"""
    members = (
        Member(node_id=f"s{i}", instance_id="glm-a", weight=weight, seconds=seconds)
        for i, weight in enumerate(shares)
    )
    return instances_of(members)


@given(weights, st.integers(-(10**24), 10**24), st.integers(-(10**12), 10**12))
def test_servers_sum_to_what_the_instance_booked(shares, quanta, tokens):
    """I6: money to 10⁻¹⁵ and tokens whole, whatever the weights; a reversal is the mirror image."""
    found, booked = instance(shares), Decimal(quanta).scaleb(-15)
    assert sum(found.amount("s0", booked).values()) == booked
    assert sum(found.count("s0", tokens).values()) == tokens
    assert sum(found.shares("s0").values()) == 1


def test_three_servers_share_a_yuan_by_largest_remainder():
    """By hand: 1.00 over 1 : 1 : 1 is a third each; the odd quantum goes to the first."""
    parts = instance([1, 1, 1]).amount("s2", Decimal(1))
    assert parts["s1"] == parts["s2"] == Decimal("0.333333333333333")
    assert parts["s0"] - parts["s1"] == QUANTUM


def test_any_node_of_the_instance_may_have_metered_it():
    """The first rank, the last one, or the instance's own name."""
    found = instance([3, 1])
    for node_id in ("s0", "s1", "glm-a"):
        assert found.amount(node_id, Decimal(8)) == {"s0": 6, "s1": 2}


def test_a_server_that_came_late_gets_less():
    """Weight × seconds: an hour against half an hour."""
    members = [
        Member(node_id=name, instance_id="i", seconds=seconds)
        for name, seconds in (("a", 3_600), ("b", 1_800))
    ]
    assert instances_of(members).shares("a") == {"a": Fraction(2, 3), "b": Fraction(1, 3)}


def test_an_instance_out_of_service_still_keeps_what_it_earned():
    """No seconds in the window: the plain weights decide; nothing is lost."""
    assert instance([1, 3], seconds=0).amount("s0", Decimal(4)) == {"s0": 1, "s1": 3}


def test_a_server_of_its_own_keeps_all():
    """No instance: the node as it is, also the one that usage did not name."""
    assert ALONE.amount("p01", Decimal(5)) == {"p01": 5}
    assert ALONE.count(None, 7) == {None: 7}
