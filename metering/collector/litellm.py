"""What LiteLLM's generic logger posts: one payload, a JSON array of them, or one a line.

Payloads hold prompts and answers. The parser does not decode them, and a payload that is refused
goes to the quarantine without any text that could be one.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from metering.collector.records import Records, without_blank
from metering.errors import BatchUnreadable, UsageInvalid
from metering.sidecar.redact import redacted
from metering.sources.litellm import FORMAT, parse
from metering.sources.record import NodeIdentity

_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ONE: Final = msgspec.json.Decoder(msgspec.Raw)
_FAULTS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


def read_payloads(body: bytes, gateway: NodeIdentity, into: Records) -> None:
    """Read each payload of `body`; all of them are legs of `gateway`."""
    for index, record in _records(body):
        try:
            row = parse(record, gateway, f"{FORMAT}:{index}")
        except UsageInvalid as refusal:
            into.refuse(index, redacted(record).encode(), refusal)
        else:
            if row is not None:
                node_id = row["node_id"] or None  # a gateway need not be a registered node
                into.take(index, row | {"node_id": node_id}, foreign=False)


def _records(body: bytes) -> Iterator[tuple[int, bytes]]:
    """The payloads' own bytes, each with its place, from 0: alike in every log format."""
    if body.lstrip()[:1] == b"[":
        try:
            found = _ARRAY.decode(body)
        except _FAULTS as error:
            raise BatchUnreadable(f"expected a JSON array of payloads: {error}") from None
        yield from ((index, bytes(raw)) for index, raw in enumerate(found))
        return
    try:
        yield 0, bytes(_ONE.decode(body)).strip()
    except _FAULTS:
        yield from without_blank(body.split(b"\n"))
