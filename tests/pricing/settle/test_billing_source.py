"""Policy billing_source: the gateway's record or the engine's legs bill, never both (§3)."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import permutations

import pytest

from pricing.directory import ClosedPeriod, Directory
from pricing.policy import Policy, PolicyInvalid, deciding_policy
from pricing.reports.doctor import usage_checks
from tests.pricing.settle.legs import START, Till, at, decode, fed, leg, prefill, rules

TEXT = """
[pool.pd-1]
billing_source = "gateway"
[model.m-river]
billing_source = "gateway"
[model.m-brook]
billing_source = "engine"
"""
POOL = Policy.from_toml('[pool.pd-1]\nbilling_source = "gateway"')
C01 = Decimal("0.00168")  # 600 × 2 + 400 × 0.2 + 50 × 8 per million


def gateway(name="g", **change):
    """What the gateway counted of the request whose engine id is rid-1."""
    own = {"stage": "gateway", "engine_request_id": "rid-1", "node_id": "gw1", "pool": "pd-1"}
    return leg(name, **(own | {"finished_at": at(10)} | change))


def engine(name="u", **change):
    """The engine's own leg of it."""
    return leg(name, **({"engine_request_id": "rid-1", "pool": "pd-1"} | change))


def under(policy):
    """Rules with this policy."""
    return replace(rules(), policy=policy)


def told(till):
    """(disposition, reason, amount if billed, policy that decided) of each request, in order."""
    return sorted(
        (kind, why or "", amount if kind == "billed" else 0, deciding_policy(kind, why, flags))
        for kind, why, amount, flags in till.requests().values()
    )


BILLED = ("billed", "", C01, 'pool.billing_source = "gateway"')
ASIDE = ("cost", "gateway_bills", 0, 'pool.billing_source = "gateway"')


@pytest.mark.parametrize("turned", [False, True])
def test_the_gateway_bills_and_the_engine_is_the_check(turned):
    """One bill of C01's amount whatever comes first; the engine's answer costs nothing."""
    legs = [engine(), gateway()]
    till = fed(*(legs[::-1] if turned else legs), used=under(POOL))
    assert told(till) == [BILLED, ASIDE]
    assert till.amount() == till.amount("node_money") == till.amount("request_money") == C01


def test_a_pair_is_set_aside_as_one():
    """Prefill and decode make one check; the halves wait for each other as ever."""
    halves = [prefill("p", pool="pd-1"), decode("d", pool="pd-1")]
    till = fed(halves[0], gateway(), used=under(POOL))
    assert told(till) == [BILLED]
    till.feed(halves[1])
    assert told(till) == [BILLED, ASIDE]


def earned(till):
    """(node, stage, billed amount) of who earned what."""
    query = (
        "SELECT node_id, stage, sum(amount) AS amount FROM node_money "
        "WHERE disposition = 'billed' GROUP BY ALL HAVING amount <> 0 ORDER BY ALL"
    )
    return till.cursor.execute(query).fetchall()


PREFILL_PART, DECODE_PART = Decimal("0.00128"), Decimal("0.0004")  # C01: 0.0012 + 0.00008; 0.0004
PAIR = [
    prefill("p", pool="pd-1"),
    decode("d", pool="pd-1", engine_request_id="rid-1"),
]


@pytest.mark.parametrize("order", list(permutations([*PAIR, gateway()])))
def test_the_servers_that_did_the_work_earn_what_the_gateway_bills(order):
    """Input lines on p1, output lines on d1, whatever comes first; the bill stays the gateway's."""
    till = fed(*order, used=under(POOL))
    assert told(till) == [BILLED, ASIDE]
    assert earned(till) == [("d1", "decode", DECODE_PART), ("p1", "prefill", PREFILL_PART)]
    assert till.amount() == till.amount("node_money") == till.amount("request_money") == C01
    assert [each.promise for each in usage_checks(till.cursor) if each.wrong] == []


def test_all_in_one_batch_is_the_same():
    """Nothing has to be taken back: one row of the bill."""
    till = Till(under(POOL))
    till.feed(*PAIR, gateway())
    assert earned(till) == [("d1", "decode", DECODE_PART), ("p1", "prefill", PREFILL_PART)]
    assert till.rows("count(*)", "request", where="disposition = 'billed'") == [(1,)]


