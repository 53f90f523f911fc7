"""Labels and headers → owner; forged and malformed ones stay visible and bounded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.identity import (
    DROPPED_LABEL,
    MALFORMED_LABEL,
    LabelNames,
    bounded,
    clean_labels,
    labels_from_json,
    owner_of,
)
from metering.usage import LABELS_MAX, TEXT_LENGTH_MAX

NAMES = LabelNames()


def test_labels_name_the_owner() -> None:
    """The three configured labels are taken out; the rest stay labels."""
    owner = owner_of({"tenant": "acme", "api_key_id": "k-1", "project": "p", "team": "x"}, NAMES)
    assert owner[:4] == ("acme", "p", "k-1", None)
    assert owner.labels == {"team": "x"}


def test_label_names_are_configurable() -> None:
    """A service tier comes from a label only where one is named."""
    labels = {"org": "acme", "tier": "batch"}
    assert owner_of(labels, LabelNames(tenant="org", service_tier="tier")).service_tier == "batch"
    assert owner_of(labels, LabelNames(tenant="org")).service_tier is None


@pytest.mark.parametrize("labels", [None, {}, ""])
def test_no_labels_is_no_owner(labels: object) -> None:
    """Unattributed is None, not an empty text."""
    assert owner_of(labels, NAMES) == (None, None, None, None, None)


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_tenant_is_no_tenant(value: object) -> None:
    """SGLang writes "" for a label that was not set."""
    assert owner_of({"tenant": value}, NAMES).tenant_id is None


def test_a_number_is_a_readable_id() -> None:
    """A gateway may send ids as JSON numbers."""
    assert owner_of({"tenant": 42}, NAMES).tenant_id == "42"


@pytest.mark.parametrize("labels", ["acme", ["acme"], 7])
def test_malformed_labels_stay_visible(labels: object) -> None:
    """What is no object of labels names nobody but can be seen."""
    owner = owner_of(labels, NAMES)
    assert owner.tenant_id is None
    assert owner.labels is not None
    assert set(owner.labels) == {MALFORMED_LABEL}


def test_long_and_unprintable_texts_are_replaced_and_stay_different() -> None:
    """Two forged ids that look alike never become one tenant."""
    long = ["a" * 600, "a" * 601, "acme\n", "acme\r", "acme\x00", "acme\u202e", "acme\ud800"]
    short = [bounded(text) for text in long]
    assert len(set(short)) == len(long)
    assert all(text.isprintable() and len(text) <= TEXT_LENGTH_MAX for text in short)
    assert short[2].startswith("acme\ufffd~")


def test_too_many_labels_are_counted() -> None:
    """40 labels: 31 are kept and the other 9 counted."""
    labels = clean_labels({f"l{i:02}": "x" for i in range(40)})
    assert len(labels) == LABELS_MAX
    assert labels[DROPPED_LABEL] == "9"


def test_a_header_that_is_no_json_is_kept_as_text() -> None:
    """x-custom-labels holds JSON; anything else is malformed, not an error."""
    assert labels_from_json('{"tenant": "acme"}') == {"tenant": "acme"}
    assert labels_from_json("tenant=acme") == "tenant=acme"
    assert labels_from_json("[" * 100_000) == "[" * 100_000


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=700)


@given(
    st.dictionaries(st.text(max_size=700), VALUES | st.lists(VALUES, max_size=3), max_size=50)
    | VALUES
)
def test_any_labels_are_bounded(labels: object) -> None:
    """Whatever a client sends, the row holds at most 32 short printable labels."""
    owner = owner_of(labels, NAMES)
    texts = [*owner[:4], *(owner.labels or {}).keys(), *(owner.labels or {}).values()]
    assert len(owner.labels or {}) <= LABELS_MAX
    for text in texts:
        assert text is None or (len(text) <= TEXT_LENGTH_MAX and text.isprintable())
