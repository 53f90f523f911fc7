"""The chain finds a changed, a missing and a swapped link."""

from dataclasses import replace

import pytest

from pricing.hash_chain import faults, next_link


def chain(count):
    """A chain of so many links."""
    links = []
    for number in range(count):
        last = links[-1] if links else None
        links.append(next_link(last, "made", subject=f"I-{number}", content_sha256="ab" * 32))
    return links


def test_a_whole_chain_has_no_fault():
    """Positions 1, 2, 3."""
    assert faults(chain(3)) == []
    assert [link.position for link in chain(3)] == [1, 2, 3]


@pytest.mark.parametrize("field", ["event", "subject", "content_sha256"])
def test_a_changed_link_is_found(field):
    """Any field of it."""
    links = chain(3)
    links[1] = replace(links[1], **{field: "other"})
    assert faults(links) == [f"link 2 ({links[1].event} {links[1].subject}) was changed"]


def test_a_link_that_was_made_anew_breaks_the_next():
    """Its own hash is right; the next one does not follow it."""
    links = chain(3)
    links[1] = next_link(links[0], "made", subject="forged", content_sha256="00" * 32)
    assert faults(links) == ["link 3 does not follow the one before it"]


def test_a_missing_link_is_found():
    """Of three, the second was removed."""
    links = chain(3)
    assert faults([links[0], links[2]]) == ["link 2 is missing: 3 follows"]
