"""What is stored, repeated, in conflict or reattributed (docs/architecture.md, V3)."""

import pyarrow as pa
import pytest

from metering.store.batches import Listed
from metering.store.connect import Store
from metering.usage import foreign_event_id
from tests.metering.store.leg_rows import NOW, at, batch, counts, leg, rows, send

A_DAY = 86_400


def test_a_resend_is_a_duplicate(store: Store) -> None:
    """Contract §2: same event_id, same content_hash → duplicate; one row stays."""
    assert counts(send(store, batch(leg("a")))[0]) == (1, 0, 0, 0, 0)
    assert counts(send(store, batch(leg("a")))[0]) == (0, 1, 0, 0, 0)
    assert rows(store, "SELECT count(*) FROM leg") == [(1,)]


def test_a_repeat_within_one_batch_is_a_duplicate(store: Store) -> None:
    """The first of the batch stands for those after it."""
    [answer] = send(store, batch(leg("a"), leg("b"), leg("a")))
    assert counts(answer) == (2, 1, 0, 0, 0)


def test_a_repeat_in_another_batch_of_the_same_commit_is_a_duplicate(store: Store) -> None:
    """Two requests that meet in one transaction are answered as if one came after the other."""
    first, second = send(store, batch(leg("a"), leg("b")), batch(leg("c"), leg("b"), leg("a")))
    assert (counts(first), counts(second)) == ((2, 0, 0, 0, 0), (1, 2, 0, 0, 0))


@pytest.mark.parametrize(
    "change",
    [
        {"input_tokens": 1001},
        {"cached_input_tokens": None},
        {"cached_explicit_tokens": 0},
        {"cache_write_tokens": 1},
        {"cache_write_1h_tokens": 1},
        {"output_tokens": 51},
        {"reasoning_tokens": 0},
        {"status": "aborted"},
        {"model_id": "m-lake"},
        {"started_at": at(-9.000001)},
        {"finished_at": at(0.000001)},
        {"engine_request_id": "r1"},
        {"join_key": "r1"},
        {"client_request_id": "r1"},
    ],
    ids=str,
)
@pytest.mark.parametrize("together", [True, False])
def test_other_content_is_a_conflict(
    store: Store, change: dict[str, object], *, together: bool
) -> None:
    """Contract §1: the content hash covers ids, times, counts, status and model; NULL is not 0."""
    first, second = batch(leg("a")), batch(leg("a", **change))
    answers = send(store, first, second) if together else send(store, first) + send(store, second)
    assert counts(answers[1]) == (0, 0, 1, 0, 0)
    assert answers[1].records[0].outcome == "conflict"
    assert rows(store, "SELECT input_tokens, status FROM leg") == [(1000, "ok")]
    assert rows(store, "SELECT kind FROM quarantine") == [("conflict",)]


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"team": "x"}},
        {"pool": "other"},
        {"engine_version": "9"},
        {"source_position": "copy:1"},
        {"queue_seconds": 1.0},
        {"region": "eu"},
    ],
    ids=str,
)
def test_what_configuration_or_a_newer_parser_adds_is_no_conflict(
    store: Store, change: dict[str, object]
) -> None:
    """Contract §1: the hash covers only what the engine stated."""
    send(store, batch(leg("a")))
    assert counts(send(store, batch(leg("a", **change)))[0]) == (0, 1, 0, 0, 0)


@pytest.mark.parametrize(
    ("change", "field"), [({"node_id": "u2"}, "node_id"), ({"tenant_id": None}, "tenant_id")]
)
@pytest.mark.parametrize("together", [True, False])
def test_the_same_event_for_another_owner_is_reattributed(
    store: Store, change: dict[str, object], field: str, *, together: bool
) -> None:
    """Contract §2: same id with other node or tenant; the first stands."""
    first, second = batch(leg("a")), batch(leg("a", **change))
    answers = send(store, first, second) if together else send(store, first) + send(store, second)
    assert counts(answers[1]) == (0, 0, 0, 1, 0)
    reason = "stored already for node u1, tenant t-alder; the first stands"
    assert answers[1].records == (Listed(0, "reattributed", field, reason),)
    assert rows(store, "SELECT node_id, tenant_id FROM leg") == [("u1", "t-alder")]


