"""What the OpenAPI file says of the ingest routes: bodies, answers, examples."""

from typing import Any, Final

from metering.collector.cloud_events import TYPE
from metering.collector.decode import ARROW, EVENT, EVENTS, JSON, NDJSON

_LEG: Final = {
    "request_id": "r1",
    "stage": "prefill",
    "node_id": "p1",
    "tenant_id": "t-alder",
    "project_id": "search",
    "model_id": "glm-5.2",
    "started_at": "2026-08-20T01:02:03.000004Z",
    "finished_at": "2026-08-20T01:02:04.5Z",
    "input_tokens": 2110,
    "cached_input_tokens": 2048,
    "output_tokens": 1,
    "status": "ok",
}
_LEG_LINE: Final = (
    '{"request_id": "r1", "stage": "prefill", "node_id": "p1", "tenant_id": "t-alder", '
    '"model_id": "glm-5.2", "started_at": "2026-08-20T01:02:03.000004Z", '
    '"finished_at": "2026-08-20T01:02:04.5Z", "input_tokens": 2110, "cached_input_tokens": 2048, '
    '"output_tokens": 1, "status": "ok"}\n'
)
_SAMPLE_LINE: Final = (
    '{"sampled_at": "2026-08-20T01:02:03Z", "node_id": "p1", "source": "sglang_metrics", '
    '"running_requests": 12, "queued_requests": 3, "counter_input_tokens": 983000}\n'
)
_REJECT_LINE: Final = (
    '{"record": "{\\"id\\": \\"r9\\", \\"prompt_tok", "field": "record", "reason": "torn line", '
    '"source": "sglang_export", "position": "export.jsonl:8192", "node_id": "p1"}\n'
)
_EVENT: Final = {
    "specversion": "1.0",
    "id": "evt-1",
    "source": "/gateway/eu-1",
    "type": TYPE,
    "subject": "t-alder",
    "data": {name: value for name, value in _LEG.items() if name != "tenant_id"},
}
_PAYLOAD: Final = {
    "id": "chatcmpl-1",
    "litellm_call_id": "4913309e-49dd-43b9-8e2b-3947bb66fbec",
    "call_type": "acompletion",
    "status": "success",
    "model": "glm-5.2",
    "startTime": 1787187723.000004,
    "endTime": 1787187724.5,
    "metadata": {
        "user_api_key_team_id": "t-alder",
        "usage_object": {
            "prompt_tokens": 2110,
            "completion_tokens": 64,
            "prompt_tokens_details": {"cached_tokens": 2048},
        },
    },
}
_PAYLOAD_LINE: Final = (
    '{"id": "chatcmpl-1", "status": "success", "model": "glm-5.2", "startTime": 1787187723.000004, '
    '"endTime": 1787187724.5, "prompt_tokens": 2110, "completion_tokens": 64}\n'
)
_COUNT: Final = {"type": "integer", "minimum": 0}
_ANSWER: Final = {
    "type": "object",
    "required": ["accepted", "duplicate", "conflict", "reattributed", "rejected", "records"],
    "properties": {
        "accepted": _COUNT,
        "duplicate": _COUNT,
        "conflict": _COUNT,
        "reattributed": _COUNT,
        "rejected": _COUNT,
        "records": {
            "type": "array",
            "maxItems": 1000,
            "items": {
                "type": "object",
                "required": ["index", "outcome", "field", "reason"],
                "properties": {
                    "index": {"type": ["integer", "null"], "minimum": 0},
                    "outcome": {"enum": ["conflict", "rejected", "reattributed"]},
                    "field": {"type": "string"},
                    "reason": {"type": "string"},
                },
            },
        },
    },
}
_ANSWER_EXAMPLE: Final = {
    "accepted": 198,
    "duplicate": 1,
    "conflict": 0,
    "reattributed": 0,
    "rejected": 1,
    "records": [
        {
            "index": 17,
            "outcome": "rejected",
            "field": "input_tokens",
            "reason": "must lie in 0..10^12, got -1",
        }
    ],
}
_STORED: Final = {
    "description": "Durable. The counts are complete; at most 1,000 records are listed.",
    "content": {"application/json": {"schema": _ANSWER, "example": _ANSWER_EXAMPLE}},
}
_PROBLEMS: Final = {
    401: "No valid key.",
    403: "The key may not write usage, or not for that node.",
    413: "Too large: send smaller batches.",
    415: "A content type or encoding that is not read here.",
    422: "The body is not what its content type says; nothing of it was stored.",
    429: "Too much waits to be written: send it again after Retry-After seconds.",
    503: "The store cannot be written; nothing of it was stored: send it again.",
}
_HEADERS: Final = [
    ("Tokentill-Node", "the server that the usage is of", {"type": "string"}),
    ("Tokentill-Stage", "what it serves: prefill, decode, unified, gateway", {"type": "string"}),
    ("Tokentill-Pool", "the group of servers that serve together", {"type": "string"}),
    (
        "Tokentill-Watermark",
        "all lines written before it have been sent",
        {"type": "string", "format": "date-time"},
    ),
]
_BINARY: Final = {"schema": {"type": "string", "format": "binary"}}


def _text(example: str) -> dict[str, Any]:
    return {"schema": {"type": "string"}, "example": example}


def _json(example: object) -> dict[str, Any]:
    kind = "array" if isinstance(example, list) else "object"
    schema: dict[str, Any] = {"type": kind} | ({"items": {}} if kind == "array" else {})
    return {"schema": schema, "example": example}


def _route(content: dict[str, Any], answers: dict[int, Any]) -> dict[str, Any]:
    """Arguments of `APIRouter.post` for one route."""
    parameters = [
        {"name": name, "in": "header", "required": False, "description": text, "schema": schema}
        for name, text, schema in _HEADERS
    ]
    problems = {status: {"description": text} for status, text in _PROBLEMS.items()}
    return {
        "responses": answers | problems,
        "openapi_extra": {
            "parameters": parameters,
            "requestBody": {"required": True, "content": content},
        },
    }


_EVENTS: Final = {EVENT: _json(_EVENT), EVENTS: _json([_EVENT])}
LEGS_ROUTE: Final = _route({ARROW: _BINARY, NDJSON: _text(_LEG_LINE), **_EVENTS}, {200: _STORED})
SAMPLES_ROUTE: Final = _route({ARROW: _BINARY, NDJSON: _text(_SAMPLE_LINE)}, {200: _STORED})
REJECTS_ROUTE: Final = _route({NDJSON: _text(_REJECT_LINE)}, {200: _STORED})
_PAYLOADS: Final = {
    JSON: {
        "schema": {"oneOf": [{"type": "object"}, {"type": "array", "items": {}}]},
        "example": [_PAYLOAD],
    },
    NDJSON: _text(_PAYLOAD_LINE),
}
LITELLM_ROUTE: Final = _route(_PAYLOADS, {200: _STORED})
EVENTS_ROUTE: Final = _route(_EVENTS, {204: {"description": "Durable, all of it."}, 200: _STORED})
