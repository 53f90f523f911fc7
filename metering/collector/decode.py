"""Bodies by content type → batches for the store (docs/wire.md, Requests)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final

import pyarrow as pa

from metering.collector.arrow import read_arrow
from metering.collector.body import unpack
from metering.collector.cloud_events import read_events
from metering.collector.limits import Limits
from metering.collector.litellm import read_payloads
from metering.collector.ndjson import read_legs, read_rejects, read_samples
from metering.collector.records import Records
from metering.errors import BatchUnreadable, FormatUnknown
from metering.sources.record import NodeIdentity
from metering.store.batches import LegBatch, SampleBatch
from metering.usage import LEG_FIELDS, SAMPLE_FIELDS, Stage
from metering.windows import parse_time
from metering.wire import LEG_SCHEMA, SAMPLE_SCHEMA

ARROW: Final = "application/vnd.apache.arrow.stream"
NDJSON: Final = "application/x-ndjson"
JSON: Final = "application/json"
EVENT: Final = "application/cloudevents+json"
EVENTS: Final = "application/cloudevents-batch+json"

Reader = Callable[[bytes, Records], None]
LEG_READERS: Final[Mapping[str, Reader]] = {
    NDJSON: read_legs,
    EVENT: partial(read_events, batched=False),
    EVENTS: partial(read_events, batched=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who sends, and what the headers say of its node. watermark_at: UTC."""

    sender: str
    node: str | None = None
    stage: str | None = None
    pool: str | None = None
    watermark_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body as it travelled, with its headers Content-Type and Content-Encoding."""

    data: bytes
    content_type: str
    encoding: str | None = None

    def media_type(self) -> str:
        """The content type without its parameters."""
        return self.content_type.partition(";")[0].strip().lower()


def leg_batch(body: Body, origin: Origin, limits: Limits) -> LegBatch:
    """A body of legs."""
    kind = body.media_type()
    data = _unpacked(body, (ARROW, *LEG_READERS), limits)
    if kind == ARROW:
        table = read_arrow(data, LEG_SCHEMA, LEG_FIELDS, limits)
        return LegBatch(table=table, **_said(origin))
    records = Records(limits)
    LEG_READERS[kind](data, records)
    return _legs(records, origin)


def litellm_batch(body: Body, origin: Origin, limits: Limits) -> LegBatch:
    """A body of LiteLLM's generic logger: legs of the gateway, in the pool that the headers name.

    Its log format ndjson comes with the content type of JSON too.
    """
    data = _unpacked(body, (JSON, NDJSON), limits)
    gateway = NodeIdentity(
        node_id=origin.node or "", stage=Stage.GATEWAY, model_id="", pool=origin.pool
    )
    records = Records(limits)
    read_payloads(data, gateway, records)
    return _legs(records, origin)


def sample_batch(body: Body, origin: Origin, limits: Limits) -> SampleBatch:
    """A body of node samples."""
    data = _unpacked(body, (ARROW, NDJSON), limits)
    if body.media_type() == ARROW:
        table = read_arrow(data, SAMPLE_SCHEMA, SAMPLE_FIELDS, limits)
        return SampleBatch(table=table, **_said(origin))
    records = Records(limits)
    read_samples(data, records)
    return SampleBatch(
        table=records.table(SAMPLE_SCHEMA),
        places=pa.array(records.places, pa.int64()),
        refused=tuple(records.refused),
        **_said(origin),
    )


def reject_batch(body: Body, origin: Origin, limits: Limits) -> LegBatch:
    """A body of records that a sidecar could not read: no legs, all for the quarantine."""
    data = _unpacked(body, (NDJSON,), limits)
    records = Records(limits)
    read_rejects(data, records)
    table = records.table(LEG_SCHEMA)
    return LegBatch(table=table, refused=tuple(records.refused), **_said(origin))


def watermark(text: str | None) -> datetime | None:
    """The header Tokentill-Watermark as UTC."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except (ValueError, OverflowError) as error:
        raise BatchUnreadable(f"header Tokentill-Watermark: {error}") from None


def _legs(records: Records, origin: Origin) -> LegBatch:
    return LegBatch(
        table=records.table(LEG_SCHEMA),
        foreign=pa.array(records.foreign, pa.bool_()),
        places=pa.array(records.places, pa.int64()),
        refused=tuple(records.refused),
        **_said(origin),
    )


def _unpacked(body: Body, kinds: tuple[str, ...], limits: Limits) -> bytes:
    if body.media_type() not in kinds:
        raise FormatUnknown(
            f"Content-Type {body.content_type[:100]!r} is not read here; send one of "
            f"{', '.join(kinds)}"
        )
    return unpack(body.data, body.encoding, limits.unpacked_bytes)


def _said(origin: Origin) -> dict[str, Any]:
    return {
        "sender": origin.sender,
        "node": origin.node,
        "stage": origin.stage,
        "pool": origin.pool,
        "watermark_at": origin.watermark_at,
    }
