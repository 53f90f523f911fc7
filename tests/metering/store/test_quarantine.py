"""A rejected record is listed, corrected, stored; what it was stays on record."""

import json
from typing import Any

import pytest

from metering.errors import NotResubmittable, UsageInvalid
from metering.store.batches import Refused
from metering.store.connect import Store
from metering.store.quarantine import Correction, resubmit
from tests.metering.store.leg_rows import NOW, batch, counts, leg, rows, send


def correction(store: Store, **change: Any) -> Correction:
    """The one record in quarantine with these fields changed."""
    [(quarantine_id, record)] = rows(store, "SELECT quarantine_id, record FROM quarantine")
    fields = json.loads(record) if record.startswith("{") and record.endswith("}") else {}
    return Correction(
        quarantine_id=quarantine_id,
        record=json.dumps(fields | change),
        reason="the gateway wrote a negative count",
        decided_by="key-9",
        decided_at=NOW,
    )


@pytest.mark.parametrize("foreign", [False, True])
def test_a_corrected_record_is_stored_under_its_own_id(store: Store, *, foreign: bool) -> None:
    """A resend of the corrected record by its sender is then a duplicate, at whatever time."""
    bad = leg("a", input_tokens=-1, labels={"team": "x"}, e2e_seconds=0.25)
    assert counts(send(store, batch(bad, foreign=foreign))[0]) == (0, 0, 0, 0, 1)
    assert resubmit(store.cursor(), correction(store, input_tokens=7)).accepted == 1
    good = bad | {"input_tokens": 7}
    assert counts(send(store, batch(good, foreign=foreign))[0]) == (0, 1, 0, 0, 0)
    assert rows(store, "SELECT input_tokens, labels, e2e_seconds FROM leg") == [
        (7, {"team": "x"}, 0.25)
    ]
    assert rows(store, "SELECT decision, decided_by FROM quarantine_decision") == [
        ("resubmitted", "key-9")
    ]


def test_a_correction_that_is_still_wrong_changes_nothing(store: Store) -> None:
    """Field and reason once more; no decision, no second quarantine row."""
    send(store, batch(leg("a", input_tokens=-1)))
    with pytest.raises(UsageInvalid, match="input_tokens"):
        resubmit(store.cursor(), correction(store, input_tokens=-2))
    with pytest.raises(UsageInvalid, match="keep the record's event_id"):
        resubmit(store.cursor(), correction(store, input_tokens=1, event_id=None))
    assert rows(store, "SELECT count(*) FROM quarantine_decision") == [(0,)]
    assert rows(store, "SELECT count(*) FROM quarantine") == [(1,)]


def test_a_record_that_was_not_even_json_can_be_written_anew(store: Store) -> None:
    """Its id follows from the bytes that came, so it is stored once however often it is sent."""
    send(store, batch(refused=(Refused(index=0, field="record", reason="torn", record='{"st'),)))
    fields = {k: v for k, v in leg("").items() if k != "event_id"}
    times = {name: fields[name].isoformat() for name in ("started_at", "finished_at")}
    assert resubmit(store.cursor(), correction(store, **(fields | times))).accepted == 1


def test_only_open_rejected_records_can_be_corrected(store: Store) -> None:
    """A conflict is decided, not corrected; a record is stored once."""
    send(store, batch(leg("a")), batch(leg("a", input_tokens=1)))
    with pytest.raises(NotResubmittable, match="the record is conflict"):
        resubmit(store.cursor(), correction(store))
    unknown = Correction(quarantine_id="x", record="{}", reason="", decided_by="", decided_at=NOW)
    with pytest.raises(NotResubmittable, match="no record 'x'"):
        resubmit(store.cursor(), unknown)


def test_a_record_is_corrected_once(store: Store) -> None:
    """The second person is told that it was resubmitted."""
    send(store, batch(leg("a", input_tokens=-1)))
    again = correction(store, input_tokens=1)
    resubmit(store.cursor(), again)
    with pytest.raises(NotResubmittable, match="the record is resubmitted"):
        resubmit(store.cursor(), again)
