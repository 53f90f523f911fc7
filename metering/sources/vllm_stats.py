"""The file of our vLLM plug-in (plugins/vllm): one JSON line per finished engine request.

Written by `tokentill_vllm`; the line's `v` is its format version. It knows the served model name
but neither node nor role. A prefill and a decode leg share vLLM's external request id.
"""

from typing import Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded
from metering.sources.record import (
    GROUP_SIZE_MAX,
    NodeIdentity,
    Row,
    checked_count,
    identified,
    instant,
    shifted,
    shown,
    utc,
)
from metering.usage import Operation, Stage, Status

FORMAT: Final = "vllm_stats"
FORMAT_VERSION: Final = 1

_STATUS: Final = {
    "stop": Status.OK.value,
    "length": Status.OK.value,
    "repetition": Status.OK.value,
    "abort": Status.ABORTED.value,
    "error": Status.ERROR.value,
}
_OWN_PREFIXES: Final = ("chatcmpl-", "cmpl-", "resp_", "embd-", "score-", "rerank-")
_OWN_ID_LENGTHS: Final = frozenset({16, 32})
_HEX: Final = "0123456789abcdef"
_NULL: Final = b"null"
_ABSENT: Final = msgspec.Raw(_NULL)


class Line(msgspec.Struct, gc=False):
    """One line: counts in tokens, durations in seconds, finished_at in epoch seconds."""

    v: int
    kind: str = "request"
    records: int | None = None
    version: str | None = None
    model: str | None = None
    request_id: str | None = None
    finish_reason: str | None = None
    finished_at: msgspec.Raw = _ABSENT
    e2e_seconds: msgspec.Raw = _ABSENT
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    max_tokens: int | None = None
    preemptions: int | None = None
    n: int | None = None
    call: str | None = None
    engine_prompt_tokens: int | None = None
    engine_output_tokens: int | None = None
    queued_seconds: float | None = None
    prefill_seconds: float | None = None
    decode_seconds: float | None = None


_LINE: Final = msgspec.json.Decoder(Line)


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one finished request; None for an empty line.

    Raises UsageInvalid for an unreadable line and for one that counts requests lost by the plug-in.
    """
    if not record or record.isspace():
        return None
    try:
        line = _LINE.decode(record)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UsageInvalid("record", f"not a line of the plug-in: {error}") from None
    if line.v != FORMAT_VERSION:
        raise UsageInvalid("v", f"expected {FORMAT_VERSION}, got {shown(line.v)}: update tokentill")
    if line.kind == "lost":
        raise UsageInvalid(
            "records", f"the plug-in lost {line.records} requests: its queue was full"
        )
    row = _to_row(line, node)
    return identified(row, FORMAT, record, position)


def _to_row(line: Line, node: NodeIdentity) -> Row:
    status = _STATUS.get(line.finish_reason or "")
    if status is None:
        expected = ", ".join(sorted(_STATUS))
        raise UsageInvalid("finish_reason", f"expected {expected}, got {shown(line.finish_reason)}")
    finished = "finished_at", bytes(line.finished_at)
    e2e = "e2e_seconds", bytes(line.e2e_seconds)
    for name, text in (finished, e2e):
        if text == _NULL:
            raise UsageInvalid(name, "missing")
    started_at = utc(shifted(finished, e2e, -1))
    generates = line.max_tokens is not None
    output_tokens = checked_count("output_tokens", line.output_tokens)
    e2e_seconds = float(e2e[1])
    decode_seconds = _known(line.decode_seconds)
    request_id = line.request_id
    grouped = line.n is not None and 1 < line.n <= GROUP_SIZE_MAX
    join_key = bounded(request_id) if request_id else None
    group_id = join_key if node.stage != Stage.UNIFIED else bounded(line.call or "") or None
    return {
        **node.row(),
        "operation": (Operation.CHAT if generates else Operation.EMBEDDING).value,
        "engine_request_id": join_key,
        "join_key": join_key,
        "client_request_id": _client_id(request_id) if request_id else None,
        "group_id": group_id if grouped else None,
        "group_size": line.n if grouped else None,
        "labels": _engine_counts(line),
        "engine": node.engine or "vllm",
        "engine_version": node.engine_version or line.version,
        "model_id": bounded(line.model) if line.model else node.model_id,
        "started_at": started_at,
        "finished_at": instant(*finished),
        "input_tokens": checked_count("prompt_tokens", line.prompt_tokens),
        "cached_input_tokens": checked_count("cached_tokens", line.cached_tokens),
        "output_tokens": output_tokens if generates else 0,
        "status": status,
        "retractions": checked_count("preemptions", line.preemptions),
        "queue_seconds": _known(line.queued_seconds),
        "prefill_seconds": _known(line.prefill_seconds),
        "ttft_seconds": None if decode_seconds is None else max(e2e_seconds - decode_seconds, 0.0),
        "decode_seconds": decode_seconds,
        "e2e_seconds": e2e_seconds,
    }


def _engine_counts(line: Line) -> dict[str, str] | None:
    """What the engine counted for a beam search, whose line says what was answered."""
    counts = {
        "engine_input_tokens": checked_count("engine_prompt_tokens", line.engine_prompt_tokens),
        "engine_output_tokens": checked_count("engine_output_tokens", line.engine_output_tokens),
    }
    return {name: str(count) for name, count in counts.items() if count is not None} or None


def _known(seconds: float | None) -> float | None:
    """A request that was never scheduled has differences with a time of 0: negative ones."""
    return None if seconds is None or seconds < 0 else seconds


def _client_id(request_id: str) -> str | None:
    """The id that the client or router sent: vLLM's own prefix taken off, a uuid of its own not."""
    for prefix in _OWN_PREFIXES:
        if request_id.startswith(prefix):
            chosen = request_id.removeprefix(prefix)
            own = len(chosen) in _OWN_ID_LENGTHS and not chosen.strip(_HEX)
            return None if own or not chosen else bounded(chosen)
    return bounded(request_id)
