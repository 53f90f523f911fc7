"""What a tenant's month waits for, one kind at a time, and that nothing is lost meanwhile."""

import random
from decimal import Decimal

import pytest

from pricing.close_report import Outcome
from pricing.ledger.servers import Server, add_server
from pricing.money import exact_sum
from tests.pricing.close.conftest import BEGIN, time, usage
from tests.pricing.settle.legs import decode, prefill

CLOSE_AT = "2026-07-03T00:00:00Z"
JUNE_10 = {"started_at": time("2026-06-10T10:00:00Z"), "finished_at": time("2026-06-10T10:00:05Z")}
WATERMARK = "INSERT INTO node_watermark VALUES (?, 'prefill', NULL, ?, ?)"


@pytest.fixture
def alder(house):
    """t-alder with one billed request of June."""
    house.tenant("t-alder")
    house.feed(usage("a", "t-alder", "2026-06-10T10:00:00Z"), now="2026-06-10T11:00:00Z")
    return house


def names(house, **order):
    """Names of what blocks June of t-alder."""
    (tenant,) = house.close("2026-06", CLOSE_AT, **order).tenants
    return {blocker.name for blocker in tenant.blockers}


def test_a_half_that_waits(alder):
    """The decode leg may still come."""
    alder.feed(prefill("p", **JUNE_10), now="2026-06-10T11:00:00Z")
    assert names(alder) == {"t-alder:pending"}
    alder.feed(decode("d", **JUNE_10), now="2026-07-02T00:00:00Z")
    assert names(alder) == set()


def test_a_record_that_contradicts_another(alder):
    """The same id with other counts: the first one bills once somebody has decided."""
    other = usage("a", "t-alder", "2026-06-10T10:00:00Z", tokens=5)
    alder.feed(other, now="2026-06-11T00:00:00Z")
    assert names(alder) == {"t-alder:conflict"}
    alder.till.cursor.execute(
        "INSERT INTO quarantine_decision "
        "SELECT quarantine_id, now()::TIMESTAMP, 'x', 'kept_first', 'checked' FROM quarantine"
    )
    assert names(alder) == set()


def test_a_held_decode_leg(alder):
    """Nobody knows what was cached."""
    alder.feed(decode("d", **JUNE_10), now="2026-06-10T11:00:00Z")
    alder.till.give_up(time("2026-06-20T00:00:00Z"))
    assert names(alder) == {"t-alder:held"}


def watermark(house, node, sent, seen):
    """What a sidecar said last."""
    values = [node, *(time(each).replace(tzinfo=None) for each in (sent, seen))]
    house.till.cursor.execute(WATERMARK, values)


def test_a_silent_node_holds_everybody_up(alder):
    """p01 has sent up to June 29; it is accepted by its own name only."""
    watermark(alder, "p01", "2026-06-29T00:00:00Z", "2026-06-29T00:00:00Z")
    watermark(alder, "p02", "2026-07-01T00:00:00Z", "2026-07-02T00:00:00Z")
    assert names(alder, accept=["t-alder:node"]) == {"node:p01"}
    assert names(alder, accept=["node:p01"], reason="burnt down") == set()


def test_nodes_of_the_past_hold_nobody_up(alder):
    """Not heard since before June; and one that was taken out of service when it had sent all."""
    watermark(alder, "p01", "2026-05-20T00:00:00Z", "2026-05-20T00:00:00Z")
    watermark(alder, "p02", "2026-06-20T00:00:00Z", "2026-06-20T00:00:00Z")
    with alder.ledger.write(actor="test", at=BEGIN) as change:
        dates = {"in_service_from": BEGIN, "in_service_until": time("2026-06-19T00:00:00Z")}
        add_server(change, Server(node_id="p02", name="p02", stage="prefill", **dates))
    assert names(alder) == set()


def test_a_backlog_of_the_settler_cannot_be_accepted(alder):
    """It ends by itself."""
    alder.till.cursor.execute("UPDATE progress SET settled_through_seq = 0")
    assert names(alder, accept=["unsettled:settler"]) == {"unsettled:settler"}


def test_usage_of_later_months_on_its_way_holds_no_close_up(alder):
    """A house that always has traffic closes June while July is being settled."""
    seq = "SELECT settled_through_seq FROM progress"
    (before,) = alder.till.cursor.execute(seq).fetchone()
    alder.feed(usage("b", "t-alder", "2026-07-02T10:00:00Z"), now="2026-07-02T11:00:00Z")
    alder.till.cursor.execute("UPDATE progress SET settled_through_seq = ?", [before])
    assert names(alder) == set()


ZONES = {
    "t-shanghai": "Asia/Shanghai",
    "t-utc": "UTC",
    "t-pune": "Asia/Kolkata",
    "t-blocked": "UTC",
}


def test_invoices_and_what_is_listed_are_all_there_is(house):
    """Three zones, a blocked, an unregistered and no tenant: sums equal to the last digit.

    Requests lie at least a day inside of June, so that all of them belong to it in every zone.
    """
    chance = random.Random(7)  # noqa: S311 - a repeatable choice
    for tenant_id, zone in ZONES.items():
        house.tenant(tenant_id, zone)
    rows = [
        usage(
            str(number),
            chance.choice([*ZONES, "t-new", None]),
            f"2026-06-{chance.randrange(2, 30):02}T{chance.randrange(24):02}:15:00Z",
            chance.randrange(1, 10**7),
            output_tokens=chance.randrange(10**5),
        )
        for number in range(300)
    ]
    blocked = usage("x", "t-blocked", "2026-06-20T00:00:00Z", model_id="m-new")
    house.feed(*rows, blocked, now="2026-07-01T00:00:00Z")
    report = house.close("2026-06", CLOSE_AT)
    assert {each.tenant_id for each in report.with_outcome(Outcome.BLOCKED)} == {"t-blocked"}
    made = [document.exact_amount for each in report.tenants for document in each.documents]
    listed = [each.amount_max for each in report.not_invoiced if each.amount_max is not None]
    total = house.till.rows("sum(sign * amount)", "request_money", where="disposition = 'billed'")
    assert exact_sum([*made, *listed]) == total[0][0] > Decimal(1000)
    assert len(made) == 3
