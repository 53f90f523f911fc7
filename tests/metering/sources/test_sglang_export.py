"""SGLang's export file, line by line (facts of versions 0.5.6 to 0.5.23)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from metering.errors import UsageInvalid
from metering.sources.record import Row, utc
from metering.sources.sglang_export import parse, salvage
from tests.metering.sources.sglang_lines import ENGINE_FILES, REAL_FILES, line, node, row, rows_of


def refused(record: bytes) -> UsageInvalid:
    with pytest.raises(UsageInvalid) as caught:
        parse(record, node(), "f:0")
    return caught.value


@pytest.mark.parametrize(
    ("stage", "totals"),
    [
        ("prefill", (14, 25331, 13, 21504)),
        ("decode", (13, 24821, 1903, 21440)),
        ("unified", (13, 24241, 1937, 20736)),
    ],
)
def test_sample_files_have_the_published_totals(
    shared: Path, stage: str, totals: tuple[int, ...]
) -> None:
    """Lines, prompt, completion and cached before exclusions: data/engines/README.md."""
    rows = rows_of(shared / ENGINE_FILES.format(stage), stage)
    assert (len(rows), *_sums(rows)) == totals


@pytest.mark.parametrize(
    ("folder", "totals"),
    [
        # facts/real_engine.md: exporter 46 rows 12,042/342/9,396
        ("exporter", (46, 12042, 342, 9396)),
        # counted by jq over the files: add prompt_tokens, completion_tokens, cached_tokens
        ("exporter_prefill", (33, 8157, 33, 7065)),
        ("exporter_decode", (28, 8078, 273, 7026)),
    ],
)
def test_real_logs_have_their_totals(shared: Path, folder: str, totals: tuple[int, ...]) -> None:
    """Logs that a real SGLang 0.5.23 wrote, alone and as a prefill/decode pair."""
    rows = rows_of(shared / REAL_FILES.format(folder))
    assert (len(rows), *_sums(rows)) == totals
    assert {row["status"] for row in rows} == {"ok"}


def _sums(rows: list[Row]) -> tuple[int, ...]:
    names = ("input_tokens", "output_tokens", "cached_input_tokens")
    return tuple(sum(row[name] or 0 for row in rows) for name in names)


def test_the_sample_pairs_share_their_join_keys(shared: Path) -> None:
    """Every decode line of the sample has a prefill line under the same host:port:room."""
    keys = {
        stage: {row["join_key"] for row in rows_of(shared / ENGINE_FILES.format(stage), stage)}
        for stage in ("prefill", "decode")
    }
    assert keys["decode"] <= keys["prefill"]
    assert "10.0.3.11:8998:890727360438182992" in keys["decode"]


def test_the_fields_of_a_record() -> None:
    """One record by hand: every count where it belongs, times in µs rounded down."""
    read = row(reasoning_tokens=3, num_retractions=1, image_tokens=40, queue_time=0.25)
    assert (read["input_tokens"], read["cached_input_tokens"], read["output_tokens"]) == (
        100,
        64,
        7,
    )
    assert (read["reasoning_tokens"], read["retractions"]) == (3, 1)
    assert read["input_by_class"] == {"image": 40}
    assert utc(read["started_at"]) == datetime(2026, 11, 30, 13, 54, 45, 200_448, tzinfo=UTC)
    assert utc(read["finished_at"]) == datetime(2026, 11, 30, 13, 54, 47, 700_448, tzinfo=UTC)
    assert (read["queue_seconds"], read["e2e_seconds"]) == (0.25, 2.5)
    assert (read["engine"], read["node_id"], read["pool"]) == ("sglang", "n1", "a")
    assert (read["source"], read["source_position"]) == ("sglang_export", "f:0")


def test_a_missing_count_is_unknown() -> None:
    """V2: cached_tokens of 0 is a 0, an absent one NULL."""
    assert row(cached_tokens=0)["cached_input_tokens"] == 0
    assert row(cached_tokens=...)["cached_input_tokens"] is None


def test_old_versions_spell_retractions_otherwise() -> None:
    """0.5.6 to 0.5.10 write total_retractions, later ones num_retractions."""
    assert row(total_retractions=2)["retractions"] == 2


@pytest.mark.parametrize(
    ("details", "tiers"),
    [
        (None, None),
        ({"device": 2048, "host": 1024}, {"device": 2048, "host": 1024}),
        (
            {"device": 0, "host": 7936, "storage": 8000, "storage_backend": "MooncakeStore"},
            {"device": 0, "host": 7936, "storage": 8000},
        ),
    ],
)
def test_cached_tokens_by_tier(details: dict[str, Any] | None, tiers: dict[str, int]) -> None:
    """cached_tokens_details is null without a hit and names L3 storage where it is on."""
    assert row(cached_tokens_details=details)["cached_by_tier"] == tiers


def test_times_without_metrics() -> None:
    """Without --enable-metrics: start is response_sent_to_client_ts - e2e_latency, exactly.

    1796046887.8 - 2.1234567 = 1796046885.6765433, down to the microsecond .676543.
    """
    read = row(request_received_ts=..., request_finished_ts=..., e2e_latency=2.1234567)
    assert utc(read["started_at"]) == datetime(2026, 11, 30, 13, 54, 45, 676_543, tzinfo=UTC)
    assert utc(read["finished_at"]) == datetime(2026, 11, 30, 13, 54, 47, 800_000, tzinfo=UTC)


def test_finish_of_versions_without_request_finished_ts() -> None:
    """0.5.6: received + e2e; response_sent_to_client_ts of a stream is its first chunk."""
    read = row(request_finished_ts=..., e2e_latency=2.5)
    assert utc(read["finished_at"]) == datetime(2026, 11, 30, 13, 54, 47, 700_448, tzinfo=UTC)


def test_a_63_bit_room_keeps_every_digit() -> None:
    """Above 2^53 a float would lose digits and join the wrong halves."""
    room = 2**63 - 1
    parameters = {"bootstrap_host": "10.0.3.11", "bootstrap_port": 8998, "bootstrap_room": room}
    assert row(parameters)["join_key"] == "10.0.3.11:8998:9223372036854775807"


def test_no_room_is_no_join_key() -> None:
    """A unified engine's line joins nothing."""
    assert row()["join_key"] is None


