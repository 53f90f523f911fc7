"""Policies of a pool or a tenant decide before the house's, and the request says which (§3)."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from pricing.policy import Policy, PolicyInvalid, deciding_policy
from tests.pricing.settle.legs import Till, decode, leg, prefill, rules

TEXT = """
decode_only = "hold"
[pool.pd-2]
decode_only = "trust_decode"
undelivered = "bill_input"
[tenant.t-birch]
decode_only = "bill_uncached"
aborted = "not_billed"
"""
POLICY = Policy.from_toml(TEXT)


def settled(*legs):
    """(amount or None if not billed, the policy that decided) of each request."""
    till = Till(replace(rules(), policy=POLICY))
    till.feed(*legs)
    till.give_up()
    return [
        (amount if kind == "billed" else None, deciding_policy(kind, reason, flags))
        for kind, reason, amount, flags in till.requests().values()
    ]


def test_the_house_decides_where_nobody_else_does():
    """A decode leg alone in a pool without a policy of its own is held."""
    assert settled(decode("d", pool="pd-1")) == [(None, 'decode_only = "hold"')]


def test_a_pool_decides_for_its_usage():
    """pd-2 trusts the decode leg's 400 cached: C01's 0.00168."""
    decided = 'pool.decode_only = "trust_decode"'
    assert settled(decode("d", pool="pd-2")) == [(Decimal("0.00168"), decided)]


def test_a_tenant_decides_before_its_pool():
    """t-birch pays as if nothing were cached: 1,000 × 2 + 50 × 8 = 2,400 per million."""
    decided = 'tenant.decode_only = "bill_uncached"'
    legs = [decode("d", pool="pd-2", tenant_id="t-birch")]
    assert settled(*legs) == [(Decimal("0.0024"), decided)]


def test_a_tenant_that_says_nothing_follows_its_pool():
    """t-birch has no decision about undelivered prompts: pd-2's bills 600 × 2 + 400 × 0.2."""
    decided = 'pool.undelivered = "bill_input"'
    legs = [prefill("p", pool="pd-2", tenant_id="t-birch")]
    assert settled(*legs) == [(Decimal("0.00128"), decided)]


@pytest.mark.parametrize("also", [[], [prefill("p0", tenant_id="t-birch", status="error")]])
def test_an_aborted_answer_of_that_tenant_is_cost_once(also):
    """One answer, one row of cost for both of its sides, whichever path settled its key."""
    pair = [prefill("p", tenant_id="t-birch"), decode("d", tenant_id="t-birch", status="aborted")]
    found = settled(*pair, *also)
    assert found.count((None, 'tenant.aborted = "not_billed"')) == 1
    assert len(found) == 1 + len(also)


def test_the_owner_of_a_pair_is_the_one_who_would_pay():
    """The decode leg's name goes before the prefill leg's: t-alder is billed when it aborts."""
    legs = [prefill("p", tenant_id="t-birch"), decode("d", status="aborted")]
    assert settled(*legs) == [(Decimal("0.00168"), 'aborted = "bill"')]


def test_nothing_decided_names_nothing():
    """A plain answer needs no policy."""
    assert settled(leg("u")) == [(Decimal("0.00168"), None)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[pool.pd-1]\norphan_after_seconds = 5", "'pool.pd-1.orphan_after_seconds'"),
        ('[tenant.t1]\naborted = "maybe"', "tenant.t1.aborted = 'maybe'"),
        ('pool = "pd-1"', "[pool.NAME]"),
        ("default_book = 7", "default_book = 7"),
        ('book_review = "me"', "none or second_person"),
    ],
)
def test_a_policy_file_with_a_mistake_names_it(text, named):
    """The key as it stands in the file, and what it may be."""
    with pytest.raises(PolicyInvalid, match=re.escape(named)):
        Policy.from_toml(text)
