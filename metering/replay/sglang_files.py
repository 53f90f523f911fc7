"""What SGLang 0.5.23 writes: --export-metrics-to-file --enable-metrics --log-requests-level 1.

Field names, order, types and quirks are those of genuine lines of a prefill and a decode server:
`request_parameters` is JSON inside a string; a prefill line ends as "length" with one token; a
decode line repeats the prompt and copies the cached count; a streamed decode line carries the time
of its first chunk as response_sent_to_client_ts.
"""

import errno
import json
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import IO, Any, Final, NamedTuple

from metering.replay.legs import Ending, Leg
from metering.replay.nodes import EngineNode, Timeline
from metering.replay.sglang_parameters import (
    WARMUP_OUTPUT_TOKENS,
    chat_parameters,
    warmup_parameters,
)
from metering.usage import Stage

FORCED_STREAM_TOKENS: Final = 50  # SGLANG_FORCE_STREAM_INTERVAL: an unstreamed answer's first push
WARMUP_INPUT_TOKENS: Final = 4
WARMUP_SECONDS: Final = 0.15
STOP_TOKEN_ID: Final = 151_336
UPTIME_SECONDS: Final = 3600.0  # of the machine, when the trace begins
DISPATCH_SECONDS: Final = 0.0026
ADMISSION_SECONDS: Final = 0.0013  # the shortest wait in a queue
RESPONSE_SECONDS: Final = 0.0004  # from the finished output to the client
QUARTER_HOUR_SECONDS: Final = 900  # every zone's hours begin on one


class _Span(NamedTuple):
    """When things happened: received_at in seconds since 1970, the others in seconds after it."""

    received_at: float
    queue: float  # on the node itself; a decode node does not count its wait for the prefill
    forward_entry: float
    computed: float
    first_token: float
    finished: float


def record(leg: Leg, nodes: Sequence[EngineNode], timeline: Timeline) -> bytes:
    """The line, line end included, that the leg's node writes when it finishes."""
    uptime_seconds = UPTIME_SECONDS * (1 + leg.node) + timeline.lasting(leg.received_at)
    meta = {
        "request_parameters": chat_parameters(leg, nodes[leg.prefill_node].host, uptime_seconds),
        "id": leg.rid,
        "finish_reason": _finish_reason(leg),
        "prompt_tokens": leg.call.request.input_tokens,
        "completion_tokens": leg.output_tokens,
        "cached_tokens": leg.cached_tokens,
        "cached_tokens_details": _cached_details(leg, nodes[leg.node]),
    }
    is_streamed = leg.call.is_streaming and leg.output_tokens > 1
    return _line(meta, nodes[leg.node].stage, _span(leg, timeline), is_streamed=is_streamed)


def warmup_record(node: EngineNode, rid: str, finished_at: float) -> bytes:
    """The line of the request that the engine sends itself at start; in seconds since 1970."""
    output_tokens = warmup_output_tokens(node.stage)
    meta = {
        "request_parameters": warmup_parameters(rid),
        "id": rid,
        "finish_reason": {
            "type": "length",
            "length": output_tokens if node.stage is Stage.DECODE else 0,
        },
        "prompt_tokens": WARMUP_INPUT_TOKENS,
        "completion_tokens": output_tokens,
        "cached_tokens": 0,
        "cached_tokens_details": None,
    }
    span = _Span(
        received_at=finished_at - WARMUP_SECONDS,
        queue=ADMISSION_SECONDS,
        forward_entry=0.01,
        computed=0.03,
        first_token=WARMUP_SECONDS,
        finished=WARMUP_SECONDS,
    )
    return _line(meta, node.stage, span, is_streamed=False)


def warmup_output_tokens(stage: Stage) -> int:
    """Tokens that a node's warm-up makes."""
    return 1 if stage is Stage.PREFILL else WARMUP_OUTPUT_TOKENS


