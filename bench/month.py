"""A month of 10 million requests: how fast its sums, one tenant's month and its rating are read.

Requests are generated inside DuckDB, so the figures are those of reading, not of writing them.
Prints one JSON object; run: python bench/month.py [--requests 10000000]
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from metering.store.connect import open_store
from metering.windows import Window
from pricing.price_key import PriceKey
from pricing.reports.chargeback import chargeback_report
from pricing.reports.revenue_servers import servers_report
from pricing.runs.price_cells import insert_price_keys

JUNE = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
KEYS = {
    key.id: key
    for key in (
        PriceKey(
            currency="CNY",
            book="bench",
            book_revision="1",
            entry=f"m{number}",
            input_price=Decimal(8),
            cached_price=Decimal(2),
            cached_explicit_price=Decimal(2),
            cache_write_price=Decimal(8),
            cache_write_1h_price=Decimal(8),
            output_price=Decimal(28),
            reasoning_price=Decimal(28),
        )
        for number in range(8)
    )
}
REQUESTS = """
INSERT INTO request BY NAME
SELECT
    1 AS settle_seq, TIMESTAMP '2026-07-01' AS settled_at,
    format('{:032x}', i)::UUID AS request_id, 0 AS part, 1 AS revision, 1 AS sign,
    'settled' AS cause, 'billed' AS disposition, 1 AS request_count,
    TIMESTAMP '2026-06-01'
        + to_microseconds(((i::HUGEINT * 2592000000000) // $requests)::BIGINT) AS billing_at,
    billing_at + INTERVAL 9 SECOND AS finished_at,
    't' || (hash(i) % 200) AS tenant_id, 'p' || (hash(i + 1) % 3) AS project_id,
    'm' || (i % 8) AS model_id, 'chat' AS operation, 'pd' AS pool,
    'p' || (i % 16) AS input_node_id, 'd' || (i % 32) AS output_node_id,
    'prefill' AS input_stage, 'decode' AS output_stage,
    request_id AS input_leg_id, request_id AS output_leg_id,
    20000 + (hash(i + 2) % 40000)::BIGINT AS input_tokens,
    500 + (hash(i + 4) % 5000)::BIGINT AS uncached_tokens,
    input_tokens - uncached_tokens AS cached_tokens, 0 AS cached_explicit_tokens,
    0 AS cache_write_tokens, 0 AS cache_write_1h_tokens, 0 AS unsplit_tokens,
    (hash(i + 3) % 900)::BIGINT AS output_tokens, 0 AS reasoning_tokens, true AS output_known,
    ($keys)[1 + i % 8] AS price_key, 0 AS flags, request_id AS legs_hash,
    (hash(i + 5) >> 1)::BIGINT AS digest_1, (hash(i + 6) >> 1)::BIGINT AS digest_2,
    (hash(i + 7) >> 1)::BIGINT AS digest_3, (hash(i + 8) >> 1)::BIGINT AS digest_4
FROM range($requests) AS r(i)
"""
USAGE_HOURLY = """
INSERT INTO usage_hourly BY NAME
SELECT
    date_trunc('hour', billing_at) AS bucket_at, tenant_id, project_id, cost_centre_id, model_id,
    operation, disposition, reason, price_key, flags, adjusts_period, 1 AS settle_seq,
    sum(request_count)::BIGINT AS requests,
    sum(uncached_tokens)::BIGINT AS uncached_tokens, sum(cached_tokens)::BIGINT AS cached_tokens,
    0 AS cached_explicit_tokens, 0 AS cache_write_tokens, 0 AS cache_write_1h_tokens,
    0 AS unsplit_tokens, sum(output_tokens)::BIGINT AS output_tokens, 0 AS reasoning_tokens,
    sum(digest_1) AS digest_1, sum(digest_2) AS digest_2,
    sum(digest_3) AS digest_3, sum(digest_4) AS digest_4
FROM request GROUP BY ALL
"""
BY_DAY = """
SELECT tenant_id, bucket_at::DATE AS day, sum(amount)
FROM usage_money WHERE disposition = 'billed' GROUP BY ALL
"""
# all rows as if they stood, less twice the reversals: one key to group by, and zone maps leave out
# whatever holds no reversal
RATED = """
WITH summed AS (
    SELECT price_key, 1 AS weight, sum(uncached_tokens)::BIGINT AS uncached,
           sum(cached_tokens)::BIGINT AS cached, sum(output_tokens)::BIGINT AS output
    FROM request WHERE disposition = 'billed' GROUP BY price_key
    UNION ALL
    SELECT price_key, -2, sum(uncached_tokens)::BIGINT, sum(cached_tokens)::BIGINT,
           sum(output_tokens)::BIGINT
    FROM request WHERE disposition = 'billed' AND sign = -1 GROUP BY price_key
)
SELECT sum(weight * (charge(uncached, k.input_price) + charge(cached, k.cached_price)
                     + charge(output, k.output_price)))
FROM summed JOIN price_key AS k USING (price_key)
"""
# the same columns read and summed, without prices: what DuckDB needs at least
PLAIN = """
SELECT sum(uncached_tokens), sum(cached_tokens), sum(output_tokens), sum(sign), max(price_key)
FROM request WHERE disposition = 'billed'
"""


def seconds_of(work: Callable[[], Any], rounds: int = 3) -> float:
    """The least of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


def measure(cursor: duckdb.DuckDBPyConnection, requests: int) -> dict[str, float]:
    """Seconds of each read, and rating as a ratio to plain sums over the same columns."""
    rated = seconds_of(lambda: cursor.execute(RATED).fetchall())
    plain = seconds_of(lambda: cursor.execute(PLAIN).fetchall())
    one = seconds_of(lambda: chargeback_report(cursor, JUNE, tenant_id="t7"))
    return {
        "requests": requests,
        "tenant_by_day_seconds": seconds_of(lambda: cursor.execute(BY_DAY).fetchall()),
        "one_tenant_month_seconds": one,
        "servers_month_seconds": seconds_of(lambda: servers_report(cursor, JUNE)),
        "rating_requests_per_second": requests / rated,
        "rating_ratio_to_plain_sums": plain / rated,
    }


def main() -> None:
    """Generate the month, measure, print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000_000)
    requests = parser.parse_args().requests
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "usage.duckdb", memory_limit="4GB")
        cursor = store.cursor()
        insert_price_keys(cursor, KEYS)
        cursor.execute(REQUESTS, {"requests": requests, "keys": list(KEYS)})
        cursor.execute(USAGE_HOURLY)
        print(json.dumps(measure(cursor, requests)))
        store.close()


if __name__ == "__main__":
    main()
