"""Usage that has just come in is settled within a moment: no month waits for that."""

from dashboard.close import outcome_of


def tenant(outcome, *kinds):
    """A tenant as GET /v1/close tells it."""
    return {"outcome": outcome, "blockers": [{"kind": kind} for kind in kinds]}


def test_a_wait_for_the_settler_alone_blocks_nobody():
    """While traffic is live a part of it is always on its way."""
    assert outcome_of(tenant("blocked", "unsettled")) == "ready"


def test_what_needs_a_person_blocks():
    """With or without usage on its way."""
    assert outcome_of(tenant("blocked", "unpriced", "unsettled")) == "blocked"
    assert outcome_of(tenant("blocked", "node")) == "blocked"


def test_other_outcomes_stay():
    """Closed stays closed; a month that runs has no blockers."""
    assert outcome_of(tenant("already_closed")) == "already_closed"
    assert outcome_of(tenant("not_ended")) == "not_ended"
