"""Ingest without HTTP: `append_legs` against a bare insert of the same rows in the same batches.

Prints {"bare_insert_rows_per_second", "append_legs_rows_per_second", "ratio", …}. Both write to a
DuckDB file with the store's settings; they take turns batch by batch, so that a busy machine slows
both. Flatness: the time of one more batch on a table with 10 M legs, made inside DuckDB, against
the same on an empty one.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter

import duckdb
import pyarrow as pa

from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.store.connect import Store, open_store
from metering.wire import LEG_SCHEMA

BATCH_ROWS = 50_000
BATCHES = 24
REPEATS = 7
LARGE_ROWS = 10_000_000
START = datetime(2026, 6, 1, tzinfo=UTC)
NOW = START + timedelta(days=1)

BARE_INSERT = """
INSERT INTO leg BY NAME
SELECT 0 AS ingest_seq, now()::TIMESTAMP AS ingested_at, '' AS sender, event_id::UUID AS event_id,
    event_id::UUID AS content_hash, * EXCLUDE (event_id)
FROM incoming
"""
MAKE_LEGS = """
SELECT
    md5(i::VARCHAR) AS event_id,
    CASE i % 2 WHEN 0 THEN 'prefill' ELSE 'decode' END AS stage,
    'chat' AS operation,
    md5(i::VARCHAR || 'r') AS engine_request_id,
    '10.0.0.' || (i % 4) || ':8998:' || (hash(i // 2) >> 1) AS join_key,
    'p' || (i % 6) AS node_id, 'main' AS pool, 'sglang' AS engine, '0.5.6' AS engine_version,
    't-' || (hash(i) % 1000) AS tenant_id, 'p-' || (hash(i) % 7) AS project_id,
    'k-' || (hash(i) % 3) AS api_key_id, 'glm-5.2' AS model_id, 'ok' AS status,
    ($start_at + to_microseconds(i * 2000 - (hash(i) % 9000000)::BIGINT))::TIMESTAMPTZ
        AS started_at,
    ($start_at + to_microseconds(i * 2000))::TIMESTAMPTZ AS finished_at,
    100 + (hash(i) % 65000)::BIGINT AS input_tokens, (hash(i) % 100)::BIGINT AS cached_input_tokens,
    (hash(i) % 900)::BIGINT AS output_tokens,
    (hash(i, 1) % 1000000) / 1e6 AS queue_seconds, (hash(i, 2) % 1000000) / 1e6 AS prefill_seconds,
    (hash(i, 3) % 1000000) / 1e6 AS ttft_seconds, (hash(i, 4) % 1000000) / 1e6 AS e2e_seconds,
    'sglang_export' AS source, 'export-2026060100.jsonl:' || (i * 1500) AS source_position
FROM range($first, $first + $rows) AS t(i)
"""


def legs(number: int, rows: int = BATCH_ROWS) -> pa.Table:
    """Batch `number`: legs of a busy cluster, 500 a second, none of them in another batch."""
    with duckdb.connect() as maker:
        maker.execute("SET TimeZone = 'UTC'")
        parameters = {"start_at": START.replace(tzinfo=None), "first": number * rows, "rows": rows}
        made = maker.execute(MAKE_LEGS, parameters).to_arrow_table()
    names = set(made.column_names)
    columns = [
        made.column(f.name).cast(f.type) if f.name in names else pa.nulls(rows, f.type)
        for f in LEG_SCHEMA
    ]
    return pa.Table.from_arrays(columns, schema=LEG_SCHEMA).combine_chunks()


def seconds(work: Callable[[], object]) -> float:
    """Wall time of `work`."""
    started = perf_counter()
    work()
    return perf_counter() - started


def insert_bare(cursor: duckdb.DuckDBPyConnection, table: pa.Table) -> None:
    """What anybody would do: register, insert, commit."""
    cursor.register("incoming", table)
    cursor.execute("BEGIN")
    cursor.execute(BARE_INSERT)
    cursor.execute("COMMIT")
    cursor.unregister("incoming")


def append(store: Store, table: pa.Table) -> float:
    """Seconds of one append of `table`."""
    batch = LegBatch(table=table, sender="bench")
    cursor = store.cursor()
    return seconds(lambda: append_legs(cursor, [batch], NOW, check_clock=NOW))


def compare(folder: Path) -> dict[str, float]:
    """Bare insert and append in turns, to a file each; and one batch sent again."""
    bare, full = open_store(folder / "bare.duckdb"), open_store(folder / "full.duckdb")
    cursor = bare.cursor()
    bare_seconds = append_seconds = 0.0
    for number in range(BATCHES):
        table = legs(number)
        bare_seconds += seconds(lambda table=table: insert_bare(cursor, table))
        append_seconds += append(full, table)
    resent_seconds = append(full, legs(1))
    bare.close()
    full.close()
    rows = BATCHES * BATCH_ROWS
    return {
        "rows_per_batch": BATCH_ROWS,
        "bare_insert_rows_per_second": round(rows / bare_seconds),
        "append_legs_rows_per_second": round(rows / append_seconds),
        "ratio": round(bare_seconds / append_seconds, 3),
        "resend_rows_per_second": round(BATCH_ROWS / resent_seconds),
    }


def with_bad_time(table: pa.Table) -> pa.Table:
    """`table` with its first leg finished three days before all others."""
    place = LEG_SCHEMA.get_field_index("finished_at")
    field = LEG_SCHEMA.field(place)
    times = [START - timedelta(days=3), *table.column(place).to_pylist()[1:]]
    return table.set_column(place, field, pa.array(times, field.type))


def flatness(folder: Path) -> dict[str, float]:
    """Median seconds of a batch of 20,000 on an empty table and behind LARGE_ROWS of the past."""
    small, large = open_store(folder / "small.duckdb"), open_store(folder / "large.duckdb")
    cursor = large.cursor()
    step = 1_000_000
    for number in range(LARGE_ROWS // step):
        insert_bare(cursor, legs(number, step))
    behind = LARGE_ROWS // 20_000
    pairs = [
        (append(small, table), append(large, table))
        for table in (legs(behind + n, 20_000) for n in range(REPEATS))
    ]
    one_bad_time = append(large, with_bad_time(legs(behind + REPEATS, 20_000)))
    small.close()
    large.close()
    on_empty, on_large = (median(column) for column in zip(*pairs, strict=True))
    return {
        "seconds_on_empty_table": round(on_empty, 4),
        "seconds_on_10m_rows": round(on_large, 4),
        "flatness": round(on_empty / on_large, 3),
        "seconds_on_10m_rows_with_one_bad_time": round(one_bad_time, 4),
    }


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        figures = compare(Path(folder)) | flatness(Path(folder))
    json.dump(figures, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
