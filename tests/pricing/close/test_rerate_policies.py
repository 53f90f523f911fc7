"""A corrected policy for a closed month: what it decides is decided anew, and billed later.

Case C01's prices: 2.00 / 0.20 / 8.00 CNY. Each leg: 1,000 input tokens, 400 of them cached, 50
output tokens. By hand: whole 0.00168; input alone 0.00128; all uncached 0.0024.
"""

from datetime import timedelta
from decimal import Decimal

import pytest

from metering.windows import parse_month
from pricing.ledger.policies import add_policy
from pricing.runs.rerate import RerateOrder, rerate_month
from tests.pricing.close.conftest import time
from tests.pricing.close.test_rerate import faults
from tests.pricing.settle.legs import decode, leg, prefill

AT = time("2026-06-10T10:00:00Z")
TIMES = {"started_at": AT, "finished_at": AT + timedelta(seconds=9)}
LEGS = {
    "undelivered": prefill("p", **TIMES),
    "decode_only": decode("d", **TIMES),
    "aborted": leg("u", **TIMES, status="aborted"),
}


def policy(house, toml, effective_from="2026-01-01T00:00:00Z"):
    """A revision of the policies."""
    with house.ledger.write(actor="test", at=AT) as change:
        add_policy(change, toml, effective_from=time(effective_from))


def closed_june(house, question):
    """June of t-alder closed with one leg that the policy `question` is about."""
    house.tenant("t-alder")
    house.feed(LEGS[question], now="2026-06-10T11:00:00Z")
    house.till.give_up(time("2026-06-20T00:00:00Z"))
    report = house.close("2026-06", "2026-07-01T01:00:00Z", accept=["t-alder:held"])
    assert report.is_done


def rerated(house, now="2026-07-10T00:00:00Z"):
    """June by the policies at its end: the difference that t-alder pays."""
    order = RerateOrder(month=parse_month("2026-06"), reason="was wrong", with_policies=True)
    rules = house.rules.at(time(now))
    report = rerate_month(house.till.cursor, house.ledger, rules, order, now=time(now))
    return sum((each.difference for each in report.changes), Decimal(0))


ANSWERS = [
    ("undelivered", "not_billed", "bill_input", "0.00128"),
    ("decode_only", "hold", "bill_uncached", "0.0024"),
    ("decode_only", "hold", "trust_decode", "0.00168"),
    ("decode_only", "bill_uncached", "trust_decode", "-0.00072"),
    ("aborted", "bill", "not_billed", "-0.00168"),
]


@pytest.mark.parametrize(("question", "before", "after", "difference"), ANSWERS)
def test_a_corrected_policy_is_billed_on_the_next_invoice(
    house, question, before, after, difference
):
    """There, and back again; each time once, and every document can be derived again."""
    policy(house, f'{question} = "{before}"')
    closed_june(house, question)
    policy(house, f'{question} = "{after}"')
    assert rerated(house) == Decimal(difference)
    assert rerated(house) == 0
    july = house.close("2026-07", "2026-08-01T01:00:00Z")
    assert july.is_done
    (made,) = july.tenants[0].documents
    assert made.exact_amount == Decimal(difference)
    policy(house, f'{question} = "{before}"')
    assert rerated(house, "2026-08-10T00:00:00Z") == -Decimal(difference)
    # what is held now waits for a decision again
    assert house.close("2026-08", "2026-09-01T01:00:00Z", accept=["t-alder:held"]).is_done
    assert faults(house) == []


def test_a_policy_of_a_later_month_is_no_correction(house):
    """In force from July on: June stays as it was decided."""
    closed_june(house, "undelivered")
    policy(house, 'undelivered = "bill_input"', "2026-07-01T00:00:00Z")
    assert rerated(house) == 0


def test_what_a_tenant_decides_counts_for_it(house):
    """The house bills nothing undelivered, t-alder's contract does."""
    closed_june(house, "undelivered")
    policy(house, '[tenant.t-alder]\nundelivered = "bill_input"')
    assert rerated(house) == Decimal("0.00128")


def test_prices_alone_leave_the_policies_alone(house):
    """Without being asked a re-rate decides no policy anew."""
    closed_june(house, "undelivered")
    policy(house, 'undelivered = "bill_input"')
    order = RerateOrder(month=parse_month("2026-06"), reason="prices")
    now = time("2026-07-10T00:00:00Z")
    rules = house.rules.at(now)
    assert rerate_month(house.till.cursor, house.ledger, rules, order, now=now).changes == []
