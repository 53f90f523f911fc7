"""A folder of growing files: the files are the queue.

Files are followed by inode and offset, so their names (local time, repeated hours, rotation) do
not matter. Only complete lines are read; a half-written last line waits. Nothing is lost while a
file that is renamed, deleted or cut was still held open; what is lost is counted.
"""

import fnmatch
import heapq
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from metering.errors import SourceUnreadable
from metering.sidecar.cursor import FileMark
from metering.sidecar.followed import FollowedFile, Line, new_mark

OPEN_FILES_MAX: Final = 64
QUIET_SECONDS: Final = 3_600.0  # a file unchanged for so long is let go


class TailEvent(NamedTuple):
    """Something that happened to a file. lost_bytes: seen, not read, and now gone."""

    name: str
    file: str
    lost_bytes: int = 0
    detail: str = ""


class TailLimits(NamedTuple):
    """line_bytes: the longest line parsed. torn_seconds: how long an unfinished one waits."""

    line_bytes: int
    torn_seconds: float


class TailedFolder:
    """The files of one folder that match a glob, read in the order of their names.

    Times passed in are seconds of the monotonic clock, so a jump of the wall clock changes nothing.
    """

    def __init__(self, folder: Path, glob: str, *, limits: TailLimits) -> None:
        self.folder = folder
        self.events: list[TailEvent] = []
        self._matches = re.compile(fnmatch.translate(glob)).match
        self._limits = limits
        self._files: dict[int, FollowedFile] = {}
        self._unread: list[FollowedFile] = []  # of the last listing, in order, not yet at their end
        self._refused: set[str] = set()  # names of the last listing that could not be opened
        self._reported: set[str] = set()  # of them, those already told

    @property
    def is_whole(self) -> bool:
        """Whether every file of the last listing could be opened."""
        return not self._refused

    def resume(self, marks: Iterable[FileMark], now: float) -> None:
        """Go on from where a cursor says the files have been delivered."""
        self._files = {mark.inode: FollowedFile(mark, changed_at=now) for mark in marks}

    def marks(self) -> list[FileMark]:
        """What the cursor must keep."""
        return [file.mark() for file in self._files.values()]

    def unread_bytes(self) -> int:
        """Bytes seen and not yet read, unfinished last lines included."""
        return sum(max(0, file.size - file.offset) for file in self._files.values())

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files.values():
            file.close()

    def scan(self, now: float) -> None:
        """List the folder. Raises SourceUnreadable if that is not possible."""
        try:
            listing = self._listing()
        except OSError as error:
            raise SourceUnreadable(
                f"Cannot list {self.folder}: {error.strerror}. Create the folder, or give the "
                f"sidecar's user read and search permission on it."
            ) from error
        self._refused.clear()
        for inode, (name, status) in listing.items():
            file = self._files.get(inode)
            if file is None:
                file = self._files[inode] = FollowedFile(new_mark(inode, name), now)
            file.name, file.listed = name, True
            unread_bytes = file.size - file.offset
            if file.notice(status.st_size, status.st_mtime_ns, now) and file.offset:
                self._require_same(file, unread_bytes)
        for file in [file for inode, file in self._files.items() if inode not in listing]:
            self._look_at_unlisted(file, now)
        unread = [file for file in self._files.values() if self._is_unread(file, now)]
        for file in heapq.nlargest(OPEN_FILES_MAX, unread, key=lambda file: file.mtime_ns):
            self._open(file)
        self._unread = sorted(unread, key=lambda file: file.name, reverse=True)
        self._let_go(now)

    def read(self, rows_max: int, bytes_max: int, now: float) -> list[Line] | None:
        """The next complete lines (blank ones left out); None: all read that the listing showed."""
        while self._unread:
            file = self._unread[-1]
            lines = self._lines(file, rows_max, bytes_max) if self._open(file) else None
            if lines is None and file.descriptor is not None and self._is_torn(file, now):
                lines = file.rest(self._limits.line_bytes)
            if lines is not None:
                return lines
            file.at_end = file.descriptor is not None
            self._unread.pop()
        self._let_go(now)
        return None

    def _listing(self) -> dict[int, tuple[str, os.stat_result]]:
        with os.scandir(self.folder) as entries:
            found = [
                (entry.name, entry.stat())
                for entry in entries
                if self._matches(entry.name) and entry.is_file()
            ]
        return {status.st_ino: (name, status) for name, status in found}

    def _is_unread(self, file: FollowedFile, now: float) -> bool:
        return not file.at_end or (file.size > file.offset and self._is_torn(file, now))

    def _is_torn(self, file: FollowedFile, now: float) -> bool:
        return now - file.changed_at > self._limits.torn_seconds

    def _lines(self, file: FollowedFile, rows_max: int, bytes_max: int) -> list[Line] | None:
        try:
            return file.read(rows_max, bytes_max, self._limits.line_bytes)
        except OSError as error:  # a network file system whose file has gone
            self._drop(file, detail=error.strerror or "")
            return None

    def _open(self, file: FollowedFile) -> bool:
        try:
            opened = file.open(self.folder)
        except FileNotFoundError:
            opened = False  # gone since the listing; the next one will tell
        except OSError as error:
            opened = False
            if file.name not in self._reported:
                self._reported.add(file.name)
                self.events.append(TailEvent("file_unreadable", file.name, 0, error.strerror or ""))
        if opened:
            self._reported.discard(file.name)
        else:
            self._refused.add(file.name)
        return opened

    def _require_same(self, file: FollowedFile, unread_bytes: int) -> None:
        """Begin anew if the file was cut or written anew since it was last read."""
        if self._open(file) and file.is_rewritten():
            detail = f"cut or written anew after {file.offset} bytes were read"
            self.events.append(TailEvent("file_rewritten", file.name, max(0, unread_bytes), detail))
            file.restart()

    def _look_at_unlisted(self, file: FollowedFile, now: float) -> None:
        """A file that was renamed or deleted is read to its end while it is held open."""
        if file.descriptor is None:
            self._drop(file, detail="gone before it was read to its end")
            return
        if file.listed:
            file.listed = False
            self.events.append(TailEvent("file_unlinked", file.name, detail="still held open"))
        status = os.fstat(file.descriptor)
        unread_bytes = file.size - file.offset
        if file.notice(status.st_size, status.st_mtime_ns, now) and file.offset:
            self._require_same(file, unread_bytes)

    def _drop(self, file: FollowedFile, detail: str) -> None:
        file.close()
        del self._files[file.inode]
        if lost_bytes := max(0, file.size - file.offset):
            self.events.append(TailEvent("lines_lost", file.name, lost_bytes, detail))

    def _let_go(self, now: float) -> None:
        """Close what has been quiet for long, and the oldest files beyond OPEN_FILES_MAX."""
        done = [f for f in self._files.values() if f.descriptor is not None and f.at_end]
        done.sort(key=lambda file: file.mtime_ns, reverse=True)
        for place, file in enumerate(done):
            quiet = now - file.changed_at > QUIET_SECONDS
            if not file.listed and quiet and file.offset >= file.size:
                self._drop(file, detail="")
            elif file.listed and (quiet or place >= OPEN_FILES_MAX):
                file.close()
