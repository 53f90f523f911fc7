"""Random months: whatever the order, the resends, the crashes and the re-runs, all is billed once.

The oracle is a rule of three lines: a request that has arrived when the close of its month begins
is on that month's invoice; one that comes later, but within 45 days of the month's end, is on the
next invoice that is begun; any other is on none.
"""

import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metering.windows import parse_month
from pricing.ledger.connect import Ledger
from pricing.ledger.invoices import invoices_of, lines_of
from pricing.runs.close import CloseOrder, close_month
from pricing.runs.verify import verify_invoice, verify_ledger
from pricing.scope import Scope
from tests.pricing.close.conftest import CloseHouse, usage

MONTHS = ("2026-06", "2026-07", "2026-08", "2026-09")
TENANTS = ("t-alder", "t-birch")
START = datetime(2026, 6, 1, tzinfo=UTC)
LATE = timedelta(days=45)


@dataclass(frozen=True)
class Request:
    """day: of its service, from June 1; delay: days until it arrives; copies: times it is sent."""

    tenant_id: str
    day: int
    delay: int
    tokens: int
    copies: int

    @property
    def at(self):
        return START + timedelta(days=self.day, hours=12)

    @property
    def arrives_at(self):
        return self.at + timedelta(days=self.delay, hours=1)


requests = st.lists(
    st.builds(
        Request,
        tenant_id=st.sampled_from(TENANTS),
        day=st.integers(0, 91),
        delay=st.sampled_from([0, 0, 0, 3, 30, 70]),
        tokens=st.integers(1, 10**9),
        copies=st.integers(1, 2),
    ),
    min_size=1,
    max_size=12,
)


def close_time(month):
    """The second of the month after it, 06:00 UTC."""
    end = (parse_month(month) + timedelta(days=32)).replace(day=1)
    return datetime(end.year, end.month, 2, 6, tzinfo=UTC)


def month_end(at):
    first = (at.date().replace(day=1) + timedelta(days=32)).replace(day=1)
    return datetime(first.year, first.month, 1, tzinfo=UTC)


def expected(rows):
    """(tenant, invoice's month, served month) → tokens, by the rule above."""
    found = Counter()
    for row in rows:
        own, served = f"{row.at:%Y-%m}", row.at.date().replace(day=1)
        closes = [month for month in MONTHS if month >= own and close_time(month) > row.arrives_at]
        is_late = not closes or closes[0] != own
        if is_late and row.arrives_at >= month_end(row.at) + LATE:
            continue
        if closes:
            found[row.tenant_id, closes[0], served] += row.tokens
    return {key: tokens for key, tokens in found.items() if tokens}


class CrashError(Exception):
    """A process that ends between two commits."""


def crash(_done, _all):
    raise CrashError


def run_close(house, month, now, *, is_killed):
    """Close; is_killed: it ends after the first tenant's commit, and is taken up again."""
    order = CloseOrder(month=parse_month(month), tenants_a_commit=1)
    if is_killed:
        with pytest.raises(CrashError):
            close_month(house.till.cursor, house.ledger, order, now=now, progress=crash)
    for _ in range(2):
        close_month(house.till.cursor, house.ledger, order, now=now + timedelta(hours=1))


def play(house, rows, kills):
    """Arrivals and closes in the order of their times."""
    arrivals = [
        (row.arrives_at + timedelta(days=copy), number, row)
        for number, row in enumerate(rows)
        for copy in range(row.copies)
    ]
    closes = [(close_time(month), -1, month) for month in MONTHS]
    for at, number, what in sorted([*arrivals, *closes], key=lambda item: item[:2]):
        if number < 0:
            run_close(house, what, at, is_killed=what in kills)
        else:
            leg = usage(str(number), what.tenant_id, f"{what.at:%Y-%m-%dT%H:%M:%SZ}", what.tokens)
            house.feed(leg, now=at.isoformat())


def billed(house):
    """(tenant, invoice's month, served month) → tokens, from the ledger's lines."""
    found = Counter()
    with house.ledger.read() as connection:
        for tenant_id in TENANTS:
            for month in MONTHS:
                made = invoices_of(connection, tenant_id, parse_month(month))
                assert len(made) <= 1
                for one in made:
                    for line in lines_of(connection, one.number):
                        found[tenant_id, month, line.service_month] += line.tokens
                    checks = verify_invoice(
                        house.till.cursor, connection, Scope.house(), one.number
                    )
                    assert [fault for check in checks for fault in check.faults] == []
        assert [fault for check in verify_ledger(connection) for fault in check.faults] == []
    return dict(found)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=requests, kills=st.sets(st.sampled_from(MONTHS)))
def test_every_request_is_billed_once(rows, kills, empty_ledger, tmp_path):
    """Resent, late, out of order, with closes that were killed and run again."""
    shutil.copy(empty_ledger, tmp_path / "ledger.sqlite")
    house = CloseHouse(Ledger(f"sqlite:///{tmp_path / 'ledger.sqlite'}"))
    house.publish()
    for tenant_id in TENANTS:
        house.tenant(tenant_id)
    play(house, rows, kills)
    assert billed(house) == expected(rows)
    house.ledger.close()
    house.till.store.close()
    for end in ("", "-wal", "-shm"):
        (tmp_path / f"ledger.sqlite{end}").unlink(missing_ok=True)


def test_the_rule_by_hand():
    """June 10, three days late for a close on July 2: no; 30 days: July's; 70 days: nobody's."""
    rows = [Request("t-alder", 9, delay, 1, 1) for delay in (3, 30, 70)]
    june = date(2026, 6, 1)
    assert expected(rows) == {
        ("t-alder", "2026-06", june): 1,
        ("t-alder", "2026-07", june): 1,
    }
