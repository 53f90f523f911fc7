"""What becomes of legs (docs/pd-accounting.md), case by case, on a real store."""

from decimal import Decimal
from itertools import permutations

import pytest

from tests.pricing.settle.legs import Till, at, decode, fed, leg, prefill, rules

# C01's prices: 600 × 2.00 + 400 × 0.20 + 50 × 8.00 = 1,680 per million
BASE = Decimal("0.00168")


def test_a_unified_leg_is_billed_by_its_own_counts():
    """By hand: (600 × 2.00 + 400 × 0.20 + 50 × 8.00) / 10^6 = 0.00168."""
    assert fed(leg("u")).amount() == BASE


def test_a_pair_is_one_request_in_either_order():
    """Input from the prefill leg, output from the decode leg; nothing twice (V1)."""
    halves = [prefill("p"), decode("d", cached_input_tokens=999)]
    for order in (halves, halves[::-1]):
        till = fed(*order)
        assert till.amount() == BASE
        assert till.rows("sum(requests)", "usage_hourly", where="disposition = 'billed'") == [(1,)]


def test_input_lines_go_to_the_prefill_node_and_output_lines_to_the_decode_node():
    """Design V1, V7: p1 earns 0.00128, d1 earns 0.0004; together the request's 0.00168."""
    till = fed(prefill("p"), decode("d"))
    earned = till.rows("node_id, amount", "node_money", where="disposition = 'billed'")
    assert earned == [("d1", Decimal("0.0004")), ("p1", Decimal("0.00128"))]


def test_an_aborted_pair_pays_input_in_full_and_output_as_reported():
    """Contract §3: P + D aborted."""
    till = fed(prefill("p"), decode("d", status="aborted", output_tokens=7))
    assert till.amount() == Decimal("0.001336")  # 1,280 + 7 × 8 per million


@pytest.mark.parametrize("status", ["error", "rejected", "warmup"])
def test_failed_answers_pay_nothing_and_their_prefill_is_cost(status):
    """Contract §3: their NULLs are not unknown."""
    till = fed(prefill("p"), decode("d", status=status, output_tokens=None))
    assert till.amount() == 0
    assert {row[0] for row in till.requests().values()} == {"cost"}


def test_a_prefill_left_over_beside_an_answer_is_a_retry():
    """The last equal prefill that finished before the decode leg fed it."""
    early = prefill("p0", finished_at=at(0.5), cached_input_tokens=0)
    till = fed(early, prefill("p1"), decode("d"))
    assert till.amount() == BASE
    assert till.requests()[early["event_id"]][:2] == ("cost", "retry")


def test_a_prefill_of_a_longer_prompt_beside_an_answer_is_a_reprefill():
    """After a retraction decode calls prefill again with prompt + output so far."""
    longer = prefill("p2", finished_at=at(5), input_tokens=1030)
    till = fed(prefill("p1"), longer, decode("d"))
    assert till.amount() == BASE
    assert till.requests()[longer["event_id"]][:2] == ("cost", "reprefill")


def test_the_order_of_arrival_changes_nothing():
    """All orders of two prefills and two decodes of one reused key end alike, to the digit."""
    legs = [
        prefill("p1", cached_input_tokens=0),
        prefill("p2", finished_at=at(20)),
        decode("d1"),
        decode("d2", finished_at=at(30), output_tokens=70),
    ]
    ends = {str(sorted(fed(*order).requests().items())) for order in permutations(legs)}
    assert len(ends) == 1


def test_a_late_better_half_corrects_amounts_by_appended_rows():
    """p2 finished last before d, but came after d had settled with p1: reversal, then anew."""
    till = fed(prefill("p1", cached_input_tokens=0), decode("d"))
    assert till.amount() == Decimal("0.0024")
    till.feed(prefill("p2", finished_at=at(2)))
    assert till.amount() == BASE
    assert till.rows("sign", "request", where="disposition = 'billed'") == [(-1,), (1,), (1,)]


def test_a_decode_leg_whose_input_differs_is_held():
    """Flag input_mismatch; nothing is billed, nothing is lost."""
    till = fed(prefill("p", input_tokens=900), decode("d"))
    till.give_up()
    held = till.requests()[decode("d")["event_id"]]
    assert held[:2] == ("held", "input_mismatch")
    assert "input_mismatch" in held[3]
    assert till.amount() == 0


def test_a_decode_leg_without_input_count_takes_the_only_prefill():
    """Contract §3; with several prefill legs it is held as ambiguous."""
    assert fed(prefill("p"), decode("d", input_tokens=None)).amount() == BASE
    till = fed(prefill("p1"), prefill("p2"), decode("d", input_tokens=None))
    till.give_up()
    assert till.requests()[decode("d")["event_id"]][1] == "ambiguous_key"


def test_skewed_clocks_pair_within_five_seconds_only():
    """The prefill leg may seem to finish up to 5 s after its decode leg."""
    near = fed(prefill("p", finished_at=at(14)), decode("d"))
    assert near.amount() == BASE
    assert "clock_skew" in near.requests()[decode("d")["event_id"]][3]
    assert fed(prefill("p", finished_at=at(14.1)), decode("d")).amount() == 0


def test_a_prefill_alone_is_undelivered_after_the_orphan_time_and_a_late_decode_bills_it():
    """Not billed, listed with its money at risk; the decode leg that comes after all bills once."""
    till = fed(prefill("p"))
    assert till.requests() == {}
    till.give_up()
    assert till.requests()[prefill("p")["event_id"]][:2] == ("undelivered", "undelivered")
    till.feed(decode("d"))
    assert till.amount() == BASE
    assert list(till.requests()) == [decode("d")["event_id"]]


def test_policies_for_halves_that_stand_alone():
    """bill_input: 1,280; bill_uncached: 1,000 × 2 + 400; trust_decode: 1,680 per million."""
    for policy, half, amount in (
        ({"undelivered": "bill_input"}, prefill("p"), "0.00128"),
        ({"decode_only": "bill_uncached"}, decode("d"), "0.0024"),
        ({"decode_only": "trust_decode"}, decode("d"), "0.00168"),
        ({"decode_only": "hold"}, decode("d"), "0"),
    ):
        till = fed(half, used=rules(**policy))
        till.give_up()
        assert till.amount() == Decimal(amount), policy


def test_a_held_decode_leg_is_billed_once_its_prefill_comes():
    """The held row is reversed; only the answer remains."""
    till = fed(decode("d"))
    till.give_up()
    assert till.requests()[decode("d")["event_id"]][0] == "held"
    till.feed(prefill("p"))
    assert till.requests()[decode("d")["event_id"]][0] == "billed"
    assert till.amount() == BASE


def test_settling_again_changes_nothing():
    """Running a batch or the orphan pass again finds nothing to do (V3)."""
    till = fed(prefill("p"), decode("d"), prefill("lone", join_key="k2"))
    for _ in range(3):
        till.give_up()
        till.feed()
    assert len(till.rows("1", "request")) == 2


def test_the_three_views_of_money_agree():
    """V7: per request, per tenant hour and per node hour the same sum."""
    till = fed(leg("u"), prefill("p"), decode("d"), leg("u2", tenant_id="t-birch"))
    sums = {till.amount(view) for view in ("usage_money", "node_money", "request_money")}
    assert sums == {3 * BASE}


def test_a_till_without_legs_settles_nothing():
    """An empty store has no progress to make."""
    till = Till()
    till.feed()
    assert till.rows("settled_through_seq, settle_seq", "progress") == [(0, 0)]