def test_a_rejected_row_does_not_take_the_id(store: Store) -> None:
    """An unreadable record claims nothing (case C06): the good one after it is stored."""
    [answer] = send(store, batch(leg("a", stage="x"), leg("a")))
    assert counts(answer) == (1, 0, 0, 0, 1)


def test_a_repeat_is_found_whatever_else_its_batch_holds(store: Store) -> None:
    """Facts: one bad time must not hide a repeat nor cause a scan; each day is looked up."""
    far = [leg(f"old {n}", finished_at=at(-A_DAY * n)) for n in range(1, 60)]
    send(store, batch(leg("a"), *far))
    [answer] = send(store, batch(*far, leg("b", finished_at=at(-A_DAY * 300)), leg("a")))
    assert counts(answer) == (1, 60, 0, 0, 0)


def test_a_foreign_id_is_found_at_any_time(store: Store) -> None:
    """Contract §2: a repeat of a sender's own id with another time is a conflict, not a new leg."""
    send(store, batch(leg("", event_id="evt-1"), foreign=True))
    moved = leg("", event_id="evt-1", finished_at=at(-A_DAY * 200))
    assert counts(send(store, batch(moved, foreign=True))[0]) == (0, 0, 1, 0, 0)
    again = leg("", event_id="evt-1")
    assert counts(send(store, batch(again, foreign=True))[0]) == (0, 1, 0, 0, 0)


def test_two_senders_may_choose_the_same_id(store: Store) -> None:
    """Contract §2: ids chosen by a sender are unique within that sender."""
    mine, yours = (
        batch(leg("", event_id="1"), foreign=True, sender=sender) for sender in ("key-1", "key-2")
    )
    assert [counts(answer) for answer in send(store, mine, yours)] == [(1, 0, 0, 0, 0)] * 2


@pytest.mark.parametrize("sender_id", ["evt-1", "ключ 键 🔑", "a'b\"c\\", "\x00", "", "0" * 32])
def test_foreign_ids_are_the_same_in_sql_and_python(store: Store, sender_id: str) -> None:
    """metering.usage.foreign_event_id is the definition."""
    send(store, batch(leg("", event_id=sender_id), foreign=True, sender="tenant ä"))
    expected = foreign_event_id("tenant ä", sender_id)
    assert [row[0].hex for row in rows(store, "SELECT event_id FROM leg")] == [expected]


def test_foreign_and_own_ids_may_share_a_batch(store: Store) -> None:
    """A usage file holds lines with and without an id of their own."""
    both = batch(leg("a"), leg("", event_id="x"), foreign=pa.array([False, True]))
    assert counts(send(store, both)[0]) == (2, 0, 0, 0, 0)
    assert rows(store, "SELECT sender, sender_id FROM foreign_id") == [("key-1", "x")]


def test_ingest_sequence_has_no_gap(store: Store) -> None:
    """1..n in commit order, whatever was rejected or repeated between."""
    send(store, batch(leg("a"), leg("b", stage="x"), leg("c")))
    send(store, batch(leg("a"), leg("d")), batch(leg("e"), leg("d")))
    assert rows(store, "SELECT ingest_seq FROM leg ORDER BY ALL") == [(1,), (2,), (3,), (4,)]


def test_a_resent_bad_record_lands_in_quarantine_once(store: Store) -> None:
    """The quarantine id is derived from kind and record."""
    bad = batch(leg("a", input_tokens=-1), leg("a", input_tokens=-1))
    for _ in range(2):
        assert counts(send(store, bad)[0]) == (0, 0, 0, 0, 2)
    assert rows(store, "SELECT field, received_at FROM quarantine") == [
        ("input_tokens", NOW.replace(tzinfo=None))
    ]
