"""Durable marks: how far each source has been delivered; they move only after a 2xx."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from metering.errors import SourceUnreadable


class FileMark(msgspec.Struct, frozen=True, array_like=True):
    """How far one file has been delivered. Offsets and sizes in bytes.

    A file is known by its inode, and by a digest of its first bytes where an inode is reused or a
    file is written anew; its name may change. size and mtime_ns: as last seen.
    """

    inode: int
    offset: int
    size: int
    mtime_ns: int
    head_length: int
    head_digest: str
    name: str


class TailCursor(msgspec.Struct, frozen=True):
    """Marks of a folder's files, and what the source has come to since its first start."""

    files: list[FileMark] = []
    totals: dict[str, int] = {}
    delivered_at: str | None = None  # UTC, last 2xx for this source


class SpoolCursor(msgspec.Struct, frozen=True):
    """Position behind the last delivered record of a spool, and totals."""

    segment: int = 0
    offset: int = 0
    totals: dict[str, int] = {}
    delivered_at: str | None = None


CursorT = TypeVar("CursorT", TailCursor, SpoolCursor)


def write_durably(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: after a crash at any instant either the old or the new is there."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class CursorFile:
    """One source's cursor on disk. kind: TailCursor or SpoolCursor."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self, kind: type[CursorT]) -> CursorT:
        """The stored cursor, or an empty one before the first delivery.

        Raises SourceUnreadable for a damaged file; reading again from the start is harmless.
        """
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=kind)
        except FileNotFoundError:
            return kind()
        except msgspec.DecodeError as error:
            raise SourceUnreadable(
                f"The cursor {self.path} is damaged ({error}). Delete it: the source is then read "
                f"from its beginning, and the collector drops what it already has."
            ) from error

    def save(self, cursor: TailCursor | SpoolCursor) -> None:
        """Store `cursor` so that it survives a crash of the machine."""
        write_durably(self.path, msgspec.json.encode(cursor))
