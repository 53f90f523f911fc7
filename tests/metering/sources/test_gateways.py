"""Records of gateways: LiteLLM, Dynamo, Envoy AI Gateway, and our own proxy's exchanges."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.errors import UsageInvalid
from metering.sources import PARSERS, parse_line
from metering.sources.openai_usage import Exchange, to_record
from metering.sources.record import NodeIdentity, Row
from metering.sources.records import records_of
from metering.usage import UsageLeg
from metering.wire import to_batch

NODE = NodeIdentity(node_id="gw", stage="unified", model_id="configured", tenant_label="x-tenant")
COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")


def parsed(source: str, record: bytes) -> Row:
    row = parse_line(source, record, NODE, "f:0")
    assert row is not None
    UsageLeg(**row)
    to_batch([row])
    return row


def sample(shared: Path, name: str) -> Any:
    text = (shared / "data/engines" / name).read_text()
    value = json.loads(text)
    return value[0] if isinstance(value, list) else value


def refused(source: str, record: Any) -> str:
    with pytest.raises(UsageInvalid) as refusal:
        parse_line(source, json.dumps(record).encode(), NODE, "f:0")
    return refusal.value.field


def test_litellm_payload(shared: Path) -> None:
    """The sample: 4211 / 318, cached 3072 only in metadata; owner from LiteLLM's key record."""
    (record,) = records_of((shared / "data/engines/litellm_payload.json").read_bytes())
    row = parsed("litellm", record)
    assert [row[name] for name in COUNTS] == [4211, 3072, 318]
    assert (row["tenant_id"], row["labels"]["user_api_key_alias"]) == ("team-acme", "acme-prod")
    assert row["engine_request_id"] == "req-01JABCDEF"
    assert row["client_request_id"] == "4913309e-49dd-43b9-8e2b-3947bb66fbec"
    assert row["started_at"].isoformat() == "2026-11-30T13:27:54.982420+00:00"
    assert "hi" not in json.dumps(row, default=str).split('"')


@pytest.mark.parametrize("source", ["litellm", "dynamo_trace", "envoy_ai_gateway"])
def test_a_gateways_record_is_never_an_engines(shared: Path, source: str) -> None:
    """Whatever the configuration says of the node: a second record must not bill a second time."""
    row = parsed(source, json.dumps(SAMPLES[source](shared)).encode())
    assert row["stage"] == "gateway"


def test_litellm_without_a_usage_object(shared: Path) -> None:
    """Without metadata.usage_object the cached count is unknown, not 0."""
    payload = sample(shared, "litellm_payload.json")
    payload["metadata"]["usage_object"] = None
    row = parsed("litellm", json.dumps(payload).encode())
    assert [row[name] for name in COUNTS] == [4211, None, 318]


def test_litellm_failures(shared: Path) -> None:
    """A failure is an error, never billed; a status of neither kind is refused."""
    payload = sample(shared, "litellm_payload.json")
    assert (
        parsed("litellm", json.dumps(payload | {"status": "failure"}).encode())["status"] == "error"
    )
    assert refused("litellm", payload | {"status": None}) == "status"
    assert refused("litellm", payload | {"startTime": None}) == "startTime"


def test_dynamo_record(shared: Path) -> None:
    """The sample joins prefill and decode: 4211 / 3072 / 318; times are milliseconds."""
    record = (shared / "data/engines/dynamo_request_trace.jsonl").read_bytes().strip()
    row = parsed("dynamo_trace", record)
    assert [row[name] for name in COUNTS] == [4211, 3072, 318]
    assert row["started_at"].isoformat() == "2026-11-30T13:48:07.351000+00:00"
    assert row["finished_at"].isoformat() == "2026-11-30T13:48:15.307000+00:00"
    assert (row["client_request_id"], row["ttft_seconds"]) == ("req-01JABCDEF", 0.1832)
    assert row["labels"]["decode_worker_id"] == "7587888999999"


def test_dynamo_events_of_other_kinds() -> None:
    """Only request_end of the known schema is usage."""
    start = {"schema": "dynamo.request.trace.v1", "event_type": "request_start"}
    assert parse_line("dynamo_trace", json.dumps(start).encode(), NODE, "f:0") is None
    assert refused("dynamo_trace", start | {"schema": "v2"}) == "schema"
    assert refused("dynamo_trace", start | {"event_type": "request_end"}) == "request"


def test_envoy_access_log(shared: Path) -> None:
    """The sample: 4211 / 318 in 7956 ms; its default keys have no cached count."""
    line = sample(shared, "envoy_ai_gateway_access_log.json") | {"x-tenant": "acme"}
    row = parsed("envoy_ai_gateway", json.dumps(line).encode())
    assert [row[name] for name in COUNTS] == [4211, None, 318]
    assert (row["status"], row["tenant_id"]) == ("ok", "acme")
    assert row["finished_at"].isoformat() == "2026-11-30T13:48:15.307000+00:00"


@pytest.mark.parametrize(
    ("value", "count"),
    [(4211.0, 4211), ("4211", 4211), ("4.211e3", 4211), ("-", None), (None, None)],
)
def test_envoy_numbers_are_doubles(shared: Path, value: object, count: int | None) -> None:
    """A double that is a whole number is that number, exactly."""
    line = sample(shared, "envoy_ai_gateway_access_log.json")
    line["gen_ai.usage.input_tokens"] = value
    assert parsed("envoy_ai_gateway", json.dumps(line).encode())["input_tokens"] == count


