"""Many pages while a writer is at work all the time: none twice, none missing.

`bench/reads.py` does the same with 1 M requests and 100,000 invoices over HTTP.
"""

import threading
from contextlib import contextmanager
from datetime import date
from decimal import Decimal

from sqlalchemy import insert

from pricing.ledger.invoice_tables import invoice, issuer
from pricing.ledger.tenants import Tenant, add_tenant
from tests.pricing.api.conftest import BOOK, NOW, leg

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


def document(number):
    """A row that passes every rule of the table; what it says does not matter here."""
    amounts = dict.fromkeys(
        ("exact_amount", "net_amount", "rounding_amount", "tax_amount", "gross_amount"),
        Decimal(1),
    )
    digests = dict.fromkeys((f"digest_{place}" for place in range(1, 5)), Decimal(1))
    marks = dict.fromkeys(("settle_mark", "adjusted_after_mark", "digest_requests"), 1)
    return (
        amounts
        | digests
        | marks
        | {
            "number": f"INV-{number:08d}",
            "kind": "invoice",
            "issuer_id": "house",
            "tenant_id": "t-alder",
            "month": date(2026, 9, 1),
            "billing_zone": "UTC",
            "start_at": NOW,
            "end_at": NOW,
            "currency": "CNY",
            "state": "credited",
            "made_at": NOW,
            "issued_at": NOW,
            "tax_rate": Decimal(0),
            "seller": {},
            "buyer": {},
            "annex": [],
            "content_sha256": "0" * 64,
            "payment_state": "open",
        }
    )


def test_invoices(house):
    """1,500 by number, in the even places; between the pages others take odd ones."""
    with house.ledger.write(actor="test", at=NOW) as change:
        connection = change.connection
        named = {"tenant_id": "t-alder", "name": "Alder", "created_at": NOW}
        add_tenant(change, Tenant(**named, billing_zone="UTC", currency="CNY"))
        seller = {"issuer_id": "house", "legal_name": "House", "created_at": NOW}
        connection.execute(insert(issuer).prefix_with("OR IGNORE"), seller)
        stood = [document(2 * place) for place in range(INVOICES)]
        connection.execute(insert(invoice), stood)

    def write(number):
        place = (1 + 2 * number * 37) % (2 * INVOICES)
        with house.ledger.write(actor="test", at=NOW) as change:
            row = document(place + (number // 40) * 10_000)
            change.connection.execute(insert(invoice).prefix_with("OR IGNORE"), row)

    with always(write):
        seen = walk(house, "/v1/invoices", "number", {})
    assert len(seen) == len(set(seen))
    assert {row["number"] for row in stood} <= set(seen)
