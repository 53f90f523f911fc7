"""Attribution rules: the worked request of facts/economics.md §3.2 and invariants I1 to I6."""

import json
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.attribution import (
    BilledLines,
    Earner,
    by_cost,
    by_price_line,
    by_shapley,
    proportional,
    settled,
    split_over_servers,
    spread_adjustment,
)

PICO = 10**12
# 64,000 tokens in (57,600 of them cached), 1,000 out at 8/2/28 CNY per million
REQUEST = BilledLines(
    uncached=Decimal("0.0512"),
    cached=Decimal("0.1152"),
    output=Decimal("0.028"),
    first_token=Decimal("0.000028"),
)
money = st.decimals(0, 10**6, places=15)
weights = st.lists(st.integers(0, 10**9), min_size=1, max_size=6).filter(any)


def pico(shares):
    """Shares as whole 10⁻¹² CNY, in the order prefill, decode, KV store."""
    return [int(amount * PICO) for amount in settled(shares, quanta_per_unit=PICO).values()]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, [166_400_000_000, 28_000_000_000, 0]),
        ({"first_token_to_prefill": True}, [166_428_000_000, 27_972_000_000, 0]),
        ({"kv_share": Fraction(1, 2)}, [108_800_000_000, 28_000_000_000, 57_600_000_000]),
    ],
)
def test_price_line_of_the_worked_request(policy, expected):
    """economics.md §3.2, rows A, A with the first token to P, A-kv; each sums to 0.1944 CNY."""
    assert pico(by_price_line(REQUEST, **policy)) == expected
    assert sum(expected) == REQUEST.total * PICO == 194_400_000_000


def test_cost_causation_of_the_worked_request():
    """Row B, costs 8:18:2: largest remainder gives …143, …429, …286 and the exact sum."""
    costs = {Earner.PREFILL: 8, Earner.DECODE: 18, Earner.KV_STORE: 2}
    assert pico(by_cost(REQUEST, costs)) == [55_542_857_143, 124_971_428_571, 13_885_714_286]


def test_a_discount_keeps_the_shares():
    """Row D, 20 % off: 0.13312 to prefill, 0.0224 to decode."""
    listed = by_price_line(REQUEST)
    off = spread_adjustment(-Fraction(1, 5) * REQUEST.total, listed)
    assert [listed[party] + Fraction(off[party]) for party in Earner] == [
        Fraction("0.13312"),
        Fraction("0.0224"),
        0,
    ]


def test_the_policy_moves_the_prefill_share():
    """85.6 % by price line, 28.6 % by cost (economics.md §0.11): a contract term, not a fact."""
    by_line = by_price_line(REQUEST)[Earner.PREFILL] / REQUEST.total
    costs = {Earner.PREFILL: 8, Earner.DECODE: 18, Earner.KV_STORE: 2}
    by_costs = by_cost(REQUEST, costs)[Earner.PREFILL] / REQUEST.total
    assert (float(by_line), float(by_costs)) == pytest.approx((0.856, 0.286), abs=5e-4)


def capacity_worth(price: float, prefill: float, decode: float) -> dict[frozenset[str], Fraction]:
    """Money per second of P, D and both; P decodes 3 times slower, D prefills twice as fast."""
    return {
        frozenset("P"): Fraction(price / (prefill + 3 * decode)),
        frozenset("D"): Fraction(price / (prefill / 2 + decode)),
        frozenset("PD"): Fraction(price / max(prefill, decode)),
    }


def test_shapley_of_two_pools():
    """economics.md §3.2: φ_P 0.173759 (25.56 %), φ_D 0.505961 of 0.679720 CNY a second."""
    worth = capacity_worth(0.1944, 0.286, 0.217391)
    shares = {party: float(share) for party, share in by_shapley(worth).items()}
    assert shares == pytest.approx({"P": 0.173759, "D": 0.505961}, abs=1e-6)
    assert shares["P"] / sum(shares.values()) == pytest.approx(0.2556, abs=5e-5)


def test_shapley_with_the_cache_as_a_player():
    """Three players: φ 0.119379, 0.402883, 0.157459 (23.2 %); v(PD) < v(D) without the cache."""
    without = capacity_worth(0.54, 2.05, 0.217391)
    with_cache = capacity_worth(0.1944, 0.286, 0.217391)
    worth = without | {coalition | {"K"}: v for coalition, v in with_cache.items()}
    shares = {party: float(share) for party, share in by_shapley(worth).items()}
    assert shares == pytest.approx({"P": 0.119379, "D": 0.402883, "K": 0.157459}, abs=1e-6)
    assert float(without[frozenset("PD")]) == pytest.approx(0.263415, abs=1e-6)
    assert without[frozenset("PD")] < without[frozenset("D")]


@given(uncached=money, cached=money, output=money, kv=st.decimals(0, 1, places=4))
def test_i1_nodes_sum_to_the_bill(uncached, cached, output, kv):
    """I1: after rounding to 10⁻¹⁵ the parts still sum to the billed amount."""
    lines = BilledLines(uncached=uncached, cached=cached, output=output)
    parts = settled(by_price_line(lines, kv_share=kv))
    assert sum(map(Fraction, parts.values())) == lines.total


