"""A bounded queue on disk for what no file of the engine holds, such as scraped samples.

Records are framed with their length and CRC-32 in numbered segment files. A torn tail (crash,
full disk) is ignored; beyond the size limit the oldest segment is dropped and counted.
"""

import errno
import os
import struct
import threading
import zlib
from pathlib import Path
from typing import Final, NamedTuple

FRAME: Final = struct.Struct("<II")  # length of the record in bytes, CRC-32 of it
RECORD_BYTES_MAX: Final = 1024 * 1024
SEGMENTS_MIN: Final = 8  # of a full queue, so that at most an eighth is dropped at a time
SEGMENT_BYTES_MAX: Final = 1024 * 1024
SUFFIX: Final = ".spool"


class Place(NamedTuple):
    """A position between two records."""

    segment: int
    offset: int


class Spool:
    """The queue. One thread appends, one reads; both may be the same or another."""

    def __init__(self, folder: Path, bytes_max: int, delivered: Place) -> None:
        """delivered: what has been acknowledged before; the cursor keeps it."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.dropped_records = 0
        self._folder = folder
        self._segment_bytes = min(SEGMENT_BYTES_MAX, max(1, bytes_max // SEGMENTS_MIN))
        self._bytes_max = bytes_max
        self._delivered = delivered
        self._lock = threading.Lock()
        self._segments = sorted(int(path.stem) for path in folder.glob(f"*{SUFFIX}"))
        # A new segment, because the last one may be torn.
        self._end = Place(max([delivered.segment, *self._segments]) + 1, 0)

    def append(self, record: bytes) -> None:
        """Keep `record`. Raises OSError if the disk takes nothing; the queue stays readable."""
        if len(record) > RECORD_BYTES_MAX:
            raise ValueError(f"a record has at most {RECORD_BYTES_MAX} bytes, got {len(record)}")
        frame = FRAME.pack(len(record), zlib.crc32(record)) + record
        with self._lock:
            if self._end.offset and self._end.offset + len(frame) > self._segment_bytes:
                self._end = Place(self._end.segment + 1, 0)
            self._write(frame)
            self._end = Place(self._end.segment, self._end.offset + len(frame))
            self._drop_oldest()

    def read(self, place: Place, records_max: int) -> tuple[list[bytes], Place]:
        """Up to records_max records from `place` on, and the place behind them."""
        records: list[bytes] = []
        with self._lock:
            for segment in [s for s in self._segments if s >= place.segment]:
                offset = place.offset if segment == place.segment else 0
                for record in self._records(segment, offset):
                    if len(records) == records_max:
                        return records, place
                    records.append(record)
                    offset += FRAME.size + len(record)
                    place = Place(segment, offset)
        return records, place

    def acknowledge(self, place: Place) -> None:
        """Forget the segments that lie wholly before `place`."""
        with self._lock:
            self._delivered = place
            for segment in [s for s in self._segments if s < place.segment]:
                self._remove(segment)
            if place == self._end and place.offset:
                self._end = Place(place.segment + 1, 0)  # the next append begins a new file

    def pending_bytes(self, place: Place) -> int:
        """Bytes on disk behind `place`."""
        with self._lock:
            sizes = {s: self._path(s).stat().st_size for s in self._segments}
        behind = sum(size for segment, size in sizes.items() if segment > place.segment)
        return behind + max(0, sizes.get(place.segment, 0) - place.offset)

    def _path(self, segment: int) -> Path:
        return self._folder / f"{segment:012d}{SUFFIX}"

    def _records(self, segment: int, offset: int) -> list[bytes]:
        data = self._path(segment).read_bytes()
        records: list[bytes] = []
        while offset + FRAME.size <= len(data):
            length, checksum = FRAME.unpack_from(data, offset)
            record = data[offset + FRAME.size : offset + FRAME.size + length]
            if len(record) < length or zlib.crc32(record) != checksum:
                break  # torn: nothing behind it can be trusted
            records.append(record)
            offset += FRAME.size + length
        return records

    def _write(self, frame: bytes) -> None:
        segment, offset = self._end
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path(segment), flags, 0o600)
        if segment not in self._segments:
            self._segments.append(segment)
        try:
            if os.pwrite(descriptor, frame, offset) < len(frame):
                os.ftruncate(descriptor, offset)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)

    def _drop_oldest(self) -> None:
        sizes = [self._path(segment).stat().st_size for segment in self._segments]
        while sum(sizes) > self._bytes_max and len(self._segments) > 1:
            oldest = self._segments[0]
            delivered = self._delivered.offset if oldest == self._delivered.segment else 0
            self.dropped_records += len(self._records(oldest, delivered))
            self._remove(self._segments[0])
            sizes.pop(0)

    def _remove(self, segment: int) -> None:
        self._path(segment).unlink(missing_ok=True)
        self._segments.remove(segment)
