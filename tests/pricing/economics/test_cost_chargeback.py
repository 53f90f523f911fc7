"""Chargeback of cost from the work of each server: by hand, and nothing is lost."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.cost_chargeback import NodeCost, NodeWork, chargeback_of_cost, use_of_node
from pricing.cost_shares import BY_USE, EVEN, KEEP, CostKind, amounts_by_owner

KAPPA = Fraction("0.02")


def prefill(owner, uncached, cached, node="p1"):
    """Work of a prefill server."""
    return NodeWork(
        node_id=node,
        stage="prefill",
        owner=owner,
        input_tokens=uncached + cached,
        cached_tokens=cached,
    )


def test_hits_count_kappa():
    """By hand: 900 uncached against 100 + 0.02 · 40,000 = 900: half each of 100.00."""
    work = [prefill("t-alder", 900, 0), prefill("t-birch", 100, 40_000)]
    lines = chargeback_of_cost({"p1": NodeCost(cost=Decimal(100))}, work, kappa=KAPPA)
    assert amounts_by_owner(lines["p1"]) == {"t-alder": 50, "t-birch": 50}


def test_a_rating_shows_what_was_idle():
    """2,000 of 5,000 tokens/s used: 40 % of 50.00 by output 3:1, 30.00 idle."""
    node = NodeCost(cost=Decimal(50), seconds=10, rated_tokens_per_second=5_000)
    work = [
        NodeWork(node_id="d1", stage="decode", owner=owner, output_tokens=tokens)
        for owner, tokens in (("t-alder", 15_000), ("t-birch", 5_000))
    ]
    lines = chargeback_of_cost({"d1": node}, work, kappa=KAPPA)["d1"]
    assert amounts_by_owner(lines) == {"t-alder": 15, "t-birch": 5}
    assert [line.amount for line in lines if line.kind is CostKind.IDLE] == [30]


def test_work_without_a_tenant_is_an_owner_of_its_own():
    """Unattributed work is visible, not spread over those with a name."""
    work = [prefill(None, 10, 0), prefill("t-alder", 30, 0)]
    lines = chargeback_of_cost({"p1": NodeCost(cost=Decimal(4))}, work, kappa=KAPPA)
    assert amounts_by_owner(lines["p1"]) == {"unattributed": 1, "t-alder": 3}


def test_a_unified_server_shares_its_seconds():
    """Prefill and decode tokens are no common unit; the requests' seconds are."""
    work = [
        NodeWork(node_id="u1", stage="unified", owner=owner, request_seconds=seconds)
        for owner, seconds in (("a", 1.5), ("b", 0.5))
    ]
    assert use_of_node(NodeCost(cost=Decimal(1)), work, kappa=KAPPA).used == {
        "a": Fraction(3, 2),
        "b": Fraction(1, 2),
    }


def test_a_server_without_work_stays_visible():
    """The kind of C21: 60.00 of a server that nobody used is unallocated when idle is shared."""
    lines = chargeback_of_cost({"p2": NodeCost(cost=Decimal(60))}, [], kappa=KAPPA, idle=BY_USE)
    assert [(line.kind, line.amount) for line in lines["p2"]] == [(CostKind.UNALLOCATED, 60)]


def test_work_on_a_server_of_unknown_cost_is_left_out():
    """Its cost is unknown, not 0."""
    assert chargeback_of_cost({}, [prefill("a", 1, 0, node="p9")], kappa=KAPPA) == {}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["p1", "p2"]),
            st.sampled_from(["a", "b", None]),
            st.integers(0, 10**9),
            st.integers(0, 10**9),
        ),
        max_size=8,
    ),
    st.sampled_from([KEEP, BY_USE, EVEN]),
    st.decimals(0, 10**6, places=15),
    st.one_of(st.none(), st.integers(1, 10**6)),
)
def test_servers_and_owners_sum_to_the_cost(rows, idle, cost, rated):
    """I2 and I3: Σ lines = Σ server costs + shared, to the last digit, and per server."""
    nodes = {
        name: NodeCost(cost=cost, seconds=3_600, rated_tokens_per_second=rated)
        for name in ("p1", "p2")
    }
    work = [prefill(owner, u, c, node=node) for node, owner, u, c in rows]
    lines = chargeback_of_cost(
        nodes, work, kappa=KAPPA, idle=idle, shared_cost=Decimal("1.000000000000001")
    )
    for name in nodes:
        assert sum(Fraction(line.amount) for line in lines[name]) == Fraction(cost)
    assert sum(Fraction(line.amount) for line in lines[None]) == Fraction("1.000000000000001")


@pytest.mark.parametrize("cached", [120, 10**9])
def test_more_cached_than_input_is_no_negative_work(cached):
    """A decode-like count on a prefill server cannot make its work negative."""
    row = NodeWork(node_id="p1", stage="prefill", owner="a", input_tokens=100, cached_tokens=cached)
    assert row.weight(0) == 0
