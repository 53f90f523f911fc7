"""SGLang's request metrics file (--export-metrics-to-file): one JSON line per finished request.

A line is `{"request_parameters": "<JSON in a string>", ...meta_info}`. It names neither node, role
nor model; those come from `NodeIdentity`. Lines hold prompts unless request logging is on, so a
line never leaves the node: only the row does.
"""

from typing import Final

import msgspec

from metering.sources.record import NodeIdentity, Row, identified
from metering.sources.sglang_fields import MetaInfo, Parameters
from metering.sources.sglang_meta import to_row
from metering.sources.sglang_tolerant import read_line

FORMAT: Final = "sglang_export"
RECORD_START: Final = b'{"request_parameters": "'


class Line(MetaInfo, gc=False):
    """One line: meta_info, and the request's parameters as JSON in a string."""

    request_parameters: str = ""


_LINE: Final = msgspec.json.Decoder(Line)
_PARAMETERS: Final = msgspec.json.Decoder(Parameters)


def parse(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one line; None for an empty one.

    Raises UsageInvalid for a torn line and for one without status, times or readable counts.
    """
    meta: MetaInfo
    try:
        meta = line = _LINE.decode(record)
        parameters = _PARAMETERS.decode(line.request_parameters)
    except (msgspec.MsgspecError, RecursionError):
        if not record or record.isspace():
            return None
        meta, parameters = read_line(record)
    return identified(to_row(meta, parameters, node), FORMAT, record, position)


def salvage(record: bytes) -> tuple[bytes, ...]:
    """The pieces of a line in which a cut record and the next one were written together.

    A write that failed half-way leaves no line end, so the next record follows on the same line.
    Quotes inside a record are escaped, so its beginning can only appear where one begins.
    """
    begin = record.rfind(RECORD_START)
    return (record[:begin], record[begin:]) if begin > 0 else (record,)
