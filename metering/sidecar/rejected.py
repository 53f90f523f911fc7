"""Bodies that a collector refused: kept on disk, listed, and sent again by `tokentill import`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from metering.sidecar.cursor import write_durably
from metering.sidecar.part import ARROW, Part, content_name


class RejectedFolder:
    """Refused bodies, one file each, with the reason beside it; bounded in bytes."""

    def __init__(self, folder: Path, bytes_max: int) -> None:
        self.folder = folder
        self._bytes_max = bytes_max

    def keep(self, part: Part, why: Mapping[str, Any]) -> Path:
        """Store `part`; a repeat lands on the same file. Raises OSError when there is no room."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.bytes_kept() + len(part.body) > self._bytes_max:
            raise OSError(
                f"{self.folder} holds {self._bytes_max} bytes (limits.rejected_bytes): look into "
                f"the reasons beside the files, send them again or delete them"
            )
        suffix = ".arrow" if part.content_type == ARROW else ".ndjson"
        path = self.folder / (content_name(part) + suffix)
        write_durably(path.with_suffix(".json"), msgspec.json.encode(why))
        write_durably(path, part.body)
        return path

    def files(self) -> list[Path]:
        """The bodies kept, without the reasons."""
        return sorted(p for p in self.folder.glob("*") if p.suffix in {".arrow", ".ndjson"})

    def bytes_kept(self) -> int:
        """Size of the folder."""
        try:
            with os.scandir(self.folder) as entries:
                return sum(entry.stat().st_size for entry in entries)
        except FileNotFoundError:
            return 0
