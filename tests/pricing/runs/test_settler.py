"""The settler's thread: it settles, and keeps the store small without changing a sum."""

import time
from datetime import timedelta

import pyarrow as pa
import pytest

from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.store.connect import open_store
from metering.store.maintenance import ROLLUPS
from metering.wire import to_batch
from pricing.reports.rows import read_rows
from pricing.runs.settler import Settler
from tests.pricing.settle.legs import NOW, at, decode, leg, prefill, rules

LEGS = 40
SUMS = "SELECT sum(requests)::BIGINT, sum(uncached_tokens)::BIGINT, sum(output_tokens)::BIGINT, "
SUMS += "count(*) FROM usage_hourly"


class Hands:
    """A settler whose clock is moved by hand."""

    def __init__(self, path):
        self.now = NOW
        self.store = open_store(path)
        self.settler = Settler(self.store, lambda _: rules(), lambda: self.now)

    def feed(self, *legs, watermark=None, node="u1"):
        """One batch of one sender, committed as ingest does."""
        table = pa.Table.from_batches([to_batch(legs)])
        batch = LegBatch(table=table, sender="test", node=node, watermark_at=watermark)
        with self.store.cursor() as cursor:
            append_legs(cursor, [batch], self.now)

    def settled(self):
        """Wait until every leg is settled and what is due is done."""
        batches = self.settler.state.last_success_at
        for _ in range(600):
            self.settler.wake()
            time.sleep(0.02)
            done = self.settler.state.last_success_at
            if done is not None and done != batches:
                return
        raise AssertionError(self.settler.state)

    def rows(self, query):
        """What the store answers."""
        with self.store.cursor() as cursor:
            return cursor.execute(query).fetchall()


@pytest.fixture
def hands(tmp_path):
    """Running on a file; its store is closed at the end."""
    running = Hands(tmp_path / "usage.duckdb")
    yield running
    running.settler.close()
    running.store.close()


def test_an_hour_later_the_rows_are_folded_and_the_sums_are_the_same(hands):
    """By hand: 40 legs of 600 uncached and 50 output tokens in 40 batches fold into one row."""
    for number in range(LEGS):
        hands.feed(leg(f"e{number}"), watermark=at(number))
        hands.settler._work()
    sums = (LEGS, LEGS * 600, LEGS * 50)
    assert hands.rows(SUMS) == [(*sums, LEGS)]
    assert hands.rows("SELECT count(*) FROM node_watermark") == [(LEGS,)]
    hands.now += timedelta(hours=1, minutes=1)
    hands.settler._work()
    assert hands.rows(SUMS) == [(*sums, 1)]
    assert hands.rows("SELECT count(*) FROM node_watermark") == [(1,)]
    assert hands.rows("SELECT sum(amount) FROM node_money") == hands.rows(
        "SELECT sum(amount) FROM usage_money"
    )


def test_old_hours_are_folded_at_the_turn_of_the_day(hands):
    """A month-old hour, out of reach of the hourly fold, has one row after midnight."""
    hands.now = NOW + timedelta(days=30)
    for number in range(3):
        hands.feed(leg(f"e{number}"))
        hands.settler._work()
    for hours, rows in ((1.1, 3), (12, 1)):
        hands.now = NOW + timedelta(days=30, hours=hours)
        hands.settler._work()
        assert hands.rows(SUMS)[0][3] == rows


def sums_of(hands, table):
    """(rows, sum of every column that is not a key)."""
    keys = ", ".join([*ROLLUPS[table].keys, *ROLLUPS[table].latest])
    query = f"SELECT count(*), sum(COLUMNS(* EXCLUDE ({keys})))::DOUBLE FROM {table}"  # noqa: S608
    (row,) = hands.rows(query)
    return row[0], row[1:]


def test_every_table_of_deltas_is_folded(hands):
    """Two pairs in four batches leave rows in each of them; fewer rows later, the same sums."""
    for number in range(2):
        hands.feed(prefill(f"p{number}", join_key=f"k{number}", ttft_seconds=0.5))
        hands.feed(decode(f"d{number}", join_key=f"k{number}", e2e_seconds=9.0))
        hands.settler._work()
    before = {table: sums_of(hands, table) for table in ROLLUPS}
    hands.now += timedelta(hours=1, minutes=1)
    hands.settler._work()
    for table, (rows, sums) in before.items():
        assert sums_of(hands, table) == (rows // 2, sums), table


def marks(hands):
    """(metered through, settled through) as health reports them."""
    with hands.store.cursor() as cursor:
        forgotten = (hands.now - timedelta(days=7)).replace(tzinfo=None)
        (row,) = read_rows(cursor, "settled_through", forgotten_at=forgotten)
    return row["metered_through_at"], row["settled_through_at"]


def test_metered_through_is_the_slowest_node_at_its_latest_word(hands):
    """p1 said 10 s then 70 s, d1 said 50 s: metered through 50 s, whatever p1 said before."""
    hands.feed(prefill("p"), node="p1", watermark=at(10))
    hands.feed(decode("d"), node="d1", watermark=at(50))
    hands.feed(leg("u"), node="p1", watermark=at(70))
    hands.settler._work()
    assert marks(hands) == (at(50), at(50))


def test_settled_through_waits_for_an_open_half(hands):
    """A prefill half of 1 s waits for its decode half: settled through 1 s, metered through 50."""
    assert marks(hands) == (None, None)
    hands.feed(prefill("p"), node="p1", watermark=at(50))
    assert marks(hands) == (at(50), at(1))
    hands.settler._work()
    assert marks(hands) == (at(50), at(1))
    hands.feed(decode("d"), node="p1", watermark=at(60))
    hands.settler._work()
    assert marks(hands) == (at(60), at(60))


def test_a_failing_rule_book_stops_nothing_for_good(hands):
    """The error is told, the batch is settled as soon as the rules can be read."""
    broken = [OSError("the ledger is away")]

    def rules_at(_):
        if broken:
            raise broken.pop()
        return rules()

    hands.settler.rules_at = rules_at
    hands.feed(leg("e1"))
    hands.settler.start()
    hands.settled()
    assert (hands.rows(SUMS)[0][0], hands.settler.state.last_error) == (1, None)