def _line(meta: dict[str, Any], stage: Stage, span: _Span, *, is_streamed: bool) -> bytes:
    """`meta` with the engine's times, in the engine's order."""
    is_prefill = stage is Stage.PREFILL
    output_tokens = meta["completion_tokens"]
    line = {name: meta[name] for name in ("request_parameters", "id", "finish_reason")}
    line |= {
        "prompt_tokens": meta["prompt_tokens"],
        "weight_version": "default",
        "num_retractions": 0,
    }
    if is_prefill:
        line |= {"storage_prefetch_wait": 0.0, "storage_staging_wait": 0.0}
    line["forward_entry_time"] = span.received_at + span.forward_entry
    if is_prefill:
        line["prefill_finished_time"] = span.received_at + span.computed
    line |= {
        "queue_time": span.queue,
        "reasoning_tokens": 0,
        "completion_tokens": output_tokens,
        "cached_tokens": meta["cached_tokens"],
        "weight_versions": [{"version": "default", "start": 0, "end": output_tokens}],
        "cached_tokens_details": meta["cached_tokens_details"],
        "dp_rank": None,
        "e2e_latency": span.finished,
        "request_received_ts": span.received_at,
        "first_token_latency": span.first_token,
        "api_server_dispatch_finish_ts": span.received_at + DISPATCH_SECONDS,
    }
    finished_at = span.received_at + span.finished
    if is_streamed and not is_prefill:
        line["response_sent_to_client_ts"] = span.received_at + span.first_token + RESPONSE_SECONDS
    line["request_finished_ts"] = finished_at
    if not is_prefill and span.first_token < span.finished:
        line["decode_throughput"] = (output_tokens - 1) / (span.finished - span.first_token)
    line.setdefault("response_sent_to_client_ts", finished_at + RESPONSE_SECONDS)
    return json.dumps(line).encode() + b"\n"


def _span(leg: Leg, timeline: Timeline) -> _Span:
    def after_received(trace_seconds: float) -> float:
        return timeline.lasting(trace_seconds - leg.received_at)

    finished = after_received(leg.finished_at)
    computed = after_received(leg.computed_at)
    if leg.is_prefill:
        first_token = finished if leg.call.is_streaming else computed
    elif leg.call.is_streaming:
        first_token = computed
    else:
        share = min((FORCED_STREAM_TOKENS - 1) / max(leg.output_tokens - 1, 1), 1.0)
        first_token = computed + share * (finished - computed)
    forward_entry = after_received(leg.started_at)
    waited = forward_entry - DISPATCH_SECONDS if leg.is_prefill else 0.0
    return _Span(
        received_at=timeline.at(leg.received_at),
        queue=max(waited, ADMISSION_SECONDS),
        forward_entry=forward_entry,
        computed=computed,
        first_token=first_token,
        finished=finished,
    )


def _finish_reason(leg: Leg) -> dict[str, Any]:
    if leg.ending is Ending.STOP:
        return {"type": "stop", "matched": STOP_TOKEN_ID}
    if leg.ending is Ending.LENGTH:
        return {"type": "length", "length": 0 if leg.is_prefill else leg.output_tokens}
    side = "Prefill" if leg.is_prefill else "Decode"
    return {
        "type": "abort",
        "message": f"{side} transfer failed for request rank=0 req.rid={leg.rid!r} "
        f"req.bootstrap_room={leg.call.room}",
        "status_code": 500,
        "err_type": None,
    }


def _cached_details(leg: Leg, node: EngineNode) -> dict[str, Any] | None:
    """Where the hit came from: the pool's store where the cache is shared, else the device."""
    if not leg.cached_tokens:
        return None
    if not node.has_shared_cache:
        return {"device": leg.cached_tokens, "host": 0}
    details: dict[str, Any] = {"device": 0, "host": 0, "storage": leg.cached_tokens}
    if leg.is_prefill:
        details["storage_backend"] = "MooncakeStore"
    return details


class ExportFile:
    """A node's export: one file per hour of local time, appended to, a whole line a write.

    zone: whose local time; None is the process's own, as in the engine.
    """

    def __init__(self, node: EngineNode, zone: tzinfo | None) -> None:
        self._folder = node.log_folder
        self._zone = zone
        self._quarter_hour = -1
        self._file: IO[bytes] | None = None
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, line: bytes, written_at: float) -> None:
        """Append `line` to the file of the hour of `written_at`, in seconds since 1970."""
        file = self._file_of(written_at)
        # Unbuffered: one system call a line, so an interrupt leaves whole lines.
        if file.write(line) != len(line):
            remedy = "no room for a whole line: free space, then replay into an empty folder"
            raise OSError(errno.ENOSPC, remedy, str(self._folder))

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _file_of(self, written_at: float) -> IO[bytes]:
        quarter_hour = int(written_at // QUARTER_HOUR_SECONDS)
        if self._file is not None and quarter_hour == self._quarter_hour:
            return self._file
        self._quarter_hour = quarter_hour
        local = datetime.fromtimestamp(written_at, UTC).astimezone(self._zone)
        self.close()
        path = self._folder / f"sglang-request-metrics-{local:%Y%m%d_%H}.log"
        self._file = path.open("ab", buffering=0)
        return self._file
