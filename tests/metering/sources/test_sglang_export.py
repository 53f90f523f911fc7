"""SGLang's export file, line by line (facts of versions 0.5.6 to 0.5.23)."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from metering.errors import UsageInvalid
from metering.sources import parse_line
from metering.sources.record import NodeIdentity, Row
from metering.sources.sglang_export import parse, salvage

ENGINE_FILES = "data/engines/sglang_{}_export.jsonl"
REAL_FILES = "data/real_engine/sglang/{}/sglang-request-metrics-20261130_14.log"


def node(stage: str = "unified") -> NodeIdentity:
    return NodeIdentity(node_id="n1", stage=stage, model_id="glm-5.2", pool="a")


def rows_of(path: Path, stage: str = "unified") -> list[Row]:
    lines = path.read_bytes().splitlines()
    return [row for line in lines if (row := parse(line, node(stage), "f:0")) is not None]


def line(parameters: dict[str, Any] | None = None, **meta: Any) -> bytes:
    """A line as the exporter writes it; a member set to ... is left out."""
    base: dict[str, Any] = {
        "id": "r1",
        "finish_reason": {"type": "stop", "matched": 2},
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "cached_tokens": 64,
        "e2e_latency": 2.5,
        "request_received_ts": 1796046885.2004485,
        "request_finished_ts": 1796046887.7004485,
        "response_sent_to_client_ts": 1796046887.8,
    }
    kept = {name: value for name, value in (base | meta).items() if value is not ...}
    inner = {"rid": "r1"} | (parameters or {})
    return json.dumps({"request_parameters": json.dumps(inner), **kept}).encode()


def row(parameters: dict[str, Any] | None = None, stage: str = "unified", **meta: Any) -> Row:
    parsed = parse_line("sglang_export", line(parameters, **meta), node(stage), "f:0")
    assert parsed is not None
    return parsed


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
