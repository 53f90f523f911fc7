"""What servers did, read from the roll-ups of an in-memory store."""

from datetime import UTC, datetime, timedelta

import pytest

from metering.store.connect import open_store
from metering.windows import Window
from pricing.errors import RequestInvalid
from pricing.estimates.kappa_regression import estimate_kappa
from pricing.reports.server_work import latency_histogram, prefill_shapes
from pricing.slo import Weight

DAY = Window(datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 2, tzinfo=UTC))


@pytest.fixture
def cursor():
    """A cursor on an empty store."""
    store = open_store(None)
    yield store.cursor()
    store.close()


def test_kappa_from_the_shape_classes(cursor):
    """Classes whose seconds follow 10⁻⁴ per uncached and 2·10⁻⁶ per cached token: κ = 0.02."""
    shapes = [(1, 1_000 * 2**i, 500 * 2**j * (i + 1)) for i in range(5) for j in range(4)]
    for index, (legs, uncached, cached) in enumerate(shapes):
        seconds = 0.01 + 1e-4 * uncached + 2e-6 * cached
        cursor.execute(
            "INSERT INTO node_shape_daily VALUES ('2026-10-01', 'p1', 'm', ?, ?, ?, ?, ?, ?)",
            [index, index, legs, uncached + cached, cached, seconds],
        )
    found = estimate_kappa(prefill_shapes(cursor, DAY, model_id="m"))
    assert found.kappa == pytest.approx(0.02, rel=1e-6)
    assert found.rows == 20


def test_latency_counts_are_added(cursor):
    """Two hours and two servers of one measure; another measure and model stay out."""
    cursor.execute("""INSERT INTO latency_hourly VALUES
        ('2026-10-01 00:00', 'm', 'x', 'p1', 'ttft', 80, 3, 30),
        ('2026-10-01 05:00', 'm', 'x', 'p2', 'ttft', 80, 2, 20),
        ('2026-10-01 05:00', 'm', 'x', 'p2', 'ttft', 96, 1, 10),
        ('2026-10-01 05:00', 'm', 'x', 'p2', 'tpot', 80, 9, 90),
        ('2026-10-01 05:00', 'n', 'x', 'p2', 'ttft', 80, 9, 90)""")
    found = latency_histogram(cursor, DAY, measure="ttft", model_id="m")
    assert found == {80: Weight(5, 50), 96: Weight(1, 10)}
    assert latency_histogram(cursor, DAY, measure="ttft", node_id="p1") == {80: Weight(3, 30)}


def test_a_part_of_a_day_is_refused(cursor):
    """The daily roll-up knows no hours; the message says what to ask for."""
    noon = Window(DAY.start_at, DAY.end_at + timedelta(hours=12))
    with pytest.raises(RequestInvalid, match="midnight UTC"):
        prefill_shapes(cursor, noon, model_id="m")


def test_an_unknown_measure_is_refused(cursor):
    """The message lists the measures."""
    with pytest.raises(RequestInvalid, match="ttft, tpot, e2e, queue"):
        latency_histogram(cursor, DAY, measure="itl")
