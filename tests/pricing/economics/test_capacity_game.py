"""The Shapley rule: facts/economics.md §3.2, and what a cell of the ledger makes of it."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.attribution import Earner
from pricing.capacity_game import Alone, PairWork, by_capacity, pair_worth

ALONE = Alone(decode_slowdown=3, prefill_speedup=2)
WORKED = PairWork(
    prefill_seconds=Fraction("0.286"),
    cold_prefill_seconds=Fraction("2.05"),
    decode_seconds=Fraction("0.217391"),
    revenue=Fraction("0.1944"),
    cold_revenue=Fraction("0.54"),
)
P, D, K = Earner.PREFILL, Earner.DECODE, Earner.KV_STORE
positive = st.integers(1, 10**9)


def test_worth_of_every_coalition():
    """§3.2, CNY per second; v(PD) < v(D): without the cache slow prefill destroys value."""
    worth = {key: float(value) for key, value in pair_worth(WORKED, ALONE).items()}
    expected = {
        (P,): 0.199839, (D,): 0.434646, (P, D): 0.263415, (K,): 0,
        (P, K): 0.207211, (D, K): 0.539414, (P, D, K): 0.679720,
    }  # fmt: skip
    assert worth == pytest.approx({frozenset(k): v for k, v in expected.items()}, abs=1e-6)


def test_shares_of_the_worked_request():
    """φ 0.119379, 0.402883 and 0.157459 of 0.679720: 17.56 %, 59.27 % and 23.17 % of 0.1944 CNY."""
    shares = by_capacity(WORKED, ALONE)
    assert sum(shares.values()) == WORKED.revenue
    per_second = {earner: float(share) / 0.1944 * 0.679720 for earner, share in shares.items()}
    assert per_second == pytest.approx({P: 0.119379, D: 0.402883, K: 0.157459}, abs=1e-6)


@given(*[positive] * 5)
def test_shares_sum_to_the_revenue(prompt, extra, answer, revenue, cold):
    """Efficiency, exact, whatever the seconds and prices; without hits the store gets nothing."""
    work = PairWork(
        prefill_seconds=prompt,
        cold_prefill_seconds=prompt + extra,
        decode_seconds=answer,
        revenue=revenue,
        cold_revenue=cold,
    )
    assert sum(by_capacity(work, ALONE).values()) == revenue
    plain = PairWork(
        prefill_seconds=prompt,
        cold_prefill_seconds=prompt,
        decode_seconds=answer,
        revenue=revenue,
        cold_revenue=revenue,
    )
    assert by_capacity(plain, ALONE)[K] == 0


def test_no_work_has_no_shares():
    """Nothing earned and nothing done: nothing to weigh by."""
    nothing = PairWork(
        prefill_seconds=0, cold_prefill_seconds=0, decode_seconds=0, revenue=0, cold_revenue=0
    )
    assert by_capacity(nothing, ALONE) is None
