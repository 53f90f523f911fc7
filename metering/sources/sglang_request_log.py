"""SGLang's request log (--log-requests --log-requests-format json): one line per event.

A line is `[YYYY-mm-dd HH:MM:SS] {"timestamp", "event", "rid", "obj": {…}, "out": {"meta_info"}}`.
Only `request.finished` reports usage. Use it where the export file cannot be written, never beside
it: both report the same requests under different event ids.
"""

from typing import Final

import msgspec

from metering.errors import UsageInvalid
from metering.sources.record import NodeIdentity, Row, identified
from metering.sources.sglang_fields import MetaInfo, Parameters
from metering.sources.sglang_meta import to_row
from metering.sources.sglang_tolerant import meta_info, parameters, read_object

FORMAT: Final = "sglang_request_log"
FINISHED: Final = "request.finished"
EVENT_MARK: Final = b'"event": "request.'
_MARK_BYTES_MAX: Final = 200  # the event's name is the second member of a line


class Out(msgspec.Struct, gc=False):
    """What the engine answered."""

    meta_info: MetaInfo | None = None


class Line(msgspec.Struct, gc=False):
    """One event."""

    event: str = ""
    obj: Parameters | None = None
    out: Out | None = None


_LINE: Final = msgspec.json.Decoder(Line)


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one finished request; None for other events and for lines of other loggers.

    Raises UsageInvalid for a torn event and for one without status, times or readable counts.
    """
    start = record.find(b"{")
    if start < 0 or EVENT_MARK not in record[:_MARK_BYTES_MAX]:
        return None
    body = record[start:]
    try:
        line = _LINE.decode(body)
        event, obj, out = line.event, line.obj, line.out
        meta = None if out is None else out.meta_info
    except (msgspec.MsgspecError, RecursionError):
        event, obj, meta = _tolerant(body)
    if event != FINISHED:
        return None
    if obj is None or meta is None:
        raise UsageInvalid("out.meta_info", "missing in a request.finished event")
    return identified(to_row(meta, obj, node), FORMAT, record, position)


def _tolerant(body: bytes) -> tuple[str, Parameters | None, MetaInfo | None]:
    line = read_object("record", body.decode("utf-8", "replace"))
    event = line.get("event")
    if event != FINISHED:
        return str(event), None, None
    obj, out = line.get("obj"), line.get("out")
    meta = out.get("meta_info") if isinstance(out, dict) else None
    return (
        FINISHED,
        parameters(obj) if isinstance(obj, dict) else None,
        meta_info(meta) if isinstance(meta, dict) else None,
    )