@pytest.mark.parametrize(
    ("finish", "meta", "status"),
    [
        ({"type": "stop", "matched": "</s>"}, {}, "ok"),
        ({"type": "length", "length": 0}, {}, "ok"),
        ({"type": "abort", "message": "KV transfer", "status_code": 500}, {}, "error"),
        ({"type": "abort", "message": "busy", "status_code": 503}, {"prompt_tokens": ...}, "error"),
        (
            {"type": "abort", "message": "Abort in waiting queue"},
            {"prompt_tokens": ...},
            "rejected",
        ),
        ({"type": "abort", "message": "no counts"}, {"prompt_tokens": ...}, "rejected"),
        ({"type": "abort", "message": "by the client"}, {}, "aborted"),
        ({"type": "abort", "message": None, "status_code": 400}, {}, "aborted"),
    ],
)
def test_status(finish: dict[str, Any], meta: dict[str, Any], status: str) -> None:
    """The rules of docs/pd-accounting.md, The traps 7 and 10."""
    assert row(finish_reason=finish, **meta)["status"] == status


@pytest.mark.parametrize(
    ("parameters", "rid"),
    [
        ({"bootstrap_host": "2.2.2.2", "bootstrap_room": 0}, "r1"),
        ({}, "HEALTH_CHECK_9f1c"),
        ({"text": "The capital city of France is", "sampling_params": {"max_new_tokens": 8}}, "r1"),
        ({"text": "<|u|>Describe the image.", "sampling_params": {"max_new_tokens": 8}}, "r1"),
        ({"input_ids": [10, 11, 12, 13], "sampling_params": {"max_new_tokens": 8}}, "r1"),
    ],
)
def test_the_engines_own_requests_are_warmup(parameters: dict[str, Any], rid: str) -> None:
    """Warm-up texts and ids, the fake bootstrap host, health checks: facts of 0.5.23."""
    read = row(parameters, id=rid, prompt_tokens=4, completion_tokens=8, cached_tokens=0)
    assert read["status"] == "warmup"


@pytest.mark.parametrize(
    ("parameters", "rid"),
    [
        ({"bootstrap_host": "2.2.2.2", "bootstrap_room": 0}, "r1"),
        ({}, "HEALTH_CHECK_mine"),
        ({}, "xHEALTH_CHECK"),
    ],
)
def test_work_in_the_clothes_of_a_warmup_is_billed(parameters: dict[str, Any], rid: str) -> None:
    """A client can choose its id and bootstrap host; 4,000 tokens are nobody's warm-up."""
    assert row(parameters, id=rid, prompt_tokens=4000)["status"] == "ok"


def test_a_labelled_request_is_no_warmup() -> None:
    """The engine's own requests carry no labels; a tenant's short request may look like one."""
    parameters = {"text": "The capital city of France is", "custom_labels": {"tenant": "acme"}}
    limit = {"sampling_params": {"max_new_tokens": 8}}
    read = row(parameters | limit, prompt_tokens=6, completion_tokens=8)
    assert (read["status"], read["tenant_id"]) == ("ok", "acme")


def test_lora_is_a_model_of_its_own() -> None:
    """docs/wire.md, model_id: model:lora. Levels 0 and 1 of request logging leave only the id."""
    assert row({"lora_path": "acme-v3", "lora_id": "b0"})["model_id"] == "glm-5.2:acme-v3"
    assert row({"lora_id": "b0"})["model_id"] == "glm-5.2:b0"


def test_embeddings_have_no_output(shared: Path) -> None:
    """The sample's embedding: 6 tokens in, output 0, cached unknown."""
    (read,) = rows_of(shared / "data/engines/sglang_embedding_export.jsonl")
    assert (read["operation"], read["input_tokens"], read["output_tokens"]) == ("embedding", 6, 0)
    assert read["cached_input_tokens"] is None


