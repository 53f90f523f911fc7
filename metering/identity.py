"""Who a leg belongs to: labels and headers → tenant, project, key, bounded and visible.

Labels are client input unless a gateway overwrites them (docs/pd-accounting.md, trap 18): they may
be long, many, malformed or full of control characters. None of that loses the usage: what cannot be
stored as it came is stored in a bounded, printable form that no other value shares.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from metering.usage import LABELS_MAX, TEXT_LENGTH_MAX

UNATTRIBUTED: Final = "unattributed"  # how usage without tenant is shown; stored as NULL
MALFORMED_LABEL: Final = "malformed_labels"  # holds labels that are no text-to-text object
DROPPED_LABEL: Final = "dropped_labels"  # how many labels were above the limit

_DIGEST_CHARACTERS: Final = 16
_KEPT_CHARACTERS: Final = 128  # of a text that had to be changed


class Owner(NamedTuple):
    """Who asked for the work, as it came; None is unattributed."""

    tenant_id: str | None
    project_id: str | None
    api_key_id: str | None
    service_tier: str | None
    labels: dict[str, str] | None


class LabelNames(NamedTuple):
    """Which label says what. service_tier None: no label decides the tier."""

    tenant: str = "tenant"
    project: str = "project"
    api_key: str = "api_key_id"
    service_tier: str | None = None


def bounded(text: str) -> str:
    """`text` itself if it is printable and at most `TEXT_LENGTH_MAX` characters, else a stand-in.

    The stand-in is the start of the text with every unprintable character replaced, `~` and 64 bits
    of the text's SHA-256, so two different texts never become one tenant.
    """
    if len(text) <= TEXT_LENGTH_MAX and text.isprintable():
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    visible = "".join(c if c.isprintable() else "\ufffd" for c in text[:_KEPT_CHARACTERS])
    return f"{visible}~{digest[:_DIGEST_CHARACTERS]}"


def bounded_value(value: object) -> str | None:
    """A label's value as bounded text; None for a missing or empty one, JSON for a structure."""
    if isinstance(value, str):
        return bounded(value) if value else None
    if value is None:
        return None
    return bounded(_as_json(value))


def clean_labels(labels: object) -> dict[str, str]:
    """Labels as a text-to-text map of at most `LABELS_MAX` entries; malformed ones stay visible."""
    if not labels:
        return {}
    if not isinstance(labels, Mapping):
        return {MALFORMED_LABEL: bounded(_as_json(labels))}
    clean: dict[str, str] = {}
    for name, value in labels.items():
        text = bounded_value(value)
        if text is not None:
            clean[bounded(str(name))] = text
    if len(clean) <= LABELS_MAX:
        return clean
    kept = dict(list(clean.items())[: LABELS_MAX - 1])
    return kept | {DROPPED_LABEL: str(len(clean) - len(kept))}


def owner_of(labels: object, names: LabelNames) -> Owner:
    """Tenant, project, key and tier from the labels that `names` points at; the rest as labels."""
    if not labels:
        return Owner(None, None, None, None, None)
    if not isinstance(labels, Mapping):
        return Owner(None, None, None, None, clean_labels(labels))
    rest = dict(labels)
    tenant = bounded_value(rest.pop(names.tenant, None))
    project = bounded_value(rest.pop(names.project, None))
    api_key = bounded_value(rest.pop(names.api_key, None))
    tier = bounded_value(rest.pop(names.service_tier, None)) if names.service_tier else None
    return Owner(tenant, project, api_key, tier, clean_labels(rest) or None)


def labels_from_json(text: str | bytes) -> object:
    """The value of a header such as x-custom-labels: its JSON, or the text as it came."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text if isinstance(text, str) else text.decode("utf-8", "replace")
    return value


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return repr(type(value))
