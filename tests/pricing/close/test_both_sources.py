"""Both sources in one hour: the tenants' close waits (docs/policies.md, billing_source)."""

from dataclasses import replace
from decimal import Decimal

import pytest

from metering.windows import Window
from pricing.policy import Policy
from pricing.reports.doctor import usage_checks
from pricing.reports.findings import findings
from pricing.runs.verify import verify_invoice
from pricing.scope import Scope
from tests.pricing.close.conftest import time, usage

CLOSE_AT = "2026-07-03T00:00:00Z"
AT_TEN, AT_ELEVEN = "2026-06-10T10:10:00Z", "2026-06-10T11:20:00Z"
POOL = '[pool.a]\nbilling_source = "gateway"'
MODEL = '[model.m-river]\nbilling_source = "gateway"'
ALL_BUT_B = 'billing_source = "gateway"\n[pool.b]\nbilling_source = "engine"'


@pytest.fixture
def alder(house):
    """t-alder, whose usage is fed by engine and gateway."""
    house.tenant("t-alder")
    return house


def feed(house, toml, name, started_at=AT_TEN, now="2026-06-10T12:00:00Z", **change):
    """One record of 2.00 CNY that settles under this policy."""
    house.till.rules = replace(house.rules.at(time(now)), policy=Policy.from_toml(toml))
    house.till.feed(usage(name, "t-alder", started_at, **change), now=time(now))


def engine(house, toml, **change):
    """An engine's leg."""
    feed(house, toml, "engine", **({"pool": "a"} | change))


def gateway(house, toml, **change):
    """A gateway's record."""
    feed(house, toml, "gateway", **({"pool": "a", "stage": "gateway"} | change))


def blockers(house, month="2026-06", now=CLOSE_AT, **order):
    """(name, hours, amount at stake) of what blocks the month."""
    (tenant,) = house.close(month, now, **order).tenants
    return [(each.name, each.count, each.amount_max) for each in tenant.blockers]


FOUND = [("t-alder:both_sources", 1, Decimal(2))]


def test_a_policy_that_changes_within_an_hour(alder):
    """The engine billed before the change, the gateway after it: 2.00 may be there twice."""
    engine(alder, "")
    gateway(alder, POOL)
    assert blockers(alder) == FOUND
    assert blockers(alder, accept=["t-alder:both_sources"], reason="two requests") == []


def test_one_source_in_each_hour(alder):
    """A change at the full hour needs nobody's word."""
    engine(alder, "", started_at=AT_TEN)
    gateway(alder, POOL, started_at=AT_ELEVEN)
    assert blockers(alder) == []


def test_the_check_is_no_second_bill(alder):
    """Both tell the request, one of them is the bill."""
    engine(alder, POOL)
    gateway(alder, POOL)
    assert blockers(alder) == []


def test_pools_of_different_sources_live_side_by_side(alder):
    """Pool a is the gateway's, pool b the engines'."""
    gateway(alder, POOL)
    engine(alder, POOL, pool="b")
    assert blockers(alder) == []


def test_a_record_without_pool_may_be_of_any_pool(alder):
    """The house says gateway, pool b says engine: a record that names no pool may be b's."""
    gateway(alder, ALL_BUT_B, pool=None)
    engine(alder, ALL_BUT_B, pool="b")
    assert blockers(alder) == FOUND


def test_models_of_different_sources_live_side_by_side(alder):
    """m-river is the gateway's; an engine's unpriced m-brook waits for its own reason only."""
    gateway(alder, MODEL)
    engine(alder, MODEL, model_id="m-brook")
    assert [name for name, *_ in blockers(alder)] == ["t-alder:unpriced"]


def test_a_model_of_two_names_is_found_by_the_engines_id(alder):
    """Only the gateway's name is declared, and the hours differ: one answer twice."""
    same = {"engine_request_id": "rid-1", "finished_at": time("2026-06-10T11:01:00Z")}
    gateway(alder, MODEL, **same, started_at="2026-06-10T11:00:01Z")
    engine(alder, MODEL, **same, started_at="2026-06-10T10:59:59Z", model_id="m-river-fp8")
    assert ("t-alder:both_sources", 1, Decimal(2)) in blockers(alder)


LATE = {"now": "2026-07-05T00:00:00Z"}
JULY, AUGUST = ("2026-07", "2026-08-03T00:00:00Z"), ("2026-08", "2026-09-03T00:00:00Z")


@pytest.mark.parametrize("order", [(engine, gateway), (gateway, engine)])
def test_what_comes_after_the_close_is_asked_for_by_the_next(alder, order):
    """One of the two in June, the other late: July waits, until it is accepted, and only July."""
    first, late = order
    first(alder, POOL if first is gateway else "")
    assert blockers(alder) == []
    late(alder, POOL if late is gateway else "", **LATE)
    assert blockers(alder, *JULY) == FOUND
    assert blockers(alder, *JULY, accept=["t-alder:both_sources"], reason="two requests") == []
    assert blockers(alder, *AUGUST) == []


def test_what_was_accepted_is_not_asked_for_again(alder):
    """June closed with both; of what comes late only an answer beside another source's waits."""
    engine(alder, "")
    gateway(alder, POOL)
    assert blockers(alder, accept=["t-alder:both_sources"], reason="two requests") == []
    feed(alder, "", "late", started_at=AT_ELEVEN, pool="a", **LATE)
    assert blockers(alder, *JULY) == []


def test_the_findings_show_both(alder):
    """What may be billed twice, to the tenant too; and to the house what the check did not see."""
    engine(alder, "")
    gateway(alder, POOL)
    window = Window(start_at=time("2026-06-01T00:00:00Z"), end_at=time("2026-07-01T00:00:00Z"))
    seen = {
        scope: {each.kind: each for each in found(alder, scope, window)}
        for scope in (Scope.house(), Scope.of("t-alder"), Scope.of("t-birch"))
    }
    for scope in (Scope.house(), Scope.of("t-alder")):
        assert seen[scope]["both_sources"].amount_max == Decimal(2)
    assert "both_sources" not in seen[Scope.of("t-birch")]
    assert seen[Scope.house()]["gateway_check"].input_tokens == 1_000_000
    assert "gateway_check" not in seen[Scope.of("t-alder")]


def found(house, scope, window):
    """Findings of the store."""
    return findings(house.till.cursor, scope, window=window, now=window.end_at)


def test_an_invoice_of_gateway_records_is_found_whole(alder):
    """The invoice follows from the gateway's records as others do from the engines' legs."""
    engine(alder, POOL)
    gateway(alder, POOL)
    report = alder.close("2026-06", CLOSE_AT)
    assert alder.totals(report) == {"t-alder": Decimal("2.00")}
    with alder.ledger.read() as connection:
        checks = verify_invoice(alder.till.cursor, connection, Scope.house(), "INV-000001")
    assert [each.name for each in checks if each.faults] == []
    assert [each.promise for each in usage_checks(alder.till.cursor) if each.wrong] == []