def test_a_reranked_pair_is_rerank() -> None:
    """Rerank is one cross-encoder record per pair."""
    read = row({"is_cross_encoder_request": True}, completion_tokens=..., cached_tokens=...)
    assert (read["operation"], read["output_tokens"]) == ("rerank", 0)


def test_phases_of_a_streaming_decode_and_of_others() -> None:
    """first_token_latency of a decode that does not stream is no time to first token."""
    streaming = row({"stream": True}, stage="decode", first_token_latency=0.5)
    assert (streaming["ttft_seconds"], streaming["decode_seconds"]) == (0.5, 2.0)
    whole = row({"stream": False}, stage="decode", first_token_latency=2.5)
    assert (whole["ttft_seconds"], whole["decode_seconds"]) == (None, None)
    prefill = row(stage="prefill", forward_entry_time=10.0, prefill_finished_time=10.5)
    assert prefill["prefill_seconds"] == 0.5


def test_ids_chosen_by_a_client_are_told_from_the_engines() -> None:
    """SGLang makes a uuid4 in hex where the client sends no rid."""
    assert row(id="0" * 32)["client_request_id"] is None
    assert row(id="req-1")["client_request_id"] == "req-1"


def test_nothing_of_a_prompt_enters_a_row() -> None:
    """Prompt text and token ids stay on the node."""
    read = row({"text": "my secret prompt", "input_ids": [77001, 77002]})
    assert "secret" not in repr(read)
    assert "77001" not in repr(read)


@pytest.mark.parametrize(
    ("meta", "field"),
    [
        ({"prompt_tokens": -1}, "prompt_tokens"),
        ({"prompt_tokens": 10**13}, "prompt_tokens"),
        ({"completion_tokens": 1.5}, "completion_tokens"),
        ({"cached_tokens": "64"}, "cached_tokens"),
        ({"reasoning_tokens": True}, "reasoning_tokens"),
        ({"cached_tokens_details": {"device": -1}}, "cached_tokens_details.device"),
        ({"finish_reason": None}, "finish_reason"),
        ({"finish_reason": {"type": "vanished"}}, "finish_reason"),
        ({"request_received_ts": "noon"}, "request_received_ts"),
        ({"request_received_ts": -1.5}, "request_received_ts"),
        ({"request_finished_ts": 1e300}, "request_finished_ts"),
        ({"request_received_ts": ..., "e2e_latency": ...}, "e2e_latency"),
        (
            {"request_received_ts": ..., "response_sent_to_client_ts": ...},
            "response_sent_to_client_ts",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(meta: dict[str, Any], field: str) -> None:
    """docs/wire.md, Bounds: a count that is none, no status, no times."""
    assert refused(line(**meta)).field == field


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (b"{", "record"),
        (b"[]", "record"),
        (b'{"id": "r1"}', "request_parameters"),
        (b'{"request_parameters": "{\\"rid\\""}', "request_parameters"),
        (line()[:-1], "record"),
        (line()[20:], "record"),
        (line()[:300] + line(), "record"),
        (b'{"x":' + b"[" * 100_000, "record"),
        (b"\xff\xfe\x00", "record"),
    ],
)
def test_torn_lines_are_refused(record: bytes, field: str) -> None:
    """No half record: cut at either end, or written over by another writer."""
    assert refused(record).field == field


def test_an_empty_line_is_no_record() -> None:
    """A blank line reports nothing and is no fault."""
    assert parse(b"", node(), "f:0") is None
    assert parse(b" \r", node(), "f:0") is None


def test_a_record_behind_a_cut_one_can_be_salvaged() -> None:
    """A failed write leaves no line end; the next record follows on the same line, complete."""
    cut, whole = salvage(line()[:300] + line())
    assert cut == line()[:300]
    assert parse(whole, node(), "f:300") == parse(line(), node(), "f:300")
    assert salvage(line()) == (line(),)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"e2e_latency": 2.5', b'"e2e_latency": 2.5, "logprob": NaN'),
        (b'"e2e_latency": 2.5', b'"e2e_latency": 2.5, "logprob": -Infinity'),
        (b'\\"rid\\"', b'\\"text\\": \\"\\\\ud83d\\", \\"rid\\"'),
        (b'"id": "r1"', b'"id": "r1", "queue_time": "none"'),
        (b'"id": "r1"', b'"id": "r1", "first_token_latency": NaN'),
    ],
)
def test_oddities_of_python_json_do_not_lose_a_record(old: bytes, new: bytes) -> None:
    """NaN, lone surrogates in a prompt and odd timings: the usage is the same as without them."""
    plain = parse(line(), node(), "f:0")
    odd = parse(line().replace(old, new), node(), "f:0")
    assert plain is not None
    assert odd is not None
    assert plain | {"event_id": ""} == odd | {"event_id": ""}
