"""pricing/ledger/types.py: the same value comes back from SQLite and from PostgreSQL."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from sqlalchemy.exc import StatementError

from pricing.ledger.rows import Page
from pricing.ledger.servers import Server, add_server, get_server, list_servers

NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)


def server(**change):
    base = {"node_id": "p01", "name": "p01", "stage": "prefill", "in_service_from": NOW}
    return Server(**(base | change))


@pytest.mark.parametrize("text", ["99999999999999.99", "83670.6", "0.000000001", "0", "1E+3"])
def test_a_decimal_comes_back_digit_for_digit(ledger, text):
    """99999999999999.99 came back …984375 through SQLite's NUMERIC (facts/libraries.md)."""
    with ledger.write(actor="test", at=NOW) as change:
        add_server(change, server(rated_tokens_per_second=Decimal(text)))
    with ledger.read() as connection:
        assert get_server(connection, "p01").rated_tokens_per_second == Decimal(text)


def test_a_float_is_refused(ledger):
    """V5: no float ever holds money or tokens; the driver would round it without a word."""
    with (
        pytest.raises(StatementError, match="never a float"),
        ledger.write(actor="test", at=NOW) as change,
    ):
        add_server(change, server(rated_tokens_per_second=0.1))


def test_a_time_comes_back_as_the_same_instant_in_utc(ledger):
    """20:00:00.000001 at +08:00 is 12:00:00.000001 UTC, on both databases, to the microsecond."""
    at = datetime(2026, 10, 1, 20, 0, 0, 1, tzinfo=timezone(timedelta(hours=8)))
    with ledger.write(actor="test", at=NOW) as change:
        add_server(change, server(in_service_from=at))
    with ledger.read() as connection:
        found = get_server(connection, "p01").in_service_from
    assert found.isoformat() == "2026-10-01T12:00:00.000001+00:00"


def test_a_time_without_zone_is_refused(ledger):
    """V9: a naive time would mean another instant on another machine."""
    with (
        pytest.raises(StatementError, match="needs a zone"),
        ledger.write(actor="test", at=NOW) as change,
    ):
        add_server(change, server(in_service_from=datetime(2026, 10, 1)))  # noqa: DTZ001


def test_a_list_is_walked_page_by_page(ledger):
    """Five servers in pages of two: 2 + 2 + 1, none twice and none missing."""
    names = [f"p{number:02}" for number in range(5)]
    with ledger.write(actor="test", at=NOW) as change:
        for name in reversed(names):
            add_server(change, server(node_id=name))
    seen, after = [], None
    with ledger.read() as connection:
        while page := list_servers(connection, Page(2, after)):
            seen += [each.node_id for each in page]
            after = (page[-1].node_id,)
    assert seen == names
