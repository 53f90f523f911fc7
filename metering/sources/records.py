"""Cuts a file or a request body into records: JSON lines, one JSON array, or one JSON object."""

from collections.abc import Iterator

import msgspec

_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def records_of(data: bytes) -> Iterator[bytes]:
    """The records of `data`, in order, without line ends.

    LiteLLM posts an array by default, and an object may be printed over several lines; anything
    that is not one whole JSON value is taken line by line.
    """
    body = data.strip()
    try:
        if body.startswith(b"["):
            yield from [bytes(record) for record in _ARRAY.decode(body)]
            return
        if body.startswith(b"{") and b"\n" in body:
            _OBJECT.decode(body)
            yield body
            return
    except (msgspec.MsgspecError, RecursionError):
        pass
    for line in data.split(b"\n"):
        if line and not line.isspace():
            yield line.rstrip(b"\r")
