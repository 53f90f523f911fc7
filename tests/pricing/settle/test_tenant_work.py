"""Whose work each server did: the roll-up holds the legs' sums, settlement explains the rest."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from metering.windows import Window
from pricing.directory import Directory, KeyOwner
from pricing.errors import RequestInvalid
from pricing.policy import Policy
from pricing.reports.owner_work import Owner, owner_work, whole_work
from pricing.reports.tenant_work import TenantWork, tenant_work
from pricing.scope import Scope
from tests.pricing.settle.legs import NOW, at, decode, fed, leg, prefill, rules

DAY = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC))
HOUSE = Scope.house()
SUMS = ("legs", "input_tokens", "cached_input_tokens", "output_tokens")
SECONDS = ("queue_seconds", "prefill_seconds", "decode_seconds")


def work(till, window=DAY, scope=HOUSE):
    """(server, tenant) → its row."""
    return {(row.node_id, row.tenant_id): row for row in tenant_work(till.cursor, window, scope)}


def split(row):
    """Work of a row, and where it went: delivered, failed, waiting, rest."""
    where = (row.delivered_tokens, row.failed_tokens, row.waiting_tokens, row.rest_tokens)
    return row.work_tokens, where


def test_the_sums_are_those_of_the_legs():
    """Counts and engine seconds of every leg but the gateway's; independent: SQL over the legs."""
    timed = {"queue_seconds": 0.25, "prefill_seconds": 0.5, "decode_seconds": 4.0}
    till = fed(
        *(leg(f"u{i}", tenant_id=owner, **timed) for i, owner in enumerate(("a", "b", None, "a"))),
        *(prefill("p", **timed), decode("d", **timed), leg("g", stage="gateway", node_id="gw")),
    )
    columns = ("count(*)", "input_tokens", "cached_input_tokens", "output_tokens", *SECONDS)
    sums = ", ".join(c if c == "count(*)" else f"sum({c})" for c in columns)
    (legs,) = till.rows(sums, "leg", where="stage <> 'gateway'")
    rows = work(till).values()
    assert tuple(sum(getattr(row, name) for row in rows) for name in (*SUMS, *SECONDS)) == legs
    assert [row.legs for row in rows if row.tenant_id == "a"] == [2]


def test_each_stage_has_its_own_tokens():
    """p1: 1,000 of input, not its one token; d1: 50 of output, not the prompt; u1: 1,050."""
    found = work(fed(prefill("p"), decode("d"), leg("u")))
    assert {key: split(row)[0] for key, row in found.items()} == {
        ("p1", "t-alder"): 1000,
        ("d1", "t-alder"): 50,
        ("u1", "t-alder"): 1050,
    }
    assert all(row.rest_tokens == row.failed_tokens == 0 for row in found.values())


def test_a_retry_is_failed_work():
    """The first prefill of the key came to no answer: 1,000 of 2,000 tokens."""
    found = work(fed(prefill("p0", finished_at=at(0.5)), prefill("p1"), decode("d")))
    assert split(found["p1", "t-alder"]) == (2000, (1000, 1000, 0, 0))


def test_an_answer_that_a_gateway_bills_is_delivered_work():
    """The engine's answer is set aside as the check: 1,050 tokens that came, none that failed."""
    used = replace(rules(), policy=Policy(billing_source="gateway"))
    ids = {"engine_request_id": "rid-1", "tenant_id": None}
    bill = leg("g", stage="gateway", node_id="gw", engine_request_id="rid-1", finished_at=at(10))
    till = fed(leg("u", **ids), bill, used=used)
    found = {key: split(row) for key, row in work(till).items()}
    assert found["u1", "t-alder"][1][:2] == (1050, 0)
    shares = owner_work(till.cursor, DAY, by=Owner.TENANT, kappa=0)["u1"]
    shares += whole_work(till.cursor, DAY, kappa=0)["u1"]
    assert [sum(s.output_tokens for s in shares if s.failed == lost) for lost in (0, 1)] == [100, 0]


def test_a_half_waits_until_the_late_one_comes():
    """Alone it waits, rest 0; with its decode half it is delivered."""
    till = fed(prefill("p"))
    assert split(work(till)["p1", "t-alder"]) == (1000, (0, 0, 1000, 0))
    till.feed(decode("d"), now=NOW + timedelta(minutes=1))
    assert split(work(till)["p1", "t-alder"]) == (1000, (1000, 0, 0, 0))


def test_a_half_whose_other_never_came_failed():
    """Undelivered once the orphan time has passed: work without an answer."""
    till = fed(prefill("p"))
    till.give_up()
    assert split(work(till)["p1", "t-alder"]) == (1000, (0, 1000, 0, 0))


def test_work_that_a_keys_owner_pays_moves_to_him():
    """The leg names no tenant, its key is t-birch's: −1,050 there, +1,050 here, together 0."""
    directory = Directory(keys=(KeyOwner("k-birch", "t-birch", None),))
    till = fed(leg("u", tenant_id=None, api_key_id="k-birch"), used=rules(directory=directory))
    found = work(till)
    assert split(found["u1", None]) == (1050, (0, 0, 0, 1050))
    assert split(found["u1", "t-birch"]) == (0, (1050, 0, 0, -1050))


def test_work_over_midnight_is_metered_on_one_day_and_billed_on_the_other():
    """Begun at 23:59 of 31 May, finished on 1 June: the rest of both days together is 0."""
    till = fed(leg("u", started_at=at(-60)))
    before = Window(DAY.start_at - timedelta(days=1), DAY.start_at)
    assert split(work(till)["u1", "t-alder"]) == (1050, (0, 0, 0, 1050))
    assert split(work(till, before)["u1", "t-alder"]) == (0, (1050, 0, 0, -1050))
    both = work(till, replace(DAY, start_at=before.start_at))
    assert split(both["u1", "t-alder"]) == (1050, (1050, 0, 0, 0))


def test_a_scope_holds_its_tenant_only():
    """Neither another's work nor nobody's."""
    till = fed(leg("a", tenant_id="a"), leg("b", tenant_id="b"), leg("n", tenant_id=None))
    assert set(work(till, scope=Scope.of("a"))) == {("u1", "a")}
    assert len(work(till)) == 3


def test_a_part_of_a_day_is_refused():
    """The daily roll-up knows no hours; the message says what to ask for."""
    noon = Window(DAY.start_at, DAY.end_at + timedelta(hours=12))
    with pytest.raises(RequestInvalid, match="midnight UTC"):
        work(fed(), noon)


def test_nothing_metered_is_no_row():
    """An empty store, and a tenant without work."""
    assert work(fed()) == {}
    assert TenantWork(node_id="p1", stage="prefill", tenant_id=None).rest_tokens == 0
