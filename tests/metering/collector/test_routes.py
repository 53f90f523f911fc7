"""The ingest routes: statuses, answers, and what a node's key may write."""

import gzip
from collections.abc import Iterator
from datetime import timedelta
from time import sleep

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from metering.collector.decode import ARROW, EVENT
from metering.collector.limits import Limits
from metering.collector.writer import IngestWriter, QueueLimits
from metering.store.connect import Store
from metering.wire import SAMPLE_SCHEMA, to_batch, to_ipc
from tests.metering.collector.http_bodies import event, events, line, ndjson, post
from tests.metering.collector.serve_collector import collector_app
from tests.metering.store.leg_rows import NOW, batch, leg, rows

LIMITS = Limits(body_bytes=20_000, unpacked_bytes=100_000, records=50)


@pytest.fixture
def client(writer: IngestWriter) -> Iterator[TestClient]:
    """A client of the real application, in this process."""
    with TestClient(collector_app(writer, LIMITS)) as opened:
        yield opened


def test_arrow_is_stored_and_answered(client: TestClient, store: Store) -> None:
    """Counts, and the record that was refused by index, field and reason."""
    body = to_ipc(to_batch([leg("a"), leg("b", output_tokens=-1)]))
    answer = post(client, body, content_type=ARROW)
    assert answer.status_code == 200
    assert answer.json() == {
        "accepted": 1,
        "duplicate": 0,
        "conflict": 0,
        "reattributed": 0,
        "rejected": 1,
        "records": [
            {
                "index": 1,
                "outcome": "rejected",
                "field": "output_tokens",
                "reason": "must lie in 0..10^12, got -1",
            }
        ],
    }
    assert rows(store, "SELECT sender FROM leg") == [("key-1",)]


def test_an_import_may_be_older_than_four_hundred_days(client: TestClient) -> None:
    """Contract §2: outside `import` a time more than 400 days back is rejected."""
    old = NOW - timedelta(days=500)
    body = to_ipc(to_batch([leg("old", started_at=old, finished_at=old)]))
    headers = {"Content-Type": ARROW}
    assert client.post("/v1/usage/legs", content=body, headers=headers).json()["rejected"] == 1
    headers["Tokentill-Import"] = "true"
    assert client.post("/v1/usage/legs", content=body, headers=headers).json()["accepted"] == 1


def test_bad_lines_do_not_stop_good_ones(client: TestClient) -> None:
    """Index is the place among the body's records; each has field and reason."""
    body = ndjson(
        line(None),
        '{"stage": "pre',
        line(None, started_at="2026-06-01T00:00:00"),
        line(None, input_tokens=1.5),
        line(None, promt_tokens=1),
        "",
        line("x", stage="encode"),
    )
    answer = post(client, body).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 5)
    found = [(record["index"], record["field"]) for record in answer["records"]]
    assert found == [
        (1, "record"), (2, "started_at"), (3, "input_tokens"), (4, "promt_tokens"), (5, "stage")
    ]  # fmt: skip


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_packed_bodies_are_unpacked(client: TestClient, coding: str) -> None:
    """Content-Encoding of any of the two."""
    body = ndjson(line(None))
    packed = gzip.compress(body) if coding == "gzip" else pa.compress(body, "zstd", asbytes=True)
    assert post(client, packed, content_encoding=coding).json()["accepted"] == 1


