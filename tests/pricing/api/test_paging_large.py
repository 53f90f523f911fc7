"""Many pages while a writer is at work all the time: none twice, none missing.

`bench/reads.py` does the same with 1 M requests and 100,000 invoices over HTTP.
"""

import threading
from contextlib import contextmanager

from pricing.ledger.tenants import Tenant, add_tenant
from tests.pricing.api.conftest import BOOK, NOW, leg
from tests.pricing.api.invoice_rows import document, put

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
REQUESTS, INVOICES, PAGE = 3_000, 1_500, 100


@contextmanager
def always(write):
    """Call write(0), write(1), … on a thread of its own for as long as the block runs."""
    ended, failures = threading.Event(), []

    def run():
        number = 0
        while not ended.is_set():
            try:
                write(number)
            except Exception as error:  # noqa: BLE001 - shown by the test, not by the thread
                failures.append(error)
                return
            number += 1

    writer = threading.Thread(target=run)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()
    assert not failures


def walk(house, path, field, params):
    """The value of `field` in every row of every page."""
    seen, asked = [], params | {"limit": PAGE, "fields": field}
    while asked is not None:
        page = house.get(path, params=asked).json()
        seen += [row[field] for row in page["items"]]
        cursor = page["next_cursor"]
        asked = asked | {"cursor": cursor} if cursor else None
    return seen


def test_requests(house):
    """3,000 by billing instant, an id a second; others come before, between and after them."""
    assert house.send("POST", "/v1/prices", json={"toml": BOOK}).status_code == 201
    stood = range(10_000, 10_000 + 2 * REQUESTS, 2)
    house.settle(*(leg(number, "t-alder") for number in stood))

    def write(number):
        house.settle(*(leg(1 + 2 * (start + number), None) for start in (0, 5_500, 9_000)))

    for order in ("forward", "backward"):
        with always(write):
            seen = walk(house, "/v1/requests", "request_id", DAY | {"order": order})
        assert len(seen) == len(set(seen))
        assert {f"00000000-0000-0000-0000-{number:012x}" for number in stood} <= set(seen)


def named(number):
    """A number in the order of numbers."""
    return f"INV-{number:08d}"


def test_invoices(house):
    """1,500 by number, in the even places; between the pages others take odd ones."""
    with house.ledger.write(actor="test", at=NOW) as change:
        alder = {"tenant_id": "t-alder", "name": "Alder", "created_at": NOW}
        add_tenant(change, Tenant(**alder, billing_zone="UTC", currency="CNY"))
        stood = [document(named(2 * place)) for place in range(INVOICES)]
        put(change, *stood)

    def write(number):
        place = (1 + 2 * number * 37) % (2 * INVOICES)
        with house.ledger.write(actor="test", at=NOW) as change:
            row = document(named(place + (number // 40) * 10_000))
            put(change, row)

    with always(write):
        seen = walk(house, "/v1/invoices", "number", {})
    assert len(seen) == len(set(seen))
    assert {row["number"] for row in stood} <= set(seen)
