"""One growing file: complete lines from an offset on, whatever happens to its name."""

import hashlib
import os
from pathlib import Path
from typing import Final

from metering.sidecar.cursor import FileMark

CHUNK_BYTES: Final = 256 * 1024  # read at once; its lines are parsed while they are in cache
CHUNK_BYTES_MIN: Final = 64 * 1024
SCAN_BYTES: Final = 256 * 1024  # read at once while looking for the end of a long line
HEAD_BYTES: Final = 1024  # of a file's beginning, to know it again
KEPT_BYTES: Final = 64 * 1024  # of a line that is too long

Line = tuple[bytes, str, str | None]  # record without line end, "file:offset", why it is unreadable


def new_mark(inode: int, name: str) -> FileMark:
    """The mark of a file of which nothing has been read."""
    return FileMark(inode, 0, 0, 0, 0, "", name)


class FollowedFile:
    """A file known by inode and by the digest of its first bytes.

    size and mtime_ns: as last seen. changed_at: monotonic seconds of the last change seen.
    at_end: all complete lines that the last look showed have been read.
    """

    def __init__(self, mark: FileMark, changed_at: float) -> None:
        self.inode, self.offset = mark.inode, mark.offset
        self.size, self.mtime_ns, self.name = mark.size, mark.mtime_ns, mark.name
        self.changed_at = changed_at
        self.listed = True
        self.at_end = mark.offset == mark.size > 0
        self.descriptor: int | None = None
        self._head_length, self._head_digest = mark.head_length, mark.head_digest
        self._scanned_to = 0  # no line end lies in offset.._scanned_to

    def mark(self) -> FileMark:
        """What a cursor must keep."""
        return FileMark(
            inode=self.inode,
            offset=self.offset,
            size=self.size,
            mtime_ns=self.mtime_ns,
            head_length=self._head_length,
            head_digest=self._head_digest,
            name=self.name,
        )

    def open(self, folder: Path) -> bool:
        """Hold the file open, so that a rename or a deletion takes nothing away.

        False: the name leads to another file by now; the next listing will tell.
        """
        if self.descriptor is None:
            descriptor = os.open(folder / self.name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            if os.fstat(descriptor).st_ino != self.inode:
                os.close(descriptor)
                return False
            self.descriptor = descriptor
        return True

    def close(self) -> None:
        """Let go of the file."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def notice(self, size: int, mtime_ns: int, now: float) -> bool:
        """Take in what a look at the file showed; whether it changed since the last look."""
        if (size, mtime_ns) == (self.size, self.mtime_ns):
            return False
        self.size, self.mtime_ns, self.changed_at, self.at_end = size, mtime_ns, now, False
        return True

    def is_rewritten(self) -> bool:
        """Whether the file is shorter than what was read, or begins otherwise. It must be open."""
        if self.size < self.offset:
            return True
        return bool(self._head_length) and self._digest(self._head_length) != self._head_digest

    def restart(self) -> None:
        """Read from the beginning: the file holds something else now."""
        self.offset = self._scanned_to = self._head_length = 0
        self._head_digest = ""
        self.at_end = False

    def read(self, rows_max: int, bytes_max: int, line_bytes_max: int) -> list[Line] | None:
        """Up to rows_max complete lines from about bytes_max bytes; None at the file's end.

        A line longer than line_bytes_max is returned cut, with the reason. The file must be open.
        """
        asked = max(CHUNK_BYTES_MIN, min(bytes_max, CHUNK_BYTES))
        data = os.pread(self._held(), asked, self.offset)
        if b"\n" not in data:
            return self._long_line(line_bytes_max) if len(data) == asked else None
        records = data.split(b"\n", rows_max)
        records.pop()  # what follows the last line end taken
        name, offset = self.name, self.offset
        ends = b"\r" if b"\r" in data else b""
        lines: list[Line] = []
        for record in records:
            if record:
                kept = record.rstrip(ends) if ends else record
                lines.append((kept, f"{name}:{offset}", None))
            offset += len(record) + 1
        self._advance(offset)
        return lines

    def rest(self, line_bytes_max: int) -> list[Line] | None:
        """The unfinished last line as it is; None if there is none. The file must be open."""
        end = os.fstat(self._held()).st_size
        return self._line(end, end, line_bytes_max) if end > self.offset else None

    def _long_line(self, line_bytes_max: int) -> list[Line] | None:
        end = self._find_line_end()
        return None if end is None else self._line(end, end + 1, line_bytes_max)

    def _line(self, end: int, following: int, line_bytes_max: int) -> list[Line]:
        """The line offset..end; reading goes on at `following`."""
        position, length, fault = f"{self.name}:{self.offset}", end - self.offset, None
        if length > line_bytes_max:
            fault = f"{length} bytes; limits.line_bytes is {line_bytes_max}"
            length = KEPT_BYTES
        record = os.pread(self._held(), length, self.offset)
        self._advance(following)
        return [(record.rstrip(b"\r"), position, fault)]

    def _find_line_end(self) -> int | None:
        """Offset of the next line end, found in bounded memory; None while there is none."""
        place = max(self._scanned_to, self.offset)
        while data := os.pread(self._held(), SCAN_BYTES, place):
            if (found := data.find(b"\n")) >= 0:
                return place + found
            place += len(data)
            self._scanned_to = place
        return None

    def _advance(self, offset: int) -> None:
        self.offset = offset
        if self._head_length < HEAD_BYTES:
            self._head_length = min(HEAD_BYTES, offset)
            self._head_digest = self._digest(self._head_length)

    def _digest(self, length: int) -> str:
        head = os.pread(self._held(), length, 0)
        return hashlib.blake2b(head, digest_size=8).hexdigest()

    def _held(self) -> int:
        if self.descriptor is None:
            raise RuntimeError(f"{self.name} is not open")
        return self.descriptor