@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("xyz"), money), max_size=20))
def test_i2_servers_tenants_and_bill_agree(requests):
    """I2: Σ servers = Σ tenants = Σ requests when each request is split over two servers."""
    by_server: dict[str, Fraction] = {}
    by_tenant: dict[str, Fraction] = {}
    for server, tenant, amount in requests:
        for node, part in split_over_servers(amount, {server: 2, "shared": 1}).items():
            by_server[node] = by_server.get(node, Fraction(0)) + Fraction(part)
        by_tenant[tenant] = by_tenant.get(tenant, Fraction(0)) + Fraction(amount)
    billed = sum(Fraction(amount) for *_, amount in requests)
    assert sum(by_server.values()) == sum(by_tenant.values()) == billed


@given(st.lists(st.tuples(money, money, money), min_size=2, max_size=8), st.randoms())
def test_i4_attribution_adds_up_in_any_order(requests, shuffled):
    """I4: the attribution of a sum is the sum of the attributions, whatever the order."""
    lines = [BilledLines(uncached=u, cached=c, output=o) for u, c, o in requests]
    shuffled.shuffle(lines)
    whole = BilledLines(
        uncached=sum(Fraction(line.uncached) for line in lines),
        cached=sum(Fraction(line.cached) for line in lines),
        output=sum(Fraction(line.output) for line in lines),
    )
    kv = Fraction(1, 3)
    apart = [by_price_line(line, kv_share=kv) for line in lines]
    together = by_price_line(whole, kv_share=kv)
    assert {party: sum(part[party] for part in apart) for party in Earner} == together


@given(weights, st.decimals(-(10**6), 0, places=15))
def test_i5_a_discount_preserves_shares(list_amounts, discount):
    """I5: before rounding each line's share of the adjusted sum is its share of the list sum."""
    listed = {str(index): Fraction(amount) for index, amount in enumerate(list_amounts)}
    spread = proportional(discount, listed)
    whole = sum(listed.values())
    for line, amount in listed.items():
        assert (amount + spread[line]) * whole == amount * (whole + Fraction(discount))


@given(money, weights)
def test_i6_an_instance_over_several_servers_books_once(amount, node_weights):
    """I6: shares of the servers sum to the instance's amount; none is further than a quantum."""
    named = {f"s{index}": weight for index, weight in enumerate(node_weights)}
    parts = split_over_servers(amount, named)
    assert sum(map(Fraction, parts.values())) == Fraction(amount)
    for node, share in proportional(amount, named).items():
        assert abs(Fraction(parts[node]) - share) < Fraction(1, 10**15)


@given(money, weights)
def test_a_reversal_is_the_mirror_image(amount, node_weights):
    """Splitting −x gives the negated parts of x: a reversed request leaves nothing behind."""
    named = dict(enumerate(node_weights))
    forward, back = split_over_servers(amount, named), split_over_servers(-amount, named)
    assert all(forward[node] + back[node] == 0 for node in named)


def test_ties_go_to_the_first():
    """By hand: 0.00…01 over three equal servers."""
    quantum = Decimal("0.000000000000001")
    assert list(split_over_servers(quantum, {"a": 1, "b": 1, "c": 1}).values()) == [quantum, 0, 0]


def test_no_weight_is_an_error_not_a_loss():
    """Case C21: with all weights zero the amount must stay visible as its own line."""
    with pytest.raises(ValueError, match="keep it as a line of its own"):
        proportional(60, {"t-alder": 0})


@pytest.mark.parametrize("weight", [{"a": -1, "b": 2}])
def test_negative_weights_are_refused(weight):
    """A negative share would hide a positive one elsewhere."""
    with pytest.raises(ValueError, match="not be negative"):
        proportional(1, weight)


def test_kv_share_is_a_ratio():
    """A share of 50 instead of 0.5 is caught."""
    with pytest.raises(ValueError, match=r"kv_share must lie in 0..1"):
        by_price_line(REQUEST, kv_share=50)


def test_a_sum_finer_than_the_quantum_is_refused():
    """A third of a yuan cannot be settled; nothing is rounded away silently."""
    with pytest.raises(ArithmeticError, match="cannot hold"):
        settled({"a": Fraction(1, 3)})


def test_vectors_of_attribution(shared):
    """facts/vectors.json: attribution_pCNY A and B."""
    vector = json.loads((shared / "facts/vectors.json").read_text())["attribution_pCNY"]
    lines = BilledLines(
        uncached=Fraction(vector["lines"]["miss"], PICO),
        cached=Fraction(vector["lines"]["hit"], PICO),
        output=Fraction(vector["lines"]["out"], PICO),
    )
    assert pico(by_price_line(lines)) == vector["A"]
    costs = dict(zip(Earner, (8, 18, 2), strict=True))
    assert pico(by_cost(lines, costs)) == vector["B_8_18_2"]


def test_random_order_of_servers_changes_no_exact_share():
    """The order of servers matters only for quanta, never for exact shares."""
    named = {f"s{index}": index + 1 for index in range(7)}
    mixed = dict(random.Random(7).sample(sorted(named.items()), 7))  # noqa: S311 - a test's order
    assert proportional(1, named) == proportional(1, mixed)
