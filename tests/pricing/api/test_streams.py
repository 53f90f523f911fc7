"""Whole lists in CSV and Arrow: every row once, flat in memory, never a part in place of all."""

import gc
import threading
import tracemalloc
from dataclasses import replace

import httpx
import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry

from metering.errors import ReadTimeout
from metering.store.readers import Readers
from pricing.api.app import create_app
from pricing.api.paging import CHUNK_ROWS
from tests.pricing.api.conftest import BOOK, open_house
from tests.pricing.api.served import served

ROWS = 5 * CHUNK_ROWS + 7
OCTOBER = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-11-01T00:00:00Z"}
SEPTEMBER = {"start_at": "2026-09-01T00:00:00Z", "end_at": "2026-10-01T00:00:00Z"}
CSV, ARROW = {"Accept": "text/csv"}, {"Accept": "application/vnd.apache.arrow.stream"}
# requests of $month, two a second: of each pair one is of t-alder
REQUESTS = """
INSERT INTO request BY NAME
SELECT
    1 AS settle_seq, $month::TIMESTAMP AS settled_at,
    format('{:032x}', i)::UUID AS request_id, 0 AS part,
    1 AS revision, 1 AS sign, 'settled' AS cause, 'billed' AS disposition, 1 AS request_count,
    $month::TIMESTAMP + to_seconds(i // 2) AS billing_at, billing_at AS finished_at,
    if(i % 2 = 0, 't-alder', 't-birch') AS tenant_id, 'm-river' AS model_id, true AS output_known,
    'unified' AS input_stage, 'unified' AS output_stage,
    0 AS price_key, 0 AS flags, request_id AS legs_hash,
    0 AS uncached_tokens, 0 AS cached_tokens, 0 AS cached_explicit_tokens, 0 AS cache_write_tokens,
    0 AS cache_write_1h_tokens, 0 AS unsplit_tokens, 7 AS output_tokens, 0 AS reasoning_tokens,
    0 AS digest_1, 0 AS digest_2, 0 AS digest_3, 0 AS digest_4
FROM range($rows) AS r(i)
"""


@pytest.fixture(scope="module")
def many(ledger_template, tmp_path_factory):
    """A house with 20,007 requests in October and 8,007 in September, and its address."""
    with open_house(ledger_template, tmp_path_factory.mktemp("many")) as made:
        made.send("POST", "/v1/prices", json={"toml": BOOK})
        cursor = made.store.cursor()
        for month, rows in (("2026-10-01", ROWS), ("2026-09-01", 2 * CHUNK_ROWS + 7)):
            cursor.execute(REQUESTS, {"month": month, "rows": rows})
        with served(made.client.app) as made.url:
            yield made


def get(house, path, params, url=None, **headers):
    """The answer, its body read at once."""
    key = {"Authorization": f"Bearer {house.operator}"}
    return httpx.get((url or house.url) + path, params=params, headers=key | headers, timeout=60)


def test_csv_without_a_limit_is_the_whole_list(many):
    """20,007 requests and a header, none twice; the answer has no length and no cursor."""
    answer = get(many, "/v1/requests", OCTOBER | {"fields": "request_id"}, **CSV)
    lines = answer.text.splitlines()
    assert (lines[0], len(lines), len(set(lines))) == ("request_id", ROWS + 1, ROWS + 1)
    assert answer.headers["Transfer-Encoding"] == "chunked"
    assert not {"Content-Length", "Tokentill-Next-Cursor"} & set(answer.headers)


@pytest.mark.parametrize("order", ["forward", "backward"])
def test_arrow_without_a_limit_is_the_whole_list(many, order):
    """A batch for each chunk, in the order that was asked for."""
    answer = get(many, "/v1/requests", OCTOBER | {"order": order}, **ARROW)
    with pa.ipc.open_stream(answer.content) as stream:
        batches = list(stream)
    assert [batch.num_rows for batch in batches] == [CHUNK_ROWS] * 5 + [7]
    instants = pa.Table.from_batches(batches)["billing_at"].to_pylist()
    assert instants == sorted(instants, reverse=order == "backward")


def test_a_limit_still_asks_for_a_page(many):
    """100 rows and a cursor, as JSON has them."""
    answer = get(many, "/v1/requests", OCTOBER | {"limit": 100}, **CSV)
    assert len(answer.text.splitlines()) == 101
    assert answer.headers["Tokentill-Next-Cursor"]


def peak_bytes(house, params, headers):
    """The most memory of Python and Arrow together while a stream is sent and thrown away."""
    key = {"Authorization": f"Bearer {house.operator}"}
    pool, most, rows = pa.default_memory_pool(), 0, 0
    gc.collect()
    tracemalloc.start()
    with httpx.stream("GET", house.url + "/v1/requests", params=params, headers=key | headers) as a:
        for piece in a.iter_bytes():
            most, rows = max(most, pool.bytes_allocated()), rows + len(piece)
    peak = tracemalloc.get_traced_memory()[1] + most
    tracemalloc.stop()
    assert rows > 0
    return peak


