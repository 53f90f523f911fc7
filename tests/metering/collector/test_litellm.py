"""LiteLLM's generic logger: its three log formats, its own recorded payload, and no prompt kept."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from metering.collector.decode import JSON, NDJSON, litellm_batch
from metering.collector.writer import IngestWriter
from metering.store.connect import Store, open_store
from tests.metering.collector.http_bodies import post
from tests.metering.collector.serve_collector import collector_app
from tests.metering.collector.test_fuzz import decode, objects
from tests.metering.store.leg_rows import batch, rows, send

RECORDED = datetime(2026, 11, 30, 14, tzinfo=UTC)  # half an hour after the payload's request
PATH = "/v1/usage/litellm"
PROMPT = "the moon is made of basalt"
NAMES = ["id", "status", "model", "startTime", "endTime", "prompt_tokens", "metadata", "messages"]


@pytest.fixture
def payload(shared: Path) -> dict:
    """What LiteLLM 1.110.2 posted."""
    [recorded] = json.loads((shared / "data/engines/litellm_payload.json").read_bytes())
    return recorded


@pytest.fixture
def client(store: Store) -> Iterator[TestClient]:
    """A client of the ingest routes on the payload's day."""
    writer = IngestWriter(store, lambda: RECORDED)
    with TestClient(collector_app(writer)) as opened:
        yield opened
    writer.close()


def test_the_recorded_payload_becomes_a_leg_of_the_gateway(
    client: TestClient, store: Store, shared: Path
) -> None:
    """As it came: 4,211 input of which 3,072 cached, 318 output; the id is the engine's."""
    body = (shared / "data/engines/litellm_payload.json").read_bytes()
    answer = post(client, body, path=PATH, content_type=JSON, tokentill_pool="main").json()
    assert (answer["accepted"], answer["rejected"]) == (1, 0)
    stored = rows(
        store,
        "SELECT stage, pool, tenant_id, join_key, input_tokens, cached_input_tokens, output_tokens"
        " FROM leg",
    )
    assert stored == [("gateway", "main", "team-acme", "req-01JABCDEF", 4211, 3072, 318)]


def test_every_log_format_names_the_same_records(client: TestClient, payload: dict) -> None:
    """json_array, then ndjson and single: nothing new. LiteLLM says JSON for ndjson too."""
    one, other = json.dumps(payload), json.dumps(payload | {"id": "req-2"})
    accepted = [
        post(client, body.encode(), path=PATH, content_type=kind).json()
        for body, kind in (
            (f"[{one}, {other}]", JSON),
            (f"{one}\n{other}", NDJSON),
            (f"{one}\n{other}\n", JSON),
            (one, JSON),
        )
    ]
    assert [answer["accepted"] for answer in accepted] == [2, 0, 0, 0]
    assert [answer["duplicate"] for answer in accepted] == [0, 2, 2, 1]


def test_no_prompt_is_kept_or_logged(
    client: TestClient, store: Store, payload: dict, capfd: pytest.CaptureFixture[str]
) -> None:
    """A good one, a refused one and a torn one, each with the prompt in every place it may be."""
    told = {"messages": PROMPT, "response": {"choices": [PROMPT]}, "error_str": PROMPT}
    good = json.dumps(payload | told)
    refused = json.dumps(payload | told | {"startTime": None})
    lines = [good, refused, json.dumps(payload | told)[:-1], f'"{PROMPT}"']
    answer = post(client, "\n".join(lines).encode(), path=PATH, content_type=JSON)
    assert (answer.json()["accepted"], answer.json()["rejected"]) == (1, 3)
    tables = [name for (name,) in rows(store, "SELECT table_name FROM duckdb_tables()")]
    kept = [str(rows(store, f"FROM {name}")) for name in tables]
    assert "req-01JABCDEF" in str(kept)
    assert PROMPT not in str(kept) + answer.text + "".join(capfd.readouterr())


def test_a_body_that_is_no_payload_is_refused(client: TestClient) -> None:
    """A torn array has no records to tell apart: 422; an unknown content type: 415."""
    assert post(client, b'[{"id": 1', path=PATH, content_type=JSON).status_code == 422
    assert post(client, b"{}", path=PATH, content_type="text/plain").status_code == 415


@settings(max_examples=100)
@given(payloads=st.lists(objects(NAMES), max_size=4), data=st.binary(max_size=100))
def test_any_payload(payloads: list[dict], data: bytes) -> None:
    """As many records as payloads; the store takes all of it; any bytes end in a typed answer."""
    decode(data, JSON, litellm_batch)
    read = decode(json.dumps(payloads).encode(), JSON, litellm_batch)
    assert read.records == len(payloads)
    store = open_store(None)
    [answer] = send(store, batch(table=read.table, refused=read.refused))
    assert answer.rejected >= len(read.refused)
    store.close()
