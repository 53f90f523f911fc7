"""A process of its own that closes June, to be raced and killed."""

from datetime import UTC, datetime
from pathlib import Path

from metering.store.connect import open_store
from metering.windows import parse_month
from pricing.ledger.connect import Ledger
from pricing.runs.close import CloseOrder, close_month

JULY_2 = datetime(2026, 7, 2, tzinfo=UTC)


def close_june(usage_path, ledger_url, signals=None):
    """Close June with a commit for each tenant; signals: says that it is ready, waits to go."""
    store, ledger = open_store(Path(usage_path)), Ledger(ledger_url)
    order = CloseOrder(month=parse_month("2026-06"), tenants_a_commit=1)
    if signals is not None:
        signals.send("ready")
        signals.recv()
    report = close_month(store.cursor(), ledger, order, now=JULY_2)
    store.close()
    ledger.close()
    return report
