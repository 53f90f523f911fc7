"""Appends whole lines to a file that changes its name every hour (UTC)."""

import os
import time
from pathlib import Path

CHUNK_BYTES = 1 << 20


class HourlyFile:
    """Takes lines now, writes them when told; what the disk refuses stays until it takes it."""

    def __init__(self, folder: str) -> None:
        """folder: made at the first write."""
        self._folder = Path(folder)
        self._pending = bytearray()
        self._path: Path | None = None  # of a line that is not yet whole

    @property
    def pending_bytes(self) -> int:
        """Bytes that were taken and are not written yet."""
        return len(self._pending)

    def add(self, line: str) -> None:
        """Take one line, without its line end."""
        self._pending += line.encode("utf-8", "backslashreplace") + b"\n"

    def write(self) -> None:
        """Append what is pending. Raises OSError; the next call goes on where this one stopped."""
        while self._pending:
            path = self._path or self._path_now()
            self._folder.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
            try:
                self._append(file, path)
            finally:
                os.close(file)

    def _append(self, file: int, path: Path) -> None:
        chunk = bytes(self._pending[:CHUNK_BYTES])
        written = os.write(file, chunk)
        del self._pending[:written]
        # A line cut by a full disk must be finished in the file that holds its beginning.
        self._path = None if chunk[:written].endswith(b"\n") else path

    def _path_now(self) -> Path:
        hour = time.strftime("%Y%m%d_%H", time.gmtime())
        return self._folder / f"tokentill-vllm-{hour}-{os.getpid()}.jsonl"
