"""The ledger's aggregates: dates do not overlap, texts do not change, claims are held once."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from pricing.errors import Conflict, NotFound, RequestInvalid
from pricing.ledger.cost_centres import (
    Assignment,
    CostCentre,
    add_cost_centre,
    assign,
    list_assignments,
)
from pricing.ledger.decisions import decide, last_decisions
from pricing.ledger.directory import read_directory
from pricing.ledger.idempotency import Answer, recall, remember
from pricing.ledger.job_runs import LEASE, claim, finish, renew
from pricing.ledger.periods import begin_close, end_close
from pricing.ledger.policies import add_policy, policy_at
from pricing.ledger.price_books import add_revision, published_books
from pricing.ledger.projects import Project, add_project
from pricing.ledger.rows import Page
from pricing.ledger.tables import BookState
from pricing.ledger.tenants import Tenant, add_tenant, get_tenant, list_tenants
from pricing.ledger.usage_keys import UsageKey, add_usage_key
from pricing.scope import Scope

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def change(ledger, alder):
    """A write transaction with a project and two cost centres of t-alder in it."""
    with ledger.write(actor="cli", at=NOW) as open_change:
        own = {"tenant_id": alder.tenant_id, "created_at": NOW}
        add_project(open_change, Project(**own, project_id="search", name="Search"))
        for number in ("4711", "4712"):
            add_cost_centre(open_change, CostCentre(**own, cost_centre_id=number, name=number))
        yield open_change


def charged(number, from_at, until_at=None):
    return Assignment(
        assignment_id=f"{number}-{from_at:%d}",
        tenant_id="t-alder",
        project_id="search",
        cost_centre_id=number,
        from_at=from_at,
        until_at=until_at,
    )


def test_a_later_assignment_ends_the_open_one(change):
    """No day belongs to two cost centres, and none between them to neither."""
    assign(change, charged("4711", NOW))
    assign(change, charged("4712", NOW + 5 * DAY))
    found = list_assignments(
        change.connection, Scope.of("t-alder"), project_id="search", page=Page(9)
    )
    assert [(each.cost_centre_id, each.from_at, each.until_at) for each in found] == [
        ("4711", NOW, NOW + 5 * DAY),
        ("4712", NOW + 5 * DAY, None),
    ]


@pytest.mark.parametrize(("start", "end"), [(0, None), (-1, 1), (4, 6), (-1, None), (5, 6)])
def test_dates_that_overlap_are_refused(change, start, end):
    """One assignment from day 0 until day 10 stands; each of these shares a day with it."""
    assign(change, charged("4711", NOW, NOW + 10 * DAY))
    until = None if end is None else NOW + end * DAY
    with pytest.raises(Conflict, match="4711"):
        assign(change, charged("4712", NOW + start * DAY, until))


def test_the_same_book_text_is_one_revision(change):
    """Publishing twice, as a retry does, publishes once; another text is another revision."""
    publish = {"currency": "CNY", "state": BookState.PUBLISHED}
    first = add_revision(change, "list", toml_text="a", **publish)
    assert add_revision(change, "list", toml_text="a", **publish) == first
    second = add_revision(change, "list", toml_text="b", **publish)
    assert (first.revision, second.revision) == (1, 2)
    assert published_books(change.connection) == [second]


def test_a_draft_prices_nothing_until_it_is_published(change):
    """States move forward; a published text does not become a draft again."""
    draft = add_revision(change, "list", toml_text="a", currency="CNY", state=BookState.DRAFT)
    assert published_books(change.connection) == []
    published = add_revision(
        change, "list", toml_text="a", currency="CNY", state=BookState.PUBLISHED
    )
    assert published == replace(draft, state="published", published_at=NOW, published_by="cli")
    with pytest.raises(Conflict):
        add_revision(change, "list", toml_text="a", currency="CNY", state=BookState.DRAFT)


def test_a_book_keeps_its_currency(change):
    """V5: sums are per currency; a book that changes it would add CNY to USD."""
    add_revision(change, "list", toml_text="a", currency="CNY", state=BookState.DRAFT)
    with pytest.raises(Conflict, match="CNY"):
        add_revision(change, "list", toml_text="b", currency="USD", state=BookState.DRAFT)


def test_a_policy_is_in_force_from_its_date(change):
    """The last text whose date has come."""
    add_policy(change, "a", effective_from=NOW)
    add_policy(change, "b", effective_from=NOW + DAY)
    assert policy_at(change.connection, NOW - DAY) is None
    assert policy_at(change.connection, NOW).toml_text == "a"
    assert policy_at(change.connection, NOW + DAY).toml_text == "b"


def test_a_job_is_claimed_once_for_a_period(change):
    """Two owners wake up: one gets it; another period is another claim."""
    first = claim(change, "export", period="2026-09", owner="a")
    assert first is not None
    assert claim(change, "export", period="2026-09", owner="b") is None
    assert claim(change, "export", period="2026-10", owner="b") is not None
    assert finish(change, first, outcome={"files": 2})
    assert claim(change, "export", period="2026-09", owner="b") is None
    assert claim(change, "export", period="2026-09", owner="b", again=True).attempts == 2


def test_a_dead_owners_claim_passes_on_and_he_notices(ledger):
    """After the lease another takes over; the first, back from the dead, must stop."""
    with ledger.write(actor="a", at=NOW) as change:
        first = claim(change, "export", period="2026-09", owner="a")
    with ledger.write(actor="b", at=NOW + LEASE) as change:
        second = claim(change, "export", period="2026-09", owner="b")
        assert second.attempts == 2
        assert not renew(change, first)
        assert not finish(change, first)
        assert renew(change, second)


def test_a_failed_job_may_be_claimed_again(change):
    """A failure is not the end of the period."""
    run = claim(change, "export", period="2026-09", owner="a")
    finish(change, run, error="disk full")
    assert claim(change, "export", period="2026-09", owner="b").error is None


def test_a_closed_month_stays_closed(change):
    """V8; and a close that was interrupted keeps its first mark."""
    month = date(2026, 9, 1)
    begin_close(change, "t-alder", month=month, settle_mark=7)
    assert begin_close(change, "t-alder", month=month, settle_mark=9).settle_mark == 7
    end_close(change, "t-alder", month=month)
    with pytest.raises(Conflict, match="closed"):
        begin_close(change, "t-alder", month=month, settle_mark=9)
    with pytest.raises(Conflict, match="not begun"):
        end_close(change, "t-alder", month=date(2026, 10, 1))


def test_the_last_decision_about_a_finding_counts(ledger):
    """The earlier one stays on record."""
    for day, word in ((0, "accepted"), (1, "reopened")):
        with ledger.write(actor="cli", at=NOW + day * DAY) as change:
            decide(change, "f1", decision=word, reason="r", tenant_id=None)
    with ledger.read() as connection:
        assert last_decisions(connection)["f1"].decision == "reopened"


def test_an_idempotency_key_recalls_its_answer_and_no_other_request(change):
    """The same key with another body is a mistake of the caller, not a repeat."""
    remember(change, "k", request_sha256="1", answer=Answer(201, {"id": "x"}))
    known = {"idempotency_key": "k", "request_sha256": "1"}
    assert recall(change.connection, "cli", **known) == Answer(201, {"id": "x"})
    assert recall(change.connection, "another", **known) is None
    with pytest.raises(Conflict):
        recall(change.connection, "cli", idempotency_key="k", request_sha256="2")


def test_a_zone_that_does_not_exist_is_refused():
    """The month's edges come from it."""
    with pytest.raises(RequestInvalid, match="IANA"):
        Tenant(tenant_id="t", name="t", billing_zone="Mars", currency="CNY", created_at=NOW)


