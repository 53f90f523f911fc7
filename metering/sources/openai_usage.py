"""One HTTP exchange with a model server, as a proxy saw it: usage block, times, owner.

The proxy writes one JSON object per exchange (`Exchange`); prompts and answers are not in it. A
response body that was kept whole can be given as `response` instead of `usage`.
"""

from datetime import datetime
from typing import Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded, owner_of
from metering.sources.record import NodeIdentity, Row, identified, shown
from metering.sources.usage_block import Usage, read_usage_block
from metering.sources.usage_stream import Answer
from metering.usage import Operation, Stage, Status
from metering.windows import parse_time

FORMAT: Final = "openai_usage"
FORMAT_VERSION: Final = 1
CLIENT_ERROR: Final = 400
SERVER_ERROR: Final = 500

_OPERATIONS: Final = (
    ("/embeddings", Operation.EMBEDDING),
    ("/embed", Operation.EMBEDDING),
    ("/rerank", Operation.RERANK),
    ("/score", Operation.SCORE),
    ("/chat/completions", Operation.CHAT),
    ("/completions", Operation.COMPLETION),
)
_WITHOUT_OUTPUT: Final = frozenset({Operation.EMBEDDING, Operation.RERANK, Operation.SCORE})


class Exchange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One request and its answer. Times are ISO 8601 with zone; seconds are durations.

    id: chosen by the proxy, unique, so that two equal exchanges stay two. request_id: what was
    forwarded to the server as X-Request-Id. complete: the answer came to its end.
    """

    v: int = FORMAT_VERSION
    id: str
    started_at: str
    finished_at: str
    http_status: int
    complete: bool
    failed: bool = False
    path: str = ""
    request_id: str | None = None
    response_id: str | None = None
    model: str | None = None
    labels: Any = None
    usage: Any = None
    response: Any = None
    ttft_seconds: float | None = None


_EXCHANGE: Final = msgspec.json.Decoder(Exchange)


def to_record(exchange: Exchange) -> bytes:
    """One line, without line end, that `parse` reads."""
    return msgspec.json.encode(exchange)


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one exchange; None for an empty line. Raises UsageInvalid."""
    if not record or record.isspace():
        return None
    try:
        exchange = _EXCHANGE.decode(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UsageInvalid("record", f"not an exchange of a proxy: {error}") from None
    if exchange.v != FORMAT_VERSION:
        raise UsageInvalid("v", f"expected {FORMAT_VERSION}, got {shown(exchange.v)}")
    usage = _usage(exchange)
    row = _to_row(exchange, usage or Usage(), node)
    return identified(row, FORMAT, record, position)


def _usage(exchange: Exchange) -> Usage | None:
    body = exchange.response
    if exchange.usage is not None or not isinstance(body, dict):
        return read_usage_block(exchange.usage)
    answer = Answer(streams=False)
    answer.take_event(body)
    exchange.response_id = exchange.response_id or answer.response_id
    exchange.model = exchange.model or answer.model
    return answer.usage()


def _to_row(exchange: Exchange, usage: Usage, node: NodeIdentity) -> Row:
    owner = owner_of(exchange.labels, node.label_names)
    started_at = _time("started_at", exchange.started_at)
    finished_at = _time("finished_at", exchange.finished_at)
    operation = _operation(exchange.path)
    output_tokens = usage.output_tokens
    if operation in _WITHOUT_OUTPUT and output_tokens is None:
        output_tokens = 0
    seen_id = exchange.response_id or exchange.request_id
    return {
        **node.row(),
        "operation": None if operation is None else operation.value,
        "engine_request_id": bounded(seen_id) if seen_id else None,
        "join_key": bounded(seen_id) if seen_id and node.stage != Stage.UNIFIED else None,
        "client_request_id": bounded(exchange.request_id) if exchange.request_id else None,
        "tenant_id": owner.tenant_id,
        "project_id": owner.project_id,
        "api_key_id": owner.api_key_id,
        "labels": owner.labels,
        "model_id": bounded(exchange.model) if exchange.model else node.model_id,
        "started_at": started_at,
        "finished_at": finished_at,
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "output_tokens": output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "input_by_class": usage.input_by_class,
        "status": http_status(
            exchange.http_status, complete=exchange.complete, failed=exchange.failed
        ).value,
        "service_tier": usage.service_tier or owner.service_tier,
        "ttft_seconds": exchange.ttft_seconds,
        "e2e_seconds": (finished_at - started_at).total_seconds(),
    }


def http_status(code: int, *, complete: bool, failed: bool = False) -> Status:
    """How an exchange ended: refused, broken, cut off by the client, or delivered."""
    if code >= SERVER_ERROR or failed:
        return Status.ERROR
    if code >= CLIENT_ERROR:
        return Status.REJECTED
    return Status.OK if complete else Status.ABORTED


def _operation(path: str) -> Operation | None:
    route = path.partition("?")[0].rstrip("/")
    found = (operation for ending, operation in _OPERATIONS if route.endswith(ending))
    return next(found, Operation.CHAT if route else None)


def _time(name: str, text: str) -> datetime:
    try:
        return parse_time(text)
    except (ValueError, OverflowError) as error:
        raise UsageInvalid(name, str(error)[:200]) from None
