"""SGLang's request log in JSON."""

from pathlib import Path

import pytest

from metering.errors import UsageInvalid
from metering.sources import parse_line
from metering.sources.record import NodeIdentity

NODE = NodeIdentity(node_id="d1", stage="decode", model_id="glm-5.2")
LOG = "data/engines/sglang_request_log_json_level1.log"


def lines(shared: Path) -> list[bytes]:
    return (shared / LOG).read_bytes().splitlines()


def test_only_finished_requests_are_usage(shared: Path) -> None:
    """Received and finished of a health check and of one request of 4211 / 318 / 3072 tokens."""
    rows = [parse_line("sglang_request_log", line, NODE, "f:0") for line in lines(shared)]
    assert [row is not None for row in rows] == [False, True, False, True]
    health, request = rows[1], rows[3]
    assert health is not None
    assert request is not None
    assert (health["status"], request["status"]) == ("warmup", "ok")
    counts = ("input_tokens", "output_tokens", "cached_input_tokens")
    assert [request[name] for name in counts] == [4211, 318, 3072]
    assert request["join_key"] == "10.0.3.11:8998:7283207964119141687"
    assert (request["tenant_id"], request["api_key_id"]) == ("acme", "k-7f3a")


def test_the_log_and_the_export_file_agree(shared: Path) -> None:
    """The same request in both formats gives the same leg but for id and source."""
    logged = parse_line("sglang_request_log", lines(shared)[3], NODE, "f:0")
    export = (shared / "data/engines/sglang_decode_export.jsonl").read_bytes().splitlines()
    rows = [parse_line("sglang_export", line, NODE, "f:0") for line in export]
    (same,) = [r for r in rows if r and r["engine_request_id"] == "req-01JABCDEF"]
    assert logged is not None
    differing = {name for name in same if same[name] != logged[name]}
    assert differing == {"event_id", "source"}


def test_lines_of_other_loggers_are_passed_over() -> None:
    """The request log may share a stream with the server's log."""
    for line in (b"", b"INFO: started", b'[2026] {"level": "info"}', b"{"):
        assert parse_line("sglang_request_log", line, NODE, "f:0") is None


def test_a_torn_event_is_refused(shared: Path) -> None:
    """Cut anywhere behind its event name."""
    line = lines(shared)[3]
    for size in range(120, len(line), 97):
        with pytest.raises(UsageInvalid) as refusal:
            parse_line("sglang_request_log", line[:size], NODE, "f:0")
        assert refusal.value.field == "record"


def test_a_finished_event_without_counts_is_refused() -> None:
    """An event that reports nothing cannot be a leg."""
    line = b'[2026] {"timestamp": "x", "event": "request.finished", "obj": {}}'
    with pytest.raises(UsageInvalid) as refusal:
        parse_line("sglang_request_log", line, NODE, "f:0")
    assert refusal.value.field == "out.meta_info"
