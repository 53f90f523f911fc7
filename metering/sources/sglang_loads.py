"""SGLang's GET /v1/loads: load per data-parallel replica, and who the engine is."""

from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded
from metering.sources.prometheus import sample_row
from metering.sources.record import NodeIdentity, Row
from metering.sources.sglang_fields import Count
from metering.usage import Stage

FORMAT: Final = "sglang_loads"
_STAGE: Final = {"prefill": Stage.PREFILL.value, "decode": Stage.DECODE.value}


class Disaggregation(msgspec.Struct, gc=False):
    """The engine's role."""

    mode: str | None = None


class Load(msgspec.Struct, gc=False):
    """One replica."""

    num_running_reqs: Count = None
    num_waiting_reqs: Count = None
    token_usage: float | None = None
    disaggregation: Disaggregation | None = None


class Loads(msgspec.Struct, gc=False):
    """The whole answer."""

    version: str | None = None
    accelerator: str | None = None
    num_accelerators: int | None = None
    loads: list[Load] = []


class Engine(NamedTuple):
    """What the engine says of itself; stage None: it does not say."""

    version: str | None
    stage: str | None
    accelerator: str | None
    accelerator_count: int | None


_LOADS: Final = msgspec.json.Decoder(Loads)


def parse(text: str, node: NodeIdentity, sampled_at: datetime) -> list[Row]:
    """One row for the engine, none without replicas. Raises UsageInvalid."""
    answer = _decode(text)
    if not answer.loads:
        return []
    row = sample_row(node, sampled_at, FORMAT)
    row["stage"] = _stage(answer) or row["stage"]
    row["model_id"] = node.model_id
    row["running_requests"] = _sum([load.num_running_reqs for load in answer.loads])
    row["queued_requests"] = _sum([load.num_waiting_reqs for load in answer.loads])
    usage = [load.token_usage for load in answer.loads if load.token_usage is not None]
    row["kv_usage_ratio"] = sum(usage) / len(usage) if usage else None
    return [row]


def engine_of(text: str) -> Engine:
    """Version, role and accelerator that /v1/loads names. Raises UsageInvalid."""
    answer = _decode(text)
    version = bounded(answer.version) if answer.version else None
    accelerator = bounded(answer.accelerator) if answer.accelerator else None
    return Engine(version, _stage(answer), accelerator, answer.num_accelerators)


def _decode(text: str) -> Loads:
    try:
        return _LOADS.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise UsageInvalid("record", f"not an answer of /v1/loads: {error}") from None


def _stage(answer: Loads) -> str | None:
    """The role; any other mode of an engine that answers is an engine that does both."""
    modes = {load.disaggregation.mode for load in answer.loads if load.disaggregation is not None}
    if len(modes) != 1:
        return None
    return _STAGE.get(modes.pop() or "", Stage.UNIFIED.value)


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None