@pytest.mark.parametrize(
    "value",
    [
        4211.5,
        1e300,
        -1,
        "many",
        True,
        2.0**60,
        "1e-400",
        "1e999999999",
        "9007199254740993.5",
        "NaN",
        "Infinity",
    ],
)
def test_envoy_numbers_that_are_no_counts(shared: Path, value: object) -> None:
    """A double that no count can be is refused by its key."""
    line = sample(shared, "envoy_ai_gateway_access_log.json")
    line["gen_ai.usage.input_tokens"] = value
    assert refused("envoy_ai_gateway", line) == "gen_ai.usage.input_tokens"


def test_envoy_line_without_counts(shared: Path) -> None:
    """Counts are set at a successful end only; a line without a model is other traffic."""
    line = sample(shared, "envoy_ai_gateway_access_log.json")
    cut = {key: value for key, value in line.items() if not key.startswith("gen_ai.usage")}
    row = parsed("envoy_ai_gateway", json.dumps(cut).encode())
    assert (row["status"], row["input_tokens"]) == ("aborted", None)
    other = {key: value for key, value in cut.items() if not key.startswith("gen_ai")}
    assert parse_line("envoy_ai_gateway", json.dumps(other).encode(), NODE, "f:0") is None


def exchange(**changes: Any) -> bytes:
    base: dict[str, Any] = {
        "id": "x1",
        "started_at": "2026-11-30T13:48:07.351Z",
        "finished_at": "2026-11-30T13:48:15.307Z",
        "http_status": 200,
        "complete": True,
        "path": "/v1/chat/completions",
        "request_id": "req-1",
        "response_id": "chatcmpl-req-1",
        "model": "glm-5.2",
        "labels": {"x-tenant": "acme"},
        "usage": {"prompt_tokens": 10, "completion_tokens": 3},
    }
    return to_record(Exchange(**(base | changes)))


def test_an_exchange_of_the_proxy() -> None:
    """No details block means that the cached part is unknown."""
    row = parsed("openai_usage", exchange())
    assert [row[name] for name in COUNTS] == [10, None, 3]
    assert (row["tenant_id"], row["model_id"], row["status"]) == ("acme", "glm-5.2", "ok")
    assert (row["engine_request_id"], row["client_request_id"]) == ("chatcmpl-req-1", "req-1")
    assert row["e2e_seconds"] == 7.956


def test_an_exchange_with_a_whole_body() -> None:
    """A kept response gives usage, id and model."""
    body = {"id": "b1", "model": "m1", "usage": {"input_tokens": 5, "output_tokens": 2}}
    row = parsed("openai_usage", exchange(response=body, usage=None, model=None, response_id=None))
    assert (row["model_id"], row["engine_request_id"], row["input_tokens"]) == ("m1", "b1", 5)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"http_status": 500}, "error"),
        ({"failed": True}, "error"),
        ({"http_status": 429}, "rejected"),
        ({"complete": False, "usage": None}, "aborted"),
    ],
)
def test_how_an_exchange_ended(changes: dict[str, Any], status: str) -> None:
    """Broken, refused, cut off by the client."""
    assert parsed("openai_usage", exchange(**changes))["status"] == status


@pytest.mark.parametrize(
    ("path", "operation"),
    [
        ("/v1/embeddings", "embedding"),
        ("/v1/completions?x=1", "completion"),
        ("/v1/rerank", "rerank"),
        ("/v1/messages", "chat"),
        ("", None),
    ],
)
def test_the_route_names_the_operation(path: str, operation: str | None) -> None:
    """Embeddings and reranks have output 0 where the block has none."""
    row = parsed("openai_usage", exchange(path=path, usage={"prompt_tokens": 10}))
    assert row["operation"] == operation
    assert row["output_tokens"] == (0 if operation in {"embedding", "rerank"} else None)


def test_records_of_a_file() -> None:
    """Lines, an array, one object over several lines; a torn array is taken as lines."""
    assert list(records_of(b'{"a":1}\n\n{"b":2}\r\n')) == [b'{"a":1}', b'{"b":2}']
    assert list(records_of(b'[{"a":1},{"b":2}]')) == [b'{"a":1}', b'{"b":2}']
    assert list(records_of(b'{\n"a":1\n}\n')) == [b'{\n"a":1\n}']
    assert list(records_of(b'[{"a":1},\n{"b"')) == [b'[{"a":1},', b'{"b"']


JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())


def outcome(source: str, record: bytes) -> Row | None:
    """The row, or None for a refusal; any other exception fails the test."""
    try:
        return parse_line(source, record, NODE, "f:0")
    except UsageInvalid:
        return None


SAMPLES: dict[str, Callable[[Path], Any]] = {
    "litellm": lambda shared: sample(shared, "litellm_payload.json"),
    "dynamo_trace": lambda shared: sample(shared, "dynamo_request_trace.jsonl"),
    "envoy_ai_gateway": lambda shared: sample(shared, "envoy_ai_gateway_access_log.json"),
    "openai_usage": lambda _: json.loads(exchange()),
}


@pytest.mark.parametrize("source", sorted(SAMPLES))
@given(data=st.data())
def test_any_value_anywhere(shared: Path, source: str, data: st.DataObject) -> None:
    """A member of a good record set to anything: a whole row or a refusal."""
    record = SAMPLES[source](shared)
    inner = record.get("request", record.get("metadata", record))
    target = data.draw(st.sampled_from([record, inner]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JSON)
    row = outcome(source, json.dumps(record).encode())
    if row is not None:
        UsageLeg(**row)
        to_batch([row])


@pytest.mark.parametrize("source", sorted(PARSERS))
@given(record=st.binary(max_size=120))
def test_any_bytes(source: str, record: bytes) -> None:
    """Random bytes are no record of any format."""
    assert outcome(source, record) is None