@pytest.mark.parametrize(
    ("body", "headers", "status", "says"),
    [
        (b"{}", {"content_type": "text/plain"}, 415, "application/vnd.apache.arrow.stream"),
        (b"{}", {"content_encoding": "br"}, 415, "expected one of gzip, zstd"),
        (b"junk", {"content_encoding": "gzip"}, 422, "not gzip"),
        (b"junk", {"content_type": ARROW}, 422, "no Arrow IPC stream"),
        (b"[{]", {}, 422, "JSON array of CloudEvents"),
        (b"x" * 20_001, {}, 413, "at most 20,000"),
        (gzip.compress(b"x" * 100_001), {"content_encoding": "gzip"}, 413, "when unpacked"),
        (ndjson(*["{}"] * 51), {}, 413, "more than 50 records"),
        (b"", {"key": "reader"}, 403, "ingest:write"),
        (b"", {"tokentill_watermark": "2026-06-01"}, 422, "Tokentill-Watermark"),
        (b"", {"tokentill_stage": "encode"}, 422, "Tokentill-Stage"),
        (b"", {"tokentill_pool": "x" * 513}, 422, "Tokentill-Pool"),
    ],
)
def test_a_refused_body_says_why(
    client: TestClient, body: bytes, headers: dict[str, str], status: int, says: str
) -> None:
    """Status of contract §2; nothing is stored."""
    answer = post(client, body, **headers)
    assert (answer.status_code, says in answer.json()["detail"]) == (status, True)


def test_a_body_without_a_length_is_cut_off_at_its_limit(client: TestClient) -> None:
    """Chunked: refused once the limit is passed, not after all has been read."""

    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 1000

    headers = {"authorization": "Bearer key-1", "content-type": "application/x-ndjson"}
    assert client.post("/v1/usage/legs", content=chunks(), headers=headers).status_code == 413


def test_a_full_queue_is_429_with_retry_after(store: Store) -> None:
    """Known before the body is read."""
    writer = IngestWriter(store, lambda: NOW, limits=QueueLimits(batches=1))
    with TestClient(collector_app(writer)) as client, store.write_lock:
        first = writer.submit(batch(leg("a")))
        while writer.status().waiting_batches:
            sleep(0.001)  # until the writer has taken it and waits for the lock
        second = writer.submit(batch(leg("b")))
        answer = post(client, ndjson(line(None)))
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert (first.result(30).accepted, second.result(30).accepted) == (1, 1)
    writer.close()


def test_a_node_key_writes_for_its_node_only(client: TestClient, store: Store) -> None:
    """Rows, headers and refused records of another node: 403; rows of no node are its own."""
    other = {"key": "node-p1"}
    assert post(client, ndjson(line(None)), **other).status_code == 403
    assert post(client, b"", tokentill_node="p2", **other).status_code == 403
    reject = {"record": "{", "field": "record", "reason": "torn", "node_id": "p2"}
    path = "/v1/usage/rejects"
    assert post(client, ndjson(reject), path=path, **other).status_code == 403
    unnamed = to_ipc(to_batch([leg("a", node_id=None), leg("b", node_id="p1")]))
    assert post(client, unnamed, content_type=ARROW, **other).json()["accepted"] == 2
    assert rows(store, "SELECT DISTINCT node_id FROM leg") == [("p1",)]


def test_samples_come_as_arrow_or_ndjson(client: TestClient) -> None:
    """The same scrape in the other form is a duplicate; a bad line says field and reason."""
    sample = {"sampled_at": NOW, "node_id": "p1", "source": "sglang_metrics", "device_count": 8}
    path = "/v1/usage/samples"
    body = to_ipc(to_batch([sample], SAMPLE_SCHEMA))
    assert post(client, body, path=path, content_type=ARROW).json()["accepted"] == 1
    text = sample | {"sampled_at": NOW.isoformat()}
    body = ndjson(text, text | {"device_count": "8"}, text | {"sampled_at": "noon"})
    answer = post(client, body, path=path).json()
    assert (answer["duplicate"], answer["rejected"]) == (1, 2)
    assert [record["field"] for record in answer["records"]] == ["device_count", "sampled_at"]


