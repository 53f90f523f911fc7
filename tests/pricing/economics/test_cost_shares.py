"""Used, failed, reserved, idle and shared cost: nothing is lost (C21), policies sum to 100 %."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.cost_shares import (
    BY_USE,
    EVEN,
    KEEP,
    CostKind,
    Policy,
    ServerUse,
    allocate,
    amounts_by_owner,
    shares_of_server,
    spread,
)

S1 = ServerUse(cost=Decimal("100.00"), capacity=24, used={"t-alder": 9, "t-birch": 3})
S2 = ServerUse(cost=Decimal("60.00"), capacity=24)
owners = st.dictionaries(st.sampled_from("abcd"), st.integers(0, 50), max_size=4)
costs = st.decimals(0, 10**6, places=15)
policies = st.sampled_from([KEEP, BY_USE, EVEN, Policy("fixed", {"a": 60, "z": 40})])


def totals(lines):
    """Amount by owner, or by kind where there is none."""
    found: dict[str, Decimal] = {}
    for line in lines:
        name = line.owner or line.kind.value
        found[name] = found.get(name, Decimal(0)) + line.amount
    return found


def test_c21_share_idle_by_use(shared):
    """Case C21: 75.00 / 25.00, and the unused server's 60.00 stays visible as unallocated."""
    case = next(
        c for c in json.loads((shared / "cases/cases.json").read_text()) if c["id"] == "C21"
    )
    right = {k: Decimal(v) for k, v in case["expected"]["share"].items() if k != "sum"}
    assert totals(allocate([S1, S2], idle=BY_USE)) == right


def test_c21_do_not_share_idle():
    """Case C21: 100 · 9/24, 100 · 3/24, idle 50.00 and 60.00; sum 160.00."""
    lines = allocate([S1, S2], idle=KEEP)
    assert totals(lines) == {"t-alder": Decimal("37.5"), "t-birch": Decimal("12.5"), "idle": 110}
    idle = [line.amount for line in lines if line.kind is CostKind.IDLE]
    assert idle == [50, 60]


def test_more_work_than_capacity_leaves_no_negative_idle():
    """OpenCost #3393: 30 hours of work in 24 are spread 20:10, idle is 0, the sum stands."""
    busy = ServerUse(cost=Decimal(90), capacity=24, used={"a": 20, "b": 10})
    assert totals(shares_of_server(busy)) == {"a": 60, "b": 30, "idle": 0}


def test_a_server_without_capacity_keeps_its_cost():
    """Nothing known about it: its cost is idle, not lost."""
    assert totals(shares_of_server(ServerUse(cost=Decimal(7), capacity=0))) == {"idle": 7}


def test_failed_work_is_a_line_of_its_own():
    """I7: a retried attempt earns nothing; 2 of 24 hours of its cost are tagged failed."""
    server = ServerUse(cost=Decimal(24), capacity=24, used={"a": 10}, failed={"a": 2})
    kinds = {line.kind: line.amount for line in shares_of_server(server)}
    assert kinds == {CostKind.USED: 10, CostKind.FAILED: 2, CostKind.IDLE: 12}


PRIMER = ServerUse(
    cost=Decimal(10), capacity=8, used={"app-a": 1, "app-b": 1}, reserved={"app-a": 2}
)


def test_llm_d_primer_allocation():
    """economics.md §2l: 8 CPU, $10/h: max(request, use) → 3.75 / 1.25 / idle 5.00."""
    assert totals(allocate([PRIMER])) == {
        "app-a": Decimal("3.75"),
        "app-b": Decimal("1.25"),
        "idle": 5,
    }


def test_llm_d_primer_idle_by_weight():
    """Same, idle shared by weight: 7.50 / 2.50."""
    assert totals(allocate([PRIMER], idle=BY_USE)) == {
        "app-a": Decimal("7.5"),
        "app-b": Decimal("2.5"),
    }


def test_llm_d_primer_usage_only():
    """Same, usage only: 1.25 / 1.25 / not attributed 7.50."""
    use_only = ServerUse(cost=Decimal(10), capacity=8, used={"app-a": 1, "app-b": 1})
    assert totals(allocate([use_only])) == {
        "app-a": Decimal("1.25"),
        "app-b": Decimal("1.25"),
        "idle": Decimal("7.5"),
    }


def test_shared_cost_comes_after_and_stays_separable():
    """Switches of 16.00 by what owners carry (75:25) are lines of kind shared."""
    lines = allocate([S1], idle=BY_USE, shared_cost=Decimal(16), shared=BY_USE)
    shared = {line.owner: line.amount for line in lines if line.kind is CostKind.SHARED}
    assert shared == {"t-alder": 12, "t-birch": 4}


def test_even_and_fixed_policies():
    """50:50 whatever the use; 60:40 by contract, also for an owner that used nothing."""
    even = spread(Decimal(9), EVEN, carried={"a": 1, "b": 8}, kind=CostKind.SHARED)
    assert amounts_by_owner(even) == {"a": Fraction("4.5"), "b": Fraction("4.5")}
    fixed = spread(
        Decimal(9), Policy("fixed", {"a": 60, "z": 40}), carried={}, kind=CostKind.SHARED
    )
    assert amounts_by_owner(fixed) == {"a": Fraction("5.4"), "z": Fraction("3.6")}


@pytest.mark.parametrize("percentages", [{"a": 60, "b": 39}, {}, {"a": Decimal("100.1")}])
def test_fixed_percentages_sum_to_100(percentages):
    """60 + 39 would lose 1 % of the bill."""
    with pytest.raises(ValueError, match="must sum to 100"):
        Policy("fixed", percentages)


@pytest.mark.parametrize(
    ("name", "percentages", "message"),
    [("by_magic", {}, "must be keep"), ("even", {"a": 100}, "takes no percentages")],
)
def test_unknown_policies_are_refused(name, percentages, message):
    """The message lists the names that exist."""
    with pytest.raises(ValueError, match=message):
        Policy(name, percentages)


@given(st.lists(st.tuples(costs, owners, owners, owners), max_size=5), policies, policies, costs)
def test_i3_lines_sum_to_the_ledger_cost(servers, idle, shared, shared_cost):
    """I3: used + failed + reserved + idle + shared + unallocated = Σ costs, to the last digit."""
    fleet = [
        ServerUse(cost=cost, capacity=100, used=used, failed=failed, reserved=reserved)
        for cost, used, failed, reserved in servers
    ]
    lines = allocate(fleet, idle=idle, shared_cost=shared_cost, shared=shared)
    spent = sum(Fraction(server.cost) for server in fleet) + Fraction(shared_cost)
    assert sum(Fraction(line.amount) for line in lines) == spent
    assert all(line.amount >= 0 for line in lines)
