"""What a lane does with each answer; the source is a list, the collector is a real server."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from metering.sidecar.clock import Clock
from metering.sidecar.lane import Intake, Lane, Pace
from metering.sidecar.part import LEGS, NdjsonPart, Part
from metering.sidecar.rejected import RejectedFolder
from metering.sidecar.ship import Answer, Shipper, Verdict
from tests.metering.sidecar.stub import StubCollector


class ListSource:
    """Gives its batches in turn and remembers what was committed."""

    name = "list"
    complete_through: datetime | None = None
    trouble = ""
    delivered_at: str | None = None

    def __init__(self, *batches: list[dict[str, Any]]) -> None:
        self.batches = list(batches)
        self.totals: dict[str, int] = {}
        self.committed: list[dict[str, int]] = []

    def unread_bytes(self) -> int:
        return 0

    def read(self) -> Intake | None:
        if not self.batches:
            return None
        lines = [json.dumps(row).encode() for row in self.batches.pop(0)]
        parts: list[Part] = [NdjsonPart(LEGS, lines)]
        return Intake(parts)

    def commit(self, outcomes: Mapping[str, int]) -> None:
        self.committed.append(dict(outcomes))


Make = Callable[..., Lane]


@pytest.fixture
def lane(collector: StubCollector, tmp_path: Path) -> Iterator[Make]:
    """A function that makes a lane for a source; time stands still unless told."""
    shipper = Shipper((collector.url,), lambda: "secret", ca_file="", clock=Clock())

    def make(source: ListSource, now: list[float] | None = None, bytes_max: int = 10_000) -> Lane:
        clock = Clock(monotonic=lambda: (now or [0.0])[0])
        rejected = RejectedFolder(tmp_path / "rejected", bytes_max)
        pace = Pace(1.0, 60.0, 60.0)
        return Lane(source, shipper, rejected, pace, clock, lambda _through, _lane: {})

    yield make
    shipper.close()


ROWS = [{"event_id": str(number)} for number in range(5)]


def test_the_cursor_moves_after_the_answer(collector: StubCollector, lane: Make) -> None:
    """Delivered, then committed, then the next."""
    source = ListSource(ROWS[:2], ROWS[2:])
    worker = lane(source)
    assert [worker.step(), worker.step(), worker.step()] == [True, True, False]
    assert collector.legs == ROWS
    assert len(source.committed) == 2


@pytest.mark.parametrize("status", [0, 408, 429, 500, 503])
def test_a_failed_attempt_is_repeated_later(
    collector: StubCollector, lane: Make, status: int
) -> None:
    """Nothing is read or committed meanwhile; at the next attempt it arrives."""
    now = [0.0]
    source = ListSource(ROWS, [])
    worker = lane(source, now)
    collector.orders = [(status, {})]
    assert [worker.step(), worker.step()] == [False, False]
    assert (source.committed, len(source.batches)) == ([], 1)
    now[0] = 1.0
    assert worker.step()
    assert collector.legs == ROWS


def test_retry_after_is_honoured(collector: StubCollector, lane: Make) -> None:
    """By hand: 30 s asked for, and up to a tenth more against a stampede."""
    worker = lane(ListSource(ROWS))
    collector.orders = [(429, {"Retry-After": "30"})]
    worker.step()
    assert 30.0 < worker.retry_at <= 33.0


def test_waits_double_up_to_a_bound() -> None:
    """By hand: 1, 2, 4 … s, at most 60, each between a half and the whole of it."""
    pace = Pace(1.0, 60.0, 30.0)
    retry = Answer(Verdict.RETRY, "u")
    for failures, whole in ((1, 1), (2, 2), (3, 4), (7, 60), (5000, 60)):
        assert whole / 2 <= pace.wait(failures, retry) <= whole
    assert pace.wait(1, Answer(Verdict.KEY_REFUSED, "u")) == 30.0


def test_a_refused_key_keeps_the_batch(collector: StubCollector, lane: Make) -> None:
    """401: tried again each minute, with the key as it then is."""
    now = [0.0]
    worker = lane(ListSource(ROWS), now)
    collector.key = "another"
    worker.step()
    assert worker.retry_at == 60.0
    collector.key, now[0] = "secret", 60.0
    worker.step()
    assert collector.legs == ROWS


def test_a_body_that_is_too_large_is_halved(
    collector: StubCollector, lane: Make, tmp_path: Path
) -> None:
    """Bodies of one record pass, larger ones are answered 413: all arrive, in order."""
    collector.refuse = lambda _path, rows: (413, {}) if len(rows) > 1 else None
    source = ListSource(ROWS)
    worker = lane(source)
    while not source.committed:
        worker.step()
    assert collector.legs == ROWS
    assert not (tmp_path / "rejected").exists()


def test_a_single_record_that_is_too_large_is_set_aside(
    collector: StubCollector, lane: Make
) -> None:
    """It cannot be halved; the four others arrive."""
    collector.refuse = lambda _path, rows: (413, {}) if ROWS[2] in rows else None
    source = ListSource(ROWS)
    worker = lane(source)
    while not source.committed:
        worker.step()
    assert collector.legs == [row for row in ROWS if row != ROWS[2]]
    assert source.committed[0]["set_aside"] == 1


def test_a_refused_body_is_kept_with_its_reason(
    collector: StubCollector, lane: Make, tmp_path: Path
) -> None:
    """422: the body and the collector's words lie in rejected/, and the next batch goes."""
    collector.orders = [(422, {})]
    worker = lane(ListSource(ROWS[:1], ROWS[1:]))
    while worker.step():
        pass
    (body,) = (tmp_path / "rejected").glob("*.ndjson")
    assert json.loads(body.read_bytes()) == ROWS[0]
    why = json.loads(body.with_suffix(".json").read_bytes())
    assert (why["status"], why["records"], why["source"]) == (422, 1, "list")
    assert collector.legs == ROWS[1:]


