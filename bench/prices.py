"""Prices at scale: settlement by a book of 5,000 entries against 10, and a full re-rate.

Legs and requests are generated inside DuckDB, so the figures are those of settling and of rating
anew. Prints one JSON object; run: python bench/prices.py [--pairs 200000] [--requests 10000000]
"""

import argparse
import json
import tempfile
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

from month import REQUESTS, USAGE_HOURLY

from metering.store.connect import open_store
from pricing.directory import Directory
from pricing.policy import Policy
from pricing.price_book import Book, Catalogue, PriceQuery
from pricing.price_entry import Entry
from pricing.runs.price_cells import PriceCells, insert_price_keys
from pricing.runs.reprice import reprice_open
from pricing.runs.settle import Rules, settle_new

NOW = datetime(2026, 7, 1, tzinfo=UTC)
START = datetime(2026, 1, 1, tzinfo=UTC)
# pairs of one prefill and one decode leg over a day of June, each key and id once
LEGS = """
INSERT INTO leg BY NAME
SELECT
    1 + 2 * i + s AS ingest_seq, TIMESTAMP '2026-06-02' AS ingested_at, 'bench' AS sender,
    format('{:032x}', 2 * i + s)::UUID AS event_id, event_id AS content_hash,
    hash(i)::UBIGINT AS key_hash, CASE s WHEN 0 THEN 'prefill' ELSE 'decode' END AS stage,
    'chat' AS operation, 'k' || i AS join_key, stage[1] || (i % 16) AS node_id, 'pd' AS pool,
    't' || (hash(i) % 200) AS tenant_id, 'p1' AS project_id, 'm' || (i % $models) AS model_id,
    TIMESTAMP '2026-06-01' + to_microseconds((i * 86400000000) // $pairs) AS started_at,
    started_at + to_seconds(1 + 8 * s) AS finished_at,
    20000 + (hash(i) % 40000)::BIGINT AS input_tokens,
    input_tokens - 500 - (hash(i + 1) % 5000)::BIGINT AS cached_input_tokens,
    CASE s WHEN 0 THEN 1 ELSE (hash(i + 3) % 900)::BIGINT END AS output_tokens, 'ok' AS status
FROM range($pairs) AS r(i), range(2) AS side(s)
ORDER BY ingest_seq
"""


def listed(models: int, *, input_price: str = "8", entries: int = 1) -> Book:
    """A book of so many models, each with so many dated entries."""
    prices = {
        "input": Decimal(input_price),
        "cached_input": Decimal(2),
        "output": Decimal(28),
    }
    return Book(
        name="bench",
        currency="CNY",
        zone=ZoneInfo("Asia/Shanghai"),
        entries=tuple(
            Entry(
                model=f"m{number}",
                effective_from=START.replace(month=1 + place),
                prices=prices,
                aliases=(f"m{number}-fp8",) if place == 0 else (),
                match=(f"m{number}-????????",) if place == 0 else (),
            )
            for number in range(models)
            for place in range(entries)
        ),
        revision=input_price,
    )


def rules(book: Book) -> Rules:
    """By these prices and nothing else."""
    cells = PriceCells(Catalogue([book], book.name), catalogue_id=book.revision)
    return Rules(prices=cells, policy=Policy(), directory=Directory())


def settled_per_second(book: Book, folder: Path, *, pairs: int, models: int) -> float:
    """Requests settled and priced per second, from legs that lie in the store."""
    store = open_store(folder / f"settle-{len(book.entries)}-{models}.duckdb", memory_limit="4GB")
    cursor = store.cursor()
    cursor.execute(LEGS, {"pairs": pairs, "models": models})
    begun = time.perf_counter()
    used = rules(book)  # building the look-ups is part of it
    while settle_new(cursor, used, now=NOW).legs:
        pass
    seconds = time.perf_counter() - begun
    store.close()
    return pairs / seconds


def rerated_per_second(folder: Path, requests: int) -> dict[str, float]:
    """A month of requests in which every price changes: each is reversed and written anew."""
    old, new = listed(8), listed(8, input_price="7")
    catalogue = Catalogue([old], old.name)
    quotes = [catalogue.quote(PriceQuery(model_id=f"m{n}", at=NOW)).price for n in range(8)]
    keys = {price.id: price for price in quotes if price is not None}
    store = open_store(folder / "rerate.duckdb", memory_limit="4GB")
    cursor = store.cursor()
    insert_price_keys(cursor, keys)
    cursor.execute(REQUESTS, {"requests": requests, "keys": list(keys)})
    cursor.execute(USAGE_HOURLY)
    begun = time.perf_counter()
    changed = sum(change.requests for change in reprice_open(cursor, rules(new), now=NOW))
    seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    again = sum(change.requests for change in reprice_open(cursor, rules(new), now=NOW))
    nothing_seconds = time.perf_counter() - begun
    store.close()
    if (changed, again) != (requests, 0):
        raise SystemExit(f"expected {requests} requests rated anew, then none; {changed}, {again}")
    return {
        "rerate_requests": requests,
        "rerate_seconds": seconds,
        "rerate_requests_per_second": requests / seconds,
        "rerate_without_change_requests_per_second": requests / nothing_seconds,
    }


def main() -> None:
    """Measure, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--requests", type=int, default=10_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = settled_per_second(listed(10), folder, pairs=asked.pairs, models=10)
        large = listed(1000, entries=5)
        same = settled_per_second(large, folder, pairs=asked.pairs, models=10)
        spread = settled_per_second(large, folder, pairs=asked.pairs, models=1000)
        figures = {
            "pairs": asked.pairs,
            "book_10_requests_per_second": small,
            "book_5000_requests_per_second": same,
            "book_5000_ratio": same / small,
            "book_5000_all_models_requests_per_second": spread,
        }
        print(json.dumps(figures | rerated_per_second(folder, asked.requests)))


if __name__ == "__main__":
    main()
