"""UsageLeg and NodeSample: the facts that metering records (docs/wire.md).

`LEG_FIELDS` and `SAMPLE_FIELDS` are the wire contract: names, kinds and meanings. The Arrow schema
(metering/wire.py), the NDJSON form, the store's columns and docs/wire.md all follow from them.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Literal, NamedTuple

from metering.errors import UsageInvalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA_VERSION = 1
COUNT_MAX = 10**12  # tokens; above this a record is unreadable, not large
TEXT_LENGTH_MAX = 512  # characters of an id, name or label; longer ones are refused
LABELS_MAX = 32  # entries of a map field
BUCKETS_MAX = 128  # entries of a histogram

Kind = Literal["text", "count", "time", "seconds", "ratio", "labels", "counts"]


class Stage(StrEnum):
    """Which part of a request the engine did."""

    PREFILL = "prefill"
    DECODE = "decode"
    UNIFIED = "unified"
    GATEWAY = "gateway"


class Status(StrEnum):
    """How the engine's part ended (docs/pd-accounting.md, The traps)."""

    OK = "ok"
    ABORTED = "aborted"
    ERROR = "error"
    REJECTED = "rejected"
    WARMUP = "warmup"


class Operation(StrEnum):
    """What was asked of the engine."""

    CHAT = "chat"
    COMPLETION = "completion"
    EMBEDDING = "embedding"
    RERANK = "rerank"
    SCORE = "score"


class Field(NamedTuple):
    """One column of the contract. required: a record without it is rejected."""

    name: str
    kind: Kind
    meaning: str
    required: bool = False


LEG_FIELDS: tuple[Field, ...] = (
    Field("event_id", "text", "128 bits as 32 hex digits, or the sender's own id"),
    Field("stage", "text", "prefill, decode, unified, gateway", required=True),
    Field("operation", "text", "chat, completion, embedding, rerank, score"),
    Field("engine_request_id", "text", "the engine's id (SGLang rid)"),
    Field("join_key", "text", "what ties a prefill and a decode leg"),
    Field("client_request_id", "text", "what the client or gateway chose"),
    Field("group_id", "text", "lines of one call with n > 1"),
    Field("group_size", "count", "n of that call"),
    Field("node_id", "text", "the server that did the work"),
    Field("pool", "text", "the group of servers that serve together"),
    Field("instance_id", "text", "an engine instance that spans several servers"),
    Field("engine", "text", "sglang, vllm, …"),
    Field("engine_version", "text", "as the engine or the configuration says"),
    Field("tenant_id", "text", "as it came; unknown ids are stored, never rejected"),
    Field("project_id", "text", "as it came"),
    Field("api_key_id", "text", "as it came; never the key itself"),
    Field("labels", "labels", "other labels, text to text"),
    Field("model_id", "text", "as the engine names it; LoRA as model:lora", required=True),
    Field("started_at", "time", "UTC, microseconds, rounded down", required=True),
    Field("finished_at", "time", "UTC, microseconds, rounded down", required=True),
    Field("input_tokens", "count", "all input tokens; NULL: the engine did not say"),
    Field("cached_input_tokens", "count", "part of input; NULL: unknown"),
    Field("cached_explicit_tokens", "count", "part of cached_input_tokens"),
    Field("cached_by_tier", "counts", "cached tokens by device, host, storage"),
    Field("cache_write_tokens", "count", "part of input, disjoint from cached"),
    Field("cache_write_1h_tokens", "count", "part of cache_write_tokens"),
    Field("output_tokens", "count", "all output tokens, reasoning included"),
    Field("reasoning_tokens", "count", "part of output"),
    Field("input_by_class", "counts", "input tokens by image, audio, video"),
    Field("status", "text", "ok, aborted, error, rejected, warmup", required=True),
    Field("service_tier", "text", "as asked for, e.g. batch"),
    Field("region", "text", "from the sidecar's configuration"),
    Field("retractions", "count", "times the engine gave the request back"),
    Field("queue_seconds", "seconds", "waiting before prefill"),
    Field("prefill_seconds", "seconds", "prefill computation"),
    Field("ttft_seconds", "seconds", "received to first token"),
    Field("decode_seconds", "seconds", "first to last token"),
    Field("e2e_seconds", "seconds", "received to finished"),
    Field("kv_transfer_seconds", "seconds", "moving the KV cache from prefill to decode"),
    Field("source", "text", "format of the record, e.g. sglang_export"),
    Field("source_position", "text", "file and byte offset, for audit"),
)

