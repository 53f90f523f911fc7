"""A body as bytes: read no further than its limit, unpacked no further than its limit."""

from collections.abc import AsyncIterator

import pyarrow as pa

from metering.errors import BatchTooLarge, BatchUnreadable, FormatUnknown

ENCODINGS = ("gzip", "zstd")


async def read_body(stream: AsyncIterator[bytes], declared: str | None, limit_bytes: int) -> bytes:
    """All of `stream`, at most `limit_bytes`; a larger body is refused as soon as that is known.

    declared: the Content-Length header.
    """
    if declared is not None and declared.isdecimal() and int(declared) > limit_bytes:
        raise _too_large(f"{int(declared):,} bytes", limit_bytes)
    body = bytearray()
    async for chunk in stream:
        body += chunk
        if len(body) > limit_bytes:
            raise _too_large(f"more than {limit_bytes:,} bytes", limit_bytes)
    return bytes(body)


def unpack(body: bytes, encoding: str | None, limit_bytes: int) -> bytes:
    """`body` without its Content-Encoding, at most `limit_bytes`."""
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return body
    if name not in ENCODINGS:
        raise FormatUnknown(
            f"Content-Encoding {name!r} is not known; expected one of {', '.join(ENCODINGS)}"
        )
    try:
        with pa.CompressedInputStream(pa.BufferReader(body), name) as stream:
            data: bytes = stream.read(limit_bytes + 1)
    except (OSError, pa.ArrowException) as error:
        raise BatchUnreadable(f"the body is not {name} as Content-Encoding says: {error}") from None
    if len(data) > limit_bytes:
        raise _too_large(f"more than {limit_bytes:,} bytes when unpacked", limit_bytes)
    return data


def _too_large(found: str, limit_bytes: int) -> BatchTooLarge:
    return BatchTooLarge(
        f"the body has {found}; at most {limit_bytes:,} are taken at once: send smaller batches"
    )
