"""Usage that comes after its month was closed: adjustments, never a changed month (V8, C20)."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from metering.windows import Window
from pricing.directory import ClosedPeriod, Directory
from tests.pricing.settle.legs import Till, decode, fed, leg, prefill, rules

JUNE = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
JULY_8 = datetime(2026, 7, 8, 9, tzinfo=UTC)
CLOSED = Directory(closed=(ClosedPeriod("t-alder", date(2026, 6, 1), JUNE.start_at, JUNE.end_at),))


def closed(till: Till) -> Till:
    """The same till after June of t-alder was closed."""
    till.rules = rules(directory=CLOSED)
    return till


def june(till):
    """Amounts of June by whether they adjust the closed month."""
    query = (
        "SELECT adjusts_period, sum(amount) FROM usage_money "
        "WHERE disposition = 'billed' GROUP BY adjusts_period"
    )
    rows = till.cursor.execute(query).fetchall()
    return {period: amount.normalize() for period, amount in rows}


def test_late_usage_is_an_adjustment_of_its_month():
    """June's own sum stays 0.00168; the late request's 0.00168 points at June."""
    till = closed(fed(leg("on-time")))
    till.feed(leg("late"), now=JULY_8)
    assert june(till) == {None: Decimal("0.00168"), date(2026, 6, 1): Decimal("0.00168")}


def test_a_late_half_corrects_a_closed_month_by_the_difference():
    """Billed 0.0024 with p1's cold cache; p2 says 400 were cached: -0.00072 as adjustment."""
    till = closed(fed(prefill("p1", cached_input_tokens=0), decode("d")))
    till.feed(prefill("p2", finished_at=prefill("x")["finished_at"] + timedelta(seconds=1)))
    assert june(till) == {None: Decimal("0.0024"), date(2026, 6, 1): Decimal("-0.00072")}


def test_usage_later_than_45_days_is_kept_and_not_billed():
    """July 1 + 45 days is August 15: listed as expired, with its tokens and money at stake."""
    till = closed(Till())
    till.feed(leg("very-late"), now=datetime(2026, 8, 15, tzinfo=UTC))
    assert till.requests()[leg("very-late")["event_id"]][:3] == (
        "expired",
        "late_usage",
        Decimal("0.00168"),
    )
    assert till.amount() == 0


def test_sending_late_usage_twice_adds_nothing():
    """C20: the second delivery is a duplicate."""
    till = closed(Till())
    for _ in range(2):
        till.feed(leg("z1"), now=JULY_8)
    assert june(till) == {date(2026, 6, 1): Decimal("0.00168")}
