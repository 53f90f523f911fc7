"""Reads of a large store over HTTP while usage comes in, and what they cost the ingest.

    python bench/reads.py [--requests 10000000] [--invoices 100000] [--walked 1000000]
                           [--rounds 30] [--seconds 10]

A month of requests and its invoices are made inside the stores; then `tokentill serve` runs on
them as a process of its own. Prints one JSON object:

- reads: p50 and p99 in seconds of the ten most used reads, while ingest runs at half its rate
- ingest: legs/s alone, legs/s while the reads run, and their ratio
- paging: every request of a window and every invoice read in pages of 1,000, and the requests as
  one Arrow stream, while usage is written; `twice` and `missing` must be 0

Making the legs is part of the machine's load, in every figure alike.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import quantiles
from typing import Any

import pyarrow as pa
from sqlalchemy import insert

from bench.end_to_end import BOOK, SENDERS, Server, pairs
from bench.month import JUNE, REQUESTS, USAGE_HOURLY
from metering.store.connect import open_store
from metering.wire import to_ipc
from pricing.ledger.connect import Ledger
from pricing.ledger.invoice_tables import invoice, issuer
from pricing.ledger.price_books import add_revision
from pricing.ledger.tables import BookState
from pricing.ledger.tenants import Tenant, add_tenant
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.price_book import Catalogue, PriceQuery
from pricing.price_key import PriceKey
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.price_cells import PriceCells, insert_price_keys
from pricing.runs.statements import run

INGEST_ROWS = 20_000
PAGE_ROWS = 1_000
ARROW = "application/vnd.apache.arrow.stream"
STREAM_SECONDS_MAX = 900
INSERT_ROWS = 5_000
MEMORY_LIMIT = "3GB"
NODE_HOURLY = """
INSERT INTO node_hourly BY NAME
SELECT
    date_trunc('hour', billing_at) AS hour_start_at, node_id, stage, pool, model_id, disposition,
    reason, price_key, flags,
    count(*)::BIGINT AS requests,
    sum(if(stage = 'prefill', uncached_tokens, 0))::BIGINT AS uncached_tokens,
    sum(if(stage = 'prefill', cached_tokens, 0))::BIGINT AS cached_tokens,
    sum(if(stage = 'decode', output_tokens, 0))::BIGINT AS output_tokens,
    0 AS cached_explicit_tokens, 0 AS cache_write_tokens, 0 AS cache_write_1h_tokens,
    0 AS unsplit_tokens, 0 AS reasoning_tokens, 0 AS work_legs, 0 AS work_input_tokens,
    0 AS work_cached_tokens, 0 AS work_output_tokens, 0 AS queue_seconds, 0 AS prefill_seconds,
    0 AS decode_seconds
FROM (
    SELECT *, unnest(['prefill', 'decode']) AS stage,
        unnest([input_node_id, output_node_id]) AS node_id
    FROM request
)
GROUP BY ALL
"""
MODELS = [f"m{number}" for number in range(8)]  # of the requests of bench/month.py
PRICES = BOOK + "".join(BOOK[BOOK.index("[[price]]") :].replace("glm-5.2", name) for name in MODELS)
MONTH = {"start_at": JUNE.start_at.isoformat(), "end_at": JUNE.end_at.isoformat()}
DAY = {"start_at": "2026-06-10T00:00:00Z", "end_at": "2026-06-11T00:00:00Z"}
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "usage_of_a_month": ("/v1/usage", MONTH | {"group_by": ["tenant_id"]}),
    "usage_by_day_of_a_tenant": ("/v1/usage", MONTH | {"interval": "day", "tenant_id": "t7"}),
    "usage_by_hour_of_a_day": ("/v1/usage", DAY | {"interval": "hour"}),
    "revenue_of_servers": ("/v1/revenue/servers", MONTH),
    "revenue_of_pools_and_models": ("/v1/revenue", MONTH),
    "chargeback_of_a_month": ("/v1/chargeback", MONTH),
    "findings_of_a_day": ("/v1/findings", DAY),
    "requests_of_a_tenant": ("/v1/requests", DAY | {"tenant_id": "t7"}),
    "story_of_a_request": ("/v1/requests/{request_id}", {}),
    "invoices": ("/v1/invoices", {}),
}


@dataclass(slots=True)
class Ingest:
    """Sends batches of legs as fast as the server takes them, or at most `rate` legs/s."""

    server: Server
    rate: float | None = None
    sent: int = 0
    number: int = 100_000  # of the next batch of bench/ingest.py; each is another one
    begun: float = field(default_factory=time.monotonic)
    turn: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)

    def send_on(self) -> None:
        """One sender's loop."""
        while not self.ended.is_set():
            with self.turn:
                number, self.number = self.number, self.number + 1
            body = to_ipc(pairs(number, INGEST_ROWS).to_batches()[0])
            self.server.send(body)
            with self.turn:
                self.sent += INGEST_ROWS
            if self.rate is not None:
                due = self.begun + self.sent / self.rate
                self.ended.wait(max(0.0, due - time.monotonic()))