def test_a_full_rejected_folder_holds_the_queue(collector: StubCollector, lane: Make) -> None:
    """Nothing is thrown away: the batch waits until somebody has looked."""
    collector.orders = [(422, {})]
    source = ListSource(ROWS)
    worker = lane(source, bytes_max=10)
    worker.step()
    assert source.committed == []
    assert "limits.rejected_bytes" in worker.last_failure


def test_a_poison_record_is_found_and_set_aside(collector: StubCollector, lane: Make) -> None:
    """A collector that fails on one record with 500, again and again, but serves all others."""
    now = [0.0]
    collector.refuse = lambda _path, rows: (500, {}) if ROWS[3] in rows else None
    source = ListSource(ROWS)
    worker = lane(source, now)
    while not source.committed:
        worker.step()
        now[0] += 60.0
    assert sorted(leg["event_id"] for leg in collector.legs) == ["0", "1", "2", "4"]
    assert source.committed[0]["set_aside"] == 1


def test_a_collector_in_trouble_is_no_poison(collector: StubCollector, lane: Make) -> None:
    """500 for everything, the empty batch too: nothing is cut or set aside, however long."""
    now = [0.0]
    collector.refuse = lambda _path, _rows: (500, {})
    source = ListSource(ROWS)
    worker = lane(source, now)
    for _ in range(50):
        worker.step()
        now[0] += 60.0
    collector.refuse = None
    worker.step()
    assert (collector.legs, source.committed) == (ROWS, [{"accepted": 0}])


def test_a_suspended_source_goes_on_later(collector: StubCollector, lane: Make) -> None:
    """After a fault that nobody foresaw: nothing for retry_seconds_max, then as before."""
    now = [0.0]
    worker = lane(ListSource(ROWS), now)
    worker.suspend("KeyError: 'x'")
    assert not worker.step()
    now[0] = 60.0
    worker.step()
    assert (collector.legs, worker.failures, worker.last_failure) == (ROWS, 0, "")
