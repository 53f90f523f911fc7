"""What servers did, read from the roll-ups of an in-memory store."""

from datetime import UTC, datetime, timedelta

import pytest

from metering.store.connect import open_store
from metering.windows import Window
from pricing.errors import RequestInvalid
from pricing.estimates.kappa_regression import estimate_kappa
from pricing.reports.server_work import prefill_shapes

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


def test_a_part_of_a_day_is_refused(cursor):
    """The daily roll-up knows no hours; the message says what to ask for."""
    noon = Window(DAY.start_at, DAY.end_at + timedelta(hours=12))
    with pytest.raises(RequestInvalid, match="midnight UTC"):
        prefill_shapes(cursor, noon, model_id="m")