def test_what_a_sidecar_could_not_read_lands_in_quarantine(
    client: TestClient, store: Store
) -> None:
    """As the sidecar described it, however often it is sent."""
    reject = {
        "record": '{"id": "r1", "prom',
        "field": "record",
        "reason": "torn line",
        "source": "sglang_export",
        "position": "export.jsonl:81",
        "node_id": "p1",
        "finished_at": None,
    }
    for _ in range(2):
        answer = post(client, ndjson(reject, "{}"), path="/v1/usage/rejects").json()
        assert answer["rejected"] == 2
    assert rows(store, "SELECT node_id, field, reason, record FROM quarantine ORDER BY ALL") == [
        ("p1", "record", "torn line (sglang_export export.jsonl:81)", '{"id": "r1", "prom'),
        (None, "record", "Object missing required field `record`", "{}"),
    ]


def test_the_watermark_header_moves_the_mark_of_its_node(client: TestClient, store: Store) -> None:
    """With an empty batch; one that claims the future is taken as of now."""
    said = {"tokentill_node": "p1", "tokentill_stage": "prefill", "tokentill_pool": "main"}
    for mark in ("2026-06-01T19:00:00+08:00", "2099-01-01T00:00:00Z"):
        post(client, b"", tokentill_watermark=mark, **said)
    query = "SELECT node_id, stage, pool, watermark_at::VARCHAR FROM node_watermark"
    assert rows(store, query) == [
        ("p1", "prefill", "main", "2026-06-01 11:00:00"),
        ("p1", "prefill", "main", "2026-06-01 12:00:00"),
    ]


def test_cloud_events_are_known_by_id_and_source(client: TestClient) -> None:
    """Contract §2: the same id of another source is another event; a repeat is a duplicate."""
    body = events(event("1"), event("2"), event("1", source="/other"))
    assert post(client, body).json()["accepted"] == 3
    assert post(client, body).json()["duplicate"] == 3
    changed = event("1", data=line(None, output_tokens=51))
    assert post(client, events(changed)).json()["conflict"] == 1


def test_an_event_names_tenant_and_finish_where_its_data_does_not(
    client: TestClient, store: Store
) -> None:
    """subject and time of CloudEvents; what the data says stands."""
    data = {k: v for k, v in line(None).items() if k not in {"tenant_id", "finished_at"}}
    stated = event("1", subject="t-oak", time="2026-06-01T11:00:00Z", data=data)
    named = event("2", subject="t-oak")
    single = post(client, events(stated)[1:-1], content_type=EVENT)
    assert single.json()["accepted"] == 1
    assert post(client, events(named)).json()["accepted"] == 1
    assert rows(store, "SELECT tenant_id, hour(finished_at) FROM leg ORDER BY ALL") == [
        ("t-alder", 12),
        ("t-oak", 11),
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"specversion": "0.3"}, "specversion"),
        ({"type": "prompt"}, "type"),
        ({"id": ""}, "id"),
        ({"id": 7}, "record"),
        ({"data": "x"}, "data"),
        ({"data": {"event_id": "mine"}}, "event_id"),
        ({"data": {"stage": "prefill"}}, "model_id"),
    ],
)
def test_an_unreadable_event_is_refused_alone(
    client: TestClient, change: dict[str, object], field: str
) -> None:
    """The event beside it is stored."""
    answer = post(client, events(event("good"), event("bad", **change))).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 1)
    assert answer["records"][0]["field"] == field


def test_the_path_of_openmeter_answers_as_its_clients_expect(client: TestClient) -> None:
    """204 for success; what was set aside is told with 200."""
    assert post(client, events(event()), path="/api/v1/events").status_code == 204
    answer = post(client, events(event(type="x")), path="/api/v1/events")
    assert (answer.status_code, answer.json()["rejected"]) == (200, 1)


def test_openapi_describes_bodies_answers_and_failures(client: TestClient) -> None:
    """Each ingest route: every content type, an example, 200 and the failures."""
    paths = client.get("/openapi.json").json()["paths"]
    for path in ("/v1/usage/legs", "/v1/usage/samples", "/v1/usage/rejects", "/api/v1/events"):
        route = paths[path]["post"]
        assert {"200", "403", "413", "415", "422", "429", "503"} <= set(route["responses"])
        contents = route["requestBody"]["content"]
        assert all("example" in c or kind == ARROW for kind, c in contents.items())
