"""Lines of SGLang's export file: written by hand, or read from the captured files."""

import json
from pathlib import Path
from typing import Any

from metering.sources import parse_line
from metering.sources.record import NodeIdentity, Row
from metering.sources.sglang_export import parse

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