@pytest.mark.parametrize("headers", [CSV, ARROW])
def test_memory_is_that_of_two_chunks(many, headers):
    """2.5 times the rows, the same memory, give or take a fifth."""
    few, all_of_them = (peak_bytes(many, month, headers) for month in (SEPTEMBER, OCTOBER))
    assert all_of_them < 1.2 * few, (few, all_of_them)


def test_a_tenant_streams_its_own(many):
    """Half of October's requests, all of t-alder (case C09)."""
    params = OCTOBER | {"tenant_id": "t-alder", "fields": "tenant_id"}
    lines = get(many, "/v1/requests", params, **CSV).text.splitlines()
    assert (len(lines), set(lines[1:])) == (ROWS // 2 + 2, {"t-alder"})


def failing_after(house, reads):
    """The application, whose reads take too long after that many of them."""
    left = iter(range(reads))

    def read(query):
        if next(left, None) is None:
            raise ReadTimeout("the query took longer than 30 s and was stopped")
        return house.services.read_usage(query)

    return create_app(replace(house.services, read_usage=read, registry=CollectorRegistry()))


@pytest.mark.parametrize("reads", [0, 1])
def test_what_fails_before_anything_is_sent_is_a_problem(many, reads):
    """503 with the reason, in the first chunk or the second."""
    with served(failing_after(many, reads)) as url:
        answer = get(many, "/v1/requests", OCTOBER, url, **CSV)
    assert (answer.status_code, "longer than 30 s" in answer.json()["detail"]) == (503, True)


def test_what_fails_later_breaks_the_connection(many):
    """The client cannot take the rows that it has for all of them."""
    with served(failing_after(many, 3)) as url, pytest.raises(httpx.RemoteProtocolError):
        get(many, "/v1/requests", OCTOBER, url, **CSV)


def test_no_reader_is_held_while_a_client_reads_slowly(many):
    """One reader: another read gets its turn in the middle of a stream that nobody reads on."""
    readers = Readers(many.store, readers=1, seconds_max=20)
    services = replace(many.services, read_usage=readers.read, registry=CollectorRegistry())
    key = {"Authorization": f"Bearer {many.operator}"}
    with served(create_app(services)) as url:
        path, params = url + "/v1/requests", OCTOBER
        with httpx.stream("GET", path, params=params, headers=key | ARROW, timeout=60) as slow:
            next(slow.iter_raw(64))
            other = get(many, "/v1/usage", OCTOBER, url)
    assert other.status_code == 200


def test_a_reader_that_does_not_come_free_is_a_503(many):
    """The wait has its limit too, and says so; ingest has a thread of its own."""
    readers, begun, ended = (
        Readers(many.store, readers=1, seconds_max=0.2),
        *(threading.Event() for _ in range(2)),
    )
    holder = threading.Thread(target=readers.read, args=[lambda _: begun.set() or ended.wait()])
    holder.start()
    begun.wait()
    try:
        services = replace(many.services, read_usage=readers.read, registry=CollectorRegistry())
        with served(create_app(services)) as url:
            answer = get(many, "/v1/requests", OCTOBER, url, **CSV)
    finally:
        ended.set()
        holder.join()
    assert (answer.status_code, "came free" in answer.json()["detail"]) == (503, True)


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/v1/usage", {"interval": "hour", "group_by": ["tenant_id", "model_id"]}),
        ("/v1/chargeback", {}),
        ("/v1/issuers", None),
    ],
)
@pytest.mark.parametrize("who", ["operator", "t-alder"])
def test_what_comes_in_runs_is_what_comes_whole(furnished, path, params, who):
    """CSV, Arrow and JSON hold the same rows, for the house and for a tenant."""
    key = furnished.tenant.get(who, furnished.operator)
    asked = {} if params is None else OCTOBER | params
    items = furnished.get(path, key, params=asked).json()["items"]
    lines = furnished.get(path, key, params=asked, headers=CSV).text.splitlines()
    table = pa.ipc.open_stream(furnished.get(path, key, params=asked, headers=ARROW).content)
    assert len(lines) - 1 == len(items)
    assert [row.get("tenant_id") for row in table.read_all().to_pylist()] == [
        row.get("tenant_id") for row in items
    ]


def test_a_stream_of_one_chunk_has_an_etag(furnished):
    """Small lists are asked for again for nothing."""
    first = furnished.get("/v1/usage", params=OCTOBER, headers=CSV)
    again = CSV | {"If-None-Match": first.headers["ETag"]}
    assert furnished.get("/v1/usage", params=OCTOBER, headers=again).status_code == 304
