"""A chain of hashes: whoever changes, removes or inserts a link breaks every link after it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

GENESIS: Final = "0" * 64  # what the first link of a chain follows


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One event of an issuer. position: 1, 2, … without gap. Hashes are SHA-256 in hex.

    event: made, issued, voided, paid, … of the document `subject`. content_sha256: of what the
    event says.
    """

    position: int
    event: str
    subject: str
    content_sha256: str
    previous_hash: str
    link_hash: str


def next_link(last: Link | None, event: str, *, subject: str, content_sha256: str) -> Link:
    """The link that follows `last`, or the first one."""
    position = last.position + 1 if last else 1
    previous_hash = last.link_hash if last else GENESIS
    return Link(
        position=position,
        event=event,
        subject=subject,
        content_sha256=content_sha256,
        previous_hash=previous_hash,
        link_hash=_hash(previous_hash, str(position), event, subject, content_sha256),
    )


def faults(links: Iterable[Link]) -> list[str]:
    """What is wrong with a chain in the order of its positions; empty if nothing is."""
    found, last = [], None
    for link in links:
        expected = next_link(
            last, link.event, subject=link.subject, content_sha256=link.content_sha256
        )
        if link.position != expected.position:
            found.append(f"link {expected.position} is missing: {link.position} follows")
        elif link.previous_hash != expected.previous_hash:
            found.append(f"link {link.position} does not follow the one before it")
        elif link.link_hash != expected.link_hash:
            found.append(f"link {link.position} ({link.event} {link.subject}) was changed")
        last = link
    return found


def _hash(*parts: str) -> str:
    text = "\n".join(f"{len(part)}:{part}" for part in parts)  # lengths: no two lists look alike
    return hashlib.sha256(text.encode()).hexdigest()