@contextmanager
def ingesting(server: Server, first: int, rate: float | None = None) -> Iterator[dict[str, float]]:
    """Usage comes in while the block runs; then the dictionary holds legs_per_second.

    Measured as bench/end_to_end.py does: from the first batch until everything is settled.
    """
    ingest, measured = Ingest(server, rate, number=first), dict[str, float]()
    senders = [threading.Thread(target=ingest.send_on) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    try:
        yield measured
    finally:
        while not ingest.sent and any(sender.is_alive() for sender in senders):
            time.sleep(0.1)  # a rate of 0 says nothing of the server
        ingest.ended.set()
        for sender in senders:
            sender.join()
        server.wait_until_settled()
        measured["legs_per_second"] = ingest.sent / (time.monotonic() - ingest.begun)
        measured["next_batch"] = ingest.number


def fill(home: Path, *, requests: int, invoices: int) -> None:
    """A home with a month of settled requests and invoices, as the published prices would have it.

    Requests at other prices than the book's would be rated anew while the reads are timed.
    """
    home.mkdir()
    url = f"sqlite:///{home / 'ledger.sqlite'}"
    upgrade_ledger(url)
    ledger = Ledger(url)
    with ledger.write(actor="bench", at=JUNE.end_at) as change:
        book = {"toml_text": PRICES, "currency": "CNY", "state": BookState.PUBLISHED}
        add_revision(change, "bench", **book)
        named = {"tenant_id": "t7", "name": "Seven", "created_at": JUNE.end_at}
        add_tenant(change, Tenant(**named, billing_zone="UTC", currency="CNY"))
        seller = {"issuer_id": "house", "legal_name": "House", "created_at": JUNE.end_at}
        change.connection.execute(insert(issuer).prefix_with("OR IGNORE"), seller)
        for start in range(0, invoices, INSERT_ROWS):
            rows = [document(n) for n in range(start, min(start + INSERT_ROWS, invoices))]
            change.connection.execute(insert(invoice), rows)
    prices = LedgerRules(ledger).at(JUNE.end_at).prices
    ledger.close()
    fill_usage(home / "usage.duckdb", prices, requests)


def price_keys(catalogue: Catalogue) -> dict[int, PriceKey]:
    """What the requests of bench/month.py are priced at, in the order of their models."""
    quotes = [catalogue.quote(PriceQuery(model_id=name, at=JUNE.start_at)) for name in MODELS]
    return {quote.price.id: quote.price for quote in quotes if quote.price is not None}


def fill_usage(path: Path, prices: PriceCells, requests: int) -> None:
    """The month's requests and their roll-ups, rated by `prices`."""
    keys = price_keys(prices.catalogue)
    upgrade_usage(path)
    store = open_store(path, memory_limit=MEMORY_LIMIT)
    cursor = store.cursor()
    insert_price_keys(cursor, keys)
    cursor.execute(REQUESTS, {"requests": requests, "keys": list(keys)})
    cursor.execute(USAGE_HOURLY)
    cursor.execute(NODE_HOURLY)
    now = JUNE.end_at.replace(tzinfo=None)
    run(cursor, "reprice_done", {"catalogue_id": prices.catalogue_id, "now": now})
    store.close()


def document(number: int) -> dict[str, Any]:
    """An invoice that was cancelled: of those a month may hold any number."""
    amounts = ("exact_amount", "net_amount", "rounding_amount", "tax_amount", "gross_amount")
    digests = ("digest_1", "digest_2", "digest_3", "digest_4")
    marks = ("settle_mark", "adjusted_after_mark", "digest_requests")
    texts = {"kind": "invoice", "issuer_id": "house", "tenant_id": "t7", "billing_zone": "UTC"}
    states = {"currency": "CNY", "state": "credited", "payment_state": "open"}
    times = dict.fromkeys(("start_at", "end_at", "made_at", "issued_at"), JUNE.end_at)
    return {
        **dict.fromkeys((*amounts, *digests), Decimal(1)),
        **dict.fromkeys(marks, 1),
        **texts,
        **states,
        **times,
        "number": f"INV-{number:08d}",
        "month": JUNE.start_at.date(),
        "tax_rate": Decimal(0),
        "seller": {},
        "buyer": {},
        "annex": [],
        "content_sha256": "0" * 64,
    }


def time_reads(server: Server, rounds: int) -> dict[str, dict[str, float]]:
    """p50 and p99 of each read, in turns, so that a busy moment meets all of them."""
    first = server.api.get("/v1/requests", params=DAY | {"limit": 1}).json()["items"][0]
    seconds: dict[str, list[float]] = {name: [] for name in READS}
    for _ in range(rounds):
        for name, (path, params) in READS.items():
            begun = time.perf_counter()
            server.api.get(path.format(**first), params=params).raise_for_status()
            seconds[name].append(time.perf_counter() - begun)
    return {name: _percentiles(spent) for name, spent in seconds.items()}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    cuts = quantiles(seconds, n=100, method="inclusive")
    return {"p50_seconds": round(cuts[49], 4), "p99_seconds": round(cuts[98], 4)}


def walk(server: Server, path: str, name: str, params: dict[str, Any], expected: int) -> Any:
    """Read a list to its end; `expected` rows stood before it began and stay."""
    begun, seen = time.perf_counter(), list[str]()
    asked: dict[str, Any] | None = params | {"limit": PAGE_ROWS, "fields": name}
    while asked is not None:
        answer = server.api.get(path, params=asked).raise_for_status().json()
        seen += [row[name] for row in answer["items"]]
        asked = asked | {"cursor": answer["next_cursor"]} if answer["next_cursor"] else None
    return _counted(seen, expected, time.perf_counter() - begun)


def stream(server: Server, path: str, name: str, params: dict[str, Any], expected: int) -> Any:
    """The same list as one Arrow stream."""
    begun = time.perf_counter()
    asked = {"params": params | {"fields": name}, "headers": {"Accept": ARROW}}
    answer = server.api.get(path, timeout=STREAM_SECONDS_MAX, **asked).raise_for_status()
    seen = pa.ipc.open_stream(answer.content).read_all()[name].to_pylist()
    return _counted(seen, expected, time.perf_counter() - begun)


def _counted(seen: list[str], expected: int, seconds: float) -> dict[str, int]:
    return {
        "rows": len(seen),
        "twice": len(seen) - len(set(seen)),
        "missing": max(0, expected - len(set(seen))),
        "rows_per_second": round(len(seen) / seconds),
    }


def part_of_month(walked: int, requests: int) -> tuple[dict[str, str], int]:
    """A window from the month's start with about `walked` of its requests; how many it holds."""
    span_microseconds = (JUNE.end_at - JUNE.start_at) // timedelta(microseconds=1)
    walked = min(walked, requests)
    length = span_microseconds * walked // requests
    end_at = JUNE.start_at + timedelta(microseconds=length)
    inside = -(-length * requests // span_microseconds)
    return {"start_at": MONTH["start_at"], "end_at": end_at.astimezone(UTC).isoformat()}, inside


def main() -> None:
    """Fill, serve, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("requests", 10_000_000), ("invoices", 100_000), ("walked", 1_000_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=10, help="of ingest alone")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "home", requests=asked.requests, invoices=asked.invoices)
        server = Server(folder)
        try:
            figures = measure(server, asked)
        finally:
            server.stop()
    json.dump(vars(asked) | figures, sys.stdout, indent=1)


def measure(server: Server, asked: argparse.Namespace) -> dict[str, Any]:
    """Ingest alone; reads at half its rate; ingest beside the reads; paging."""
    with ingesting(server, 100_000) as alone:
        time.sleep(asked.seconds)
    half = alone["legs_per_second"] / 2
    with ingesting(server, int(alone["next_batch"]), half) as paced:
        reads = time_reads(server, asked.rounds)
    with ingesting(server, int(paced["next_batch"])) as beside:
        time_reads(server, max(asked.rounds // 3, 2))
    window, inside = part_of_month(asked.walked, asked.requests)
    with ingesting(server, int(beside["next_batch"]), half):
        requests = walk(server, "/v1/requests", "request_id", window, inside)
        streamed = stream(server, "/v1/requests", "request_id", window, inside)
        invoices = walk(server, "/v1/invoices", "number", {}, asked.invoices)
    return {
        "reads": reads,
        "ingest": {
            "alone_legs_per_second": round(alone["legs_per_second"]),
            "paced_legs_per_second": round(paced["legs_per_second"]),
            "beside_reads_legs_per_second": round(beside["legs_per_second"]),
            "ratio": round(beside["legs_per_second"] / alone["legs_per_second"], 3),
        },
        "paging": {"requests": requests, "streamed": streamed, "invoices": invoices},
    }


if __name__ == "__main__":
    main()