def test_a_scope_sees_its_tenant_only(change):
    """The same answer for another tenant's row as for none."""
    add_tenant(
        change,
        Tenant(tenant_id="t-birch", name="B", billing_zone="UTC", currency="CNY", created_at=NOW),
    )
    mine = list_tenants(change.connection, Scope.of("t-birch"), Page(9))
    assert [each.tenant_id for each in mine] == ["t-birch"]
    with pytest.raises(NotFound):
        get_tenant(change.connection, Scope.of("t-birch"), "t-alder")


def test_what_the_settler_is_told(change):
    """September in Asia/Shanghai is 2026-08-31T16:00Z until 2026-09-30T16:00Z (UTC+8, no DST).

    Asia/Kolkata is 5 h 30 min off UTC, so its buckets are quarter hours.
    """
    kolkata = {"tenant_id": "t-k", "name": "K", "billing_zone": "Asia/Kolkata", "currency": "INR"}
    add_tenant(change, Tenant(**kolkata, created_at=NOW))
    own = {"tenant_id": "t-alder", "project_id": "search"}
    add_usage_key(change, UsageKey(**own, api_key_id="sk-1", created_at=NOW))
    assign(change, charged("4711", NOW))
    begin_close(change, "t-alder", month=date(2026, 9, 1), settle_mark=7)
    told = read_directory(change.connection, at=NOW)
    assert told.quarter_tenants == {"t-k"}
    assert told.keys == (("sk-1", "t-alder", "search"),)
    assert told.projects[0][:4] == ("t-alder", "search", "4711", NOW)
    assert told.closed[0].start_at == datetime(2026, 8, 31, 16, tzinfo=UTC)
    assert told.closed[0].end_at == datetime(2026, 9, 30, 16, tzinfo=UTC)
