"""Lines → Arrow and rejects; no line stops another."""

import json
from datetime import UTC, datetime
from typing import Any

from metering.sidecar.batch import Gathered, LegReader, sample_batch, sample_record
from metering.sidecar.part import LEGS, REJECTS, empty_legs, leg_parts, ndjson_parts
from metering.sources.record import NodeIdentity

NODE = NodeIdentity(node_id="p1", stage="prefill", model_id="glm-5.2", pool="a")


def gathered(*records: bytes, kind: str = "sglang_export") -> Gathered:
    found = Gathered()
    offset = 0
    lines = []
    for record in records:
        lines.append((record, f"1.log:{offset}", None))
        offset += len(record) + 1
    reader = LegReader(kind, NODE)
    reader.gather(lines, found)
    reader.finish(found)
    return found


def rows(found: Gathered) -> list[dict[str, Any]]:
    return [row for batch in found.batches for row in batch.to_pylist()]


def test_a_bad_line_among_good_ones_is_set_aside(sglang_line: Any) -> None:
    """By hand: two rows, one reject that names field, format, place and node."""
    found = gathered(sglang_line(1), b'{"torn', sglang_line(2))
    assert [row["input_tokens"] for row in rows(found)] == [1001, 1002]
    (reject,) = [json.loads(text) for text in found.rejects]
    assert (reject["source"], reject["node_id"]) == ("sglang_export", "p1")
    assert reject["position"] == f"1.log:{len(sglang_line(1)) + 1}"
    assert found.lines == 3


def test_a_whole_record_behind_a_torn_one_is_taken(sglang_line: Any) -> None:
    """A failed write leaves no line end: the next record follows on the same line."""
    torn = sglang_line(1)[:100]
    found = gathered(torn + sglang_line(2))
    ((row,), (reject,)) = rows(found), map(json.loads, found.rejects)
    assert (row["input_tokens"], row["source_position"]) == (1002, "1.log:100")
    assert reject["position"] == "1.log:0"
    assert json.loads(reject["record"])["unreadable_bytes"] == 100


def test_a_salvaged_record_has_the_id_of_the_undamaged_line(sglang_line: Any) -> None:
    """The same bytes, the same id: a copy of the file without the damage adds nothing."""
    (whole,) = rows(gathered(sglang_line(2)))
    (salvaged,) = rows(gathered(sglang_line(1)[:50] + sglang_line(2)))
    assert salvaged["event_id"] == whole["event_id"]


def test_an_unreadable_line_is_a_reject_with_its_reason() -> None:
    """What the tail found too long never reaches the parser."""
    found = Gathered()
    LegReader("sglang_export", NODE).gather([(b"x" * 10, "1.log:0", "too long")], found)
    assert json.loads(found.rejects[0])["reason"] == "too long"


def test_a_fault_in_a_parser_is_a_reject(sglang_line: Any) -> None:
    """A parser that breaks its promise costs its line, not the queue."""
    reader = LegReader("sglang_export", NODE)
    good = reader.parse

    def fails(record: bytes, node: NodeIdentity, position: str) -> Any:
        return {}["absent"] if record == b"1" else good(record, node, position)

    reader.parse = fails
    found = Gathered()
    reader.gather([(b"1", "1.log:0", None), (sglang_line(1), "1.log:2", None)], found)
    reader.finish(found)
    assert "failed with KeyError" in json.loads(found.rejects[0])["reason"]
    assert len(rows(found)) == 1


def test_a_row_that_arrow_cannot_hold_is_a_reject() -> None:
    """By hand: 2^63 does not fit BIGINT; the row beside it does."""
    reader = LegReader("sglang_export", NODE)
    numbers = {b"1": 1, b"2": 2**63}
    reader.parse = lambda record, _node, position: {
        "input_tokens": numbers[record],
        "source_position": position,
    }
    found = Gathered()
    reader.gather([(b"2", "1.log:0", None), (b"1", "1.log:2", None)], found)
    reader.finish(found)
    assert [row["input_tokens"] for row in rows(found)] == [1]
    assert json.loads(found.rejects[0])["position"] == "1.log:0"


def test_lines_that_are_no_usage_are_passed_over() -> None:
    """A request log also tells of received requests."""
    found = gathered(b"", b"   ")
    assert (rows(found), found.rejects, found.lines) == ([], [], 2)


def test_ids_that_a_sender_chose_travel_as_json() -> None:
    """An Arrow column cannot say whose id it is; NDJSON with an event_id can."""
    line = {
        "event_id": "mine-1",
        "stage": "unified",
        "model_id": "m",
        "status": "ok",
        "started_at": "2026-11-30T00:00:00Z",
        "finished_at": "2026-11-30T00:00:01Z",
        "input_tokens": 5,
    }
    found = gathered(json.dumps(line).encode(), kind="usage_ndjson")
    (part,) = leg_parts(found)
    assert (part.route, part.content_type) == (LEGS, "application/x-ndjson")
    sent = json.loads(part.body)
    assert (sent["event_id"], sent["input_tokens"], sent["node_id"]) == ("mine-1", 5, "p1")
    assert "foreign" not in sent


def test_rejects_go_first_and_legs_last(sglang_line: Any) -> None:
    """The last body carries the watermark, which covers the rejects too."""
    parts = leg_parts(gathered(b"{", sglang_line(1)))
    assert [part.route for part in parts] == [REJECTS, LEGS]


def test_halves_hold_everything_once(sglang_line: Any) -> None:
    """By hand: 5 records are cut into 2 and 3; one cannot be cut."""
    (part,) = leg_parts(gathered(*[sglang_line(number) for number in range(5)]))
    assert [half.records for half in part.halves()] == [2, 3]
    (one,) = leg_parts(gathered(sglang_line(0)))
    assert one.halves() == ()
    (lines,) = ndjson_parts(REJECTS, [b"1", b"2", b"3"])
    assert [half.body for half in lines.halves()] == [b"1\n", b"2\n3\n"]
    assert ndjson_parts(REJECTS, [b"1"])[0].halves() == ()


def test_bodies_of_lines_are_bounded() -> None:
    """By hand: 3 MiB in lines of 1 MiB make bodies of at most 2 MiB."""
    parts = ndjson_parts(REJECTS, [b"x" * 1024 * 1024] * 3)
    assert [part.records for part in parts] == [2, 1]


def test_an_empty_batch_has_the_schema() -> None:
    """It moves the watermark and nothing else."""
    assert empty_legs().records == 0


def test_samples_keep_their_time() -> None:
    """Through the spool's JSON and back, to the microsecond; what was not said stays NULL."""
    at = datetime(2026, 11, 30, 1, 2, 3, 4, UTC)
    row = {"sampled_at": at, "node_id": "p1", "source": "dcgm", "power_watts": 300.5}
    (back,) = sample_batch([sample_record(row)]).to_pylist()
    assert (back["sampled_at"], back["power_watts"]) == (at, 300.5)
    assert back["running_requests"] is None
