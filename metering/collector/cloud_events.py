"""CloudEvents 1.0 whose data is a usage leg (docs/wire.md): one event, or a batch of them.

`id` and `source` together are the sender's own id of the leg. `subject` names the tenant and
`time` the finish where the data leaves them out.
"""

from typing import Final

import msgspec

from metering.collector.records import Records
from metering.errors import BatchUnreadable, UsageInvalid
from metering.sources.usage_ndjson import usage_row

TYPE: Final = "tokentill.usage.leg"
SPEC_VERSION: Final = "1.0"


class Event(msgspec.Struct):
    """The attributes that are read; extensions are allowed and ignored."""

    id: str
    source: str
    type: str
    specversion: str = SPEC_VERSION
    data: msgspec.Raw = msgspec.Raw()
    subject: str | None = None
    time: str | None = None


_EVENT: Final = msgspec.json.Decoder(Event)
_DATA: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_BATCH: Final = msgspec.json.Decoder(list[msgspec.Raw])


def read_events(body: bytes, into: Records, *, batched: bool) -> None:
    """Read the event, or the JSON array of events, in `body`."""
    try:
        events = _BATCH.decode(body) if batched else [msgspec.Raw(body)]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BatchUnreadable(f"expected a JSON array of CloudEvents: {error}") from None
    for index, raw in enumerate(events):
        record = bytes(raw)
        try:
            event = _EVENT.decode(record)
            into.take(index, _row(event), foreign=True)
        except UsageInvalid as refusal:
            into.refuse(index, record, refusal)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            into.refuse(index, record, UsageInvalid("record", f"no CloudEvent: {error}"))


def _row(event: Event) -> dict[str, object]:
    if event.specversion != SPEC_VERSION:
        raise UsageInvalid(
            "specversion", f"expected {SPEC_VERSION}, got {event.specversion[:64]!r}"
        )
    if event.type != TYPE:
        raise UsageInvalid("type", f"expected {TYPE}, got {event.type[:64]!r}")
    if not event.id or not event.source:
        raise UsageInvalid("id", "id and source must not be empty: together they name the event")
    try:
        data = _DATA.decode(event.data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UsageInvalid(
            "data", f"expected an object with the fields of a leg: {error}"
        ) from None
    if "event_id" in data:
        raise UsageInvalid("event_id", "the event's id and source name it; leave event_id out")
    for name, stated in (("tenant_id", event.subject), ("finished_at", event.time)):
        if name not in data and stated is not None:
            data[name] = msgspec.Raw(msgspec.json.encode(stated))
    position = f"{event.source} {event.id}"  # no URI holds a space, so no two pairs are alike
    data["event_id"] = msgspec.Raw(msgspec.json.encode(position))
    row = usage_row(msgspec.json.encode(data), position)
    assert row is not None  # noqa: S101 - an object is never a blank line
    return row | {"source": "cloudevents"}