def test_a_gateways_record_alone_is_earned_by_no_known_server():
    """No engine told of it: the money is there, and no gateway has earned it."""
    assert earned(fed(gateway(), used=under(POOL))) == [(None, "gateway", C01)]


@pytest.mark.parametrize("order", list(permutations([engine("u"), engine("v"), gateway()])))
def test_of_two_answers_under_one_id_none_earns(order):
    """Which of the two the gateway bills nobody can say, also where the second comes last."""
    assert earned(fed(*order, used=under(POOL))) == [(None, "gateway", C01)]


def test_a_server_known_after_the_close_changes_no_invoice():
    """Both rows correct the closed month by nothing."""
    till = fed(gateway(), used=under(POOL))
    closed = ClosedPeriod("t-alder", date(2026, 6, 1), START, datetime(2026, 7, 1, tzinfo=UTC))
    till.rules = replace(till.rules, directory=Directory(closed=(closed,)))
    till.feed(engine())
    assert earned(till) == [("u1", "unified", C01)]
    moved = till.rows("sign, adjusts_period, price_key", "request", where="cause = 'earner'")
    assert [(sign, month) for sign, month, _ in moved] == [(-1, closed.month), (1, closed.month)]
    assert len({key for *_, key in moved}) == 1


def test_a_half_alone_is_set_aside_when_its_time_is_up():
    """Neither held nor undelivered: nothing of it is at risk, the gateway bills."""
    till = fed(decode("d", pool="pd-1"), prefill("p", join_key="k2", pool="pd-1"), used=under(POOL))
    till.give_up()
    assert told(till) == [ASIDE, ASIDE]
    till.feed(prefill("late", pool="pd-1"))
    assert told(till) == [ASIDE, ASIDE]


def test_a_model_goes_before_its_pool():
    """m-brook is the engine's in a gateway's pool, m-river the gateway's in any pool."""
    policy = Policy.from_toml(TEXT)
    till = fed(
        engine("e1", model_id="m-brook"),
        gateway("g1", model_id="m-brook"),
        engine("e2", pool="pd-2"),
        gateway("g2", pool=None),
        used=under(policy),
    )
    by_model = 'model.billing_source = "gateway"'
    assert told(till) == [
        ("billed", "", C01, by_model),
        ("cost", "gateway_bills", 0, by_model),
        ("unpriced", "no_price", 0, None),  # the book has no m-brook
    ]


def test_the_gateways_statuses_are_decided_like_the_engines():
    """Errors are cost; an aborted answer follows the policy about aborted ones."""
    text = 'aborted = "not_billed"\n[pool.pd-1]\nbilling_source = "gateway"'
    legs = [gateway("g1", status="error"), gateway("g2", status="aborted")]
    assert told(fed(*legs, used=under(Policy.from_toml(text)))) == [
        ("cost", "aborted", 0, 'aborted = "not_billed"'),
        ("cost", "error", 0, None),
    ]


def test_what_has_settled_keeps_its_source():
    """A change of the policy bills nothing twice and drops nothing: a late half follows its key."""
    pair = {"join_key": "k1", "pool": "pd-1"}
    till = fed(decode("d", **pair), used=under(Policy(decode_only="bill_uncached")))
    till.give_up()
    till.rules = under(POOL)
    till.feed(prefill("p", **pair))
    assert told(till) == [("billed", "", C01, None)]


def test_what_was_set_aside_stays_aside():
    """The same the other way: the gateway has billed it under the earlier policy."""
    pair = {"join_key": "k1", "pool": "pd-1"}
    till = fed(decode("d", **pair), gateway(), used=under(POOL))
    till.give_up()
    till.rules = rules()
    till.feed(prefill("p", **pair))
    assert told(till) == [BILLED, ASIDE]


def test_by_default_a_gateway_bills_nothing():
    """The engine's legs are the bill."""
    assert told(fed(engine(), gateway())) == [("billed", "", C01, None)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[tenant.t1]\nbilling_source = "gateway"', "'tenant.t1.billing_source'"),
        ('[model.m1]\naborted = "bill"', "'model.m1.aborted'"),
        ('billing_source = "both"', "engine or gateway"),
    ],
)
def test_a_source_is_of_a_pool_or_model(text, named):
    """A record's owner is known only after its source was chosen."""
    with pytest.raises(PolicyInvalid, match=re.escape(named)):
        Policy.from_toml(text)
