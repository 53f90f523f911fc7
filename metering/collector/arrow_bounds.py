"""What an Arrow IPC stream will unpack to, read from its headers before anything is unpacked.

Arrow's reader allocates whatever sizes a message states: 1 KB can ask for a terabyte. The sizes
stand in each message's metadata, a FlatBuffer (format/Message.fbs and Schema.fbs of Apache Arrow):
RecordBatch = (length, nodes, buffers, compression, …), Buffer = (offset, length); a compressed
buffer begins with its unpacked length as 64 bits, -1 where it is stored as it is.
"""

import struct
from collections.abc import Iterator

import pyarrow as pa

from metering.errors import BatchTooLarge, BatchUnreadable

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2  # MessageHeader, the union's type
_HEADER_TYPE, _HEADER = 1, 2  # fields of Message
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3  # fields of RecordBatch
_DATA = 1  # field of DictionaryBatch
_BUFFER_BYTES = 16
_STORED = -1


def check_bounds(body: bytes, *, records: int, unpacked_bytes: int) -> None:
    """Raises BatchTooLarge if the stream holds more than so many records or unpacked bytes."""
    rows, size = 0, 0
    try:
        for message in pa.ipc.MessageReader.open_stream(pa.BufferReader(body)):
            batch = _batch_of(memoryview(message.metadata))
            if batch is not None:
                rows += batch.number(_LENGTH)
                size += sum(_unpacked(batch, memoryview(message.body or b"")))
    except (pa.ArrowException, OSError, struct.error, IndexError, ValueError) as error:
        raise BatchUnreadable(f"the body is no Arrow IPC stream: {error}") from None
    if rows > records or size > unpacked_bytes:
        raise BatchTooLarge(
            f"the batch has {rows:,} records and {size:,} bytes when unpacked; at most {records:,} "
            f"records and {unpacked_bytes:,} bytes are taken at once: send smaller batches"
        )


class _Table:
    """One table of a FlatBuffer: a vtable says where each field lies."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at
        self._vtable = at - _read("<i", data, at)
        self._vtable_bytes = _read("<H", data, self._vtable)

    def place(self, field: int) -> int | None:
        """Position of a field's value; None if the table leaves it out."""
        entry = 4 + 2 * field
        if entry + 2 > self._vtable_bytes:
            return None
        offset = _read("<H", self.data, self._vtable + entry)
        return self.at + offset if offset else None

    def number(self, field: int, form: str = "<q") -> int:
        """An integer field, 0 if it is left out."""
        place = self.place(field)
        return 0 if place is None else _read(form, self.data, place)

    def table(self, field: int) -> "_Table | None":
        """A table field."""
        place = self.place(field)
        return None if place is None else _Table(self.data, place + _read("<I", self.data, place))

    def structs(self, field: int) -> Iterator[int]:
        """Positions of a vector's 16-byte structs."""
        place = self.place(field)
        if place is None:
            return
        start = place + _read("<I", self.data, place)
        count = _read("<I", self.data, start)
        yield from range(start + 4, start + 4 + _BUFFER_BYTES * count, _BUFFER_BYTES)


def _batch_of(metadata: memoryview) -> _Table | None:
    """The RecordBatch of a message, also of a dictionary's; None for a schema."""
    message = _Table(metadata, _read("<I", metadata, 0))
    header = message.table(_HEADER)
    kind = message.number(_HEADER_TYPE, "<B")
    if header is None or kind not in {_RECORD_BATCH, _DICTIONARY_BATCH}:
        return None
    return header.table(_DATA) if kind == _DICTIONARY_BATCH else header


def _unpacked(batch: _Table, body: memoryview) -> Iterator[int]:
    """Bytes of each buffer of `batch` once unpacked."""
    is_compressed = batch.place(_COMPRESSION) is not None
    for at in batch.structs(_BUFFERS):
        offset, length = (_read("<q", batch.data, at), _read("<q", batch.data, at + 8))
        stated = _read("<q", body, offset) if is_compressed and length else _STORED
        yield length if stated == _STORED else max(stated, 0)


def _read(form: str, data: memoryview, at: int) -> int:
    if at < 0:
        raise ValueError("an offset points before the message")
    return int(struct.unpack_from(form, data, at)[0])