SAMPLE_FIELDS: tuple[Field, ...] = (
    Field("sampled_at", "time", "UTC time of the scrape", required=True),
    Field("node_id", "text", "the server", required=True),
    Field(
        "source",
        "text",
        "format: sglang_metrics, vllm_metrics, dcgm, mthreads_gmi, …",
        required=True,
    ),
    Field("stage", "text", "prefill, decode, unified"),
    Field("pool", "text", "the group of servers that serve together"),
    Field("model_id", "text", "as the engine names it"),
    Field("running_requests", "count", "requests in execution"),
    Field("queued_requests", "count", "requests waiting"),
    Field("kv_usage_ratio", "ratio", "share of KV cache in use, 0–1"),
    Field("gpu_utilization_ratio", "ratio", "mean over the node's devices, 0–1"),
    Field("power_watts", "ratio", "sum over the node's devices, W"),
    Field("energy_joules", "ratio", "energy counter, sum over the node's devices, J"),
    Field("device_count", "count", "devices that reported"),
    Field("counter_epoch", "text", "changes when the engine's counters restart, if it says so"),
    Field("counter_input_tokens", "count", "engine's counter of input tokens"),
    Field("counter_cached_tokens", "count", "engine's counter of cached input tokens"),
    Field("counter_output_tokens", "count", "engine's counter of output tokens"),
    Field("counter_requests", "count", "engine's counter of finished requests"),
    Field("counter_aborted_requests", "count", "engine's counter of aborted requests"),
    Field("counter_finished_input_tokens", "count", "part of the input counter: finished requests"),
    Field(
        "counter_finished_output_tokens", "count", "part of the output counter: finished requests"
    ),
    Field(
        "itl_by_bucket",
        "counts",
        "engine's histogram of inter-token latency: upper bound in seconds → intervals up to it so "
        "far, as Prometheus' `le` counts; `+Inf`: all",
    ),
)

COUNT_FIELDS = tuple(f.name for f in LEG_FIELDS if f.kind == "count")
TIMING_FIELDS = tuple(f.name for f in LEG_FIELDS if f.kind == "seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageLeg:
    """One engine's finished part of one request, as that engine counted it.

    Token counts are in tokens and None where the engine did not say; cached_input_tokens is a part
    of input_tokens. Times are aware UTC. Field meanings: `LEG_FIELDS`.
    """

    event_id: str
    stage: str
    model_id: str
    started_at: datetime
    finished_at: datetime
    status: str
    operation: str = Operation.CHAT
    engine_request_id: str | None = None
    join_key: str | None = None
    client_request_id: str | None = None
    group_id: str | None = None
    group_size: int | None = None
    node_id: str | None = None
    pool: str | None = None
    instance_id: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    tenant_id: str | None = None
    project_id: str | None = None
    api_key_id: str | None = None
    labels: dict[str, str] | None = None
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cached_explicit_tokens: int | None = None
    cached_by_tier: dict[str, int] | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_by_class: dict[str, int] | None = None
    service_tier: str | None = None
    region: str | None = None
    retractions: int | None = None
    queue_seconds: float | None = None
    prefill_seconds: float | None = None
    ttft_seconds: float | None = None
    decode_seconds: float | None = None
    e2e_seconds: float | None = None
    kv_transfer_seconds: float | None = None
    source: str | None = None
    source_position: str | None = None

    def __post_init__(self) -> None:
        if self.stage not in Stage.__members__.values():
            raise UsageInvalid("stage", f"expected one of {', '.join(Stage)}, got {self.stage!r}")
        if self.status not in Status.__members__.values():
            raise UsageInvalid(
                "status", f"expected one of {', '.join(Status)}, got {self.status!r}"
            )
        for name in ("started_at", "finished_at"):
            at = getattr(self, name)
            if at.utcoffset() != timedelta(0):
                raise UsageInvalid(name, f"must be UTC, got {at!r}")
        for name in COUNT_FIELDS:
            count = getattr(self, name)
            if count is not None and not 0 <= count <= COUNT_MAX:
                raise UsageInvalid(name, f"must lie in 0..{COUNT_MAX}, got {count}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSample:
    """One scrape of a node. A value that the node did not give is None, never 0.

    Units: `SAMPLE_FIELDS`. Counters are the engine's own running totals; restarts are found later.
    """

    sampled_at: datetime
    node_id: str
    source: str
    stage: str | None = None
    pool: str | None = None
    model_id: str | None = None
    running_requests: int | None = None
    queued_requests: int | None = None
    kv_usage_ratio: float | None = None
    gpu_utilization_ratio: float | None = None
    power_watts: float | None = None
    energy_joules: float | None = None
    device_count: int | None = None
    counter_epoch: str | None = None
    counter_input_tokens: int | None = None
    counter_cached_tokens: int | None = None
    counter_output_tokens: int | None = None
    counter_requests: int | None = None
    counter_aborted_requests: int | None = None
    counter_finished_input_tokens: int | None = None
    counter_finished_output_tokens: int | None = None
    itl_by_bucket: dict[str, int] | None = None


@cache
def _begun(source: str) -> "hashlib._Hash":
    """SHA-256 over the format's name; a few formats, so each is digested once."""
    return hashlib.sha256(source.encode() + b"\x00")


def event_id(source: str, record: bytes, ordinal: int = 0) -> str:
    """First 128 bits, as 32 hex digits, of SHA-256 over the format's name and the record's bytes.

    record: the engine's own bytes without line end, so that a copied file or a renamed node
    repeats the id. ordinal: which of the identical lines of its file this is, for formats whose
    records carry no id of their own.
    """
    digest = _begun(source).copy()
    digest.update(record)
    if ordinal:
        digest.update(b"\x00%d" % ordinal)
    return digest.hexdigest()[:32]


def foreign_event_id(sender: str, sender_id: str) -> str:
    """The 32 hex digits for an id that a sender chose itself (docs/wire.md, Which id a leg has)."""
    return event_id("foreign:" + sender, sender_id.encode())
