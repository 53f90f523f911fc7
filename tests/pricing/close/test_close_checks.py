"""What is accepted is accepted by name and with a reason."""

import pytest

from pricing.close_checks import Acceptance, Blocker


def test_only_what_is_named_is_accepted():
    """The same kind of another tenant still blocks."""
    one = Blocker(kind="unpriced", tenant_id="t-alder", count=1)
    other = Blocker(kind="unpriced", tenant_id="t-birch", count=1)
    accepted = Acceptance(names=frozenset({"t-alder:unpriced"}), reason="retired model")
    assert accepted.splits([one, other]) == ([other], [one])


def test_a_node_is_accepted_by_its_name():
    """It holds up everybody."""
    assert Blocker(kind="node", node_id="p01", count=1).name == "node:p01"


def test_a_backlog_cannot_be_accepted():
    """It ends by itself; accepting it would bill part of a month."""
    backlog = Blocker(kind="unsettled", count=5)
    names = frozenset({backlog.name})
    assert Acceptance(names=names, reason="x").splits([backlog]) == ([backlog], [])


def test_an_acceptance_without_reason_is_refused():
    """The reason is what an auditor reads."""
    with pytest.raises(ValueError, match="expected a reason"):
        Acceptance(names=frozenset({"t-alder:held"}), reason=" ")
