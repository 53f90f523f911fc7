"""A folder of an engine's usage files as a source of legs."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import structlog

from metering.errors import SourceUnreadable
from metering.sidecar.batch import Gathered, LegReader
from metering.sidecar.clock import Clock
from metering.sidecar.config import LimitsConfig, SourceConfig
from metering.sidecar.cursor import CursorFile, TailCursor
from metering.sidecar.lane import Intake
from metering.sidecar.part import leg_parts
from metering.sidecar.tail import TailedFolder, TailLimits
from metering.sources import usage_ndjson
from metering.sources.record import NodeIdentity

SCAN_SHARE_MAX = 0.02  # of one core: a folder of ten thousand old files is listed less often
log = structlog.get_logger()


class FileSource:
    """Reads the folder's lines; its cursor says what the collector has."""

    def __init__(
        self, config: SourceConfig, node: NodeIdentity, state_dir: Path, *,
        limits: LimitsConfig, clock: Clock,
    ) -> None:  # fmt: skip
        self.name = config.name
        self.complete_through: datetime | None = None
        self.trouble = ""  # why the folder cannot be read now
        self._cursor_file = CursorFile(state_dir / f"{config.name}.cursor")
        self._reader = LegReader(config.kind, node)
        if config.kind == usage_ndjson.FORMAT:
            self._reader.parse = usage_ndjson.parse_followed
        self._limits, self._clock = limits, clock
        self._tail = TailedFolder(
            Path(config.dir),
            config.glob,
            limits=TailLimits(limits.line_bytes, limits.torn_seconds),
        )
        cursor = self._cursor_file.load(TailCursor)
        self.totals = dict(cursor.totals)
        self.delivered_at = cursor.delivered_at
        self._tail.resume(cursor.files, clock.monotonic())
        self._listed_at: datetime | None = None  # wall time before the listing now being read
        self._next_scan = 0.0
        self._gathered = Gathered()
        self._through: datetime | None = None

    def close(self) -> None:
        """Let go of the files."""
        self._tail.close()

    def unread_bytes(self) -> int:
        """Bytes seen and not yet delivered."""
        return self._tail.unread_bytes()

    def look_now(self) -> None:
        """List the folder at the next read, however recent the last listing is."""
        self._next_scan = 0.0

    def read(self) -> Intake | None:
        """See Source."""
        gathered = self._gathered = Gathered()
        at_end = self._fill(gathered)
        if not gathered.lines and at_end and self._scan():
            at_end = self._fill(gathered)
        through = self._listed_at if at_end and self._tail.is_whole else None
        self._tell()
        if not gathered.lines:
            self.complete_through = through or self.complete_through
            return None
        self._through = through
        return Intake(leg_parts(gathered), through)

    def commit(self, outcomes: Mapping[str, int]) -> None:
        """See Source. A cursor that cannot be stored costs a resend after a restart, no more."""
        gathered = self._gathered
        counts = {**outcomes, "lines": gathered.lines, "bytes": gathered.bytes}
        for name, count in (counts | {"unreadable": len(gathered.rejects)}).items():
            self.totals[name] = self.totals.get(name, 0) + count
        self.complete_through = self._through or self.complete_through
        self.delivered_at = self._clock.utc().isoformat(timespec="seconds")
        try:
            self._cursor_file.save(TailCursor(self._tail.marks(), self.totals, self.delivered_at))
        except OSError as error:
            log.warning("cursor_not_stored", source=self.name, detail=str(error))

    def _fill(self, gathered: Gathered) -> bool:
        """Gather up to a batch; whether everything of the last listing has been read."""
        at_end = self._gather(gathered)
        self._reader.finish(gathered)
        return at_end

    def _gather(self, gathered: Gathered) -> bool:
        limits, now = self._limits, self._clock.monotonic()
        while gathered.lines < limits.batch_rows and gathered.bytes < limits.batch_bytes:
            lines = self._tail.read(
                limits.batch_rows - gathered.lines, limits.batch_bytes - gathered.bytes, now
            )
            if lines is None:
                return True
            self._reader.gather(lines, gathered)
        return False

    def _scan(self) -> bool:
        """List the folder, unless that was done a moment ago."""
        started = self._clock.monotonic()
        if started < self._next_scan:
            return False
        listed_at = self._clock.utc()
        try:
            self._tail.scan(started)
        except SourceUnreadable as error:
            if not self.trouble:
                log.warning("source_unreadable", source=self.name, detail=str(error))
            self.trouble, self._listed_at = str(error), None
            self._next_scan = started + self._limits.poll_seconds
            return False
        if self.trouble:
            log.info("source_readable", source=self.name)
        self.trouble, self._listed_at = "", listed_at
        took = self._clock.monotonic() - started
        self._next_scan = started + max(self._limits.poll_seconds, took / SCAN_SHARE_MAX)
        return True

    def _tell(self) -> None:
        """Log what happened to files, and count what is lost."""
        for event in self._tail.events:
            self.totals["lost_bytes"] = self.totals.get("lost_bytes", 0) + event.lost_bytes
            tell = log.error if event.lost_bytes or event.name == "file_unreadable" else log.info
            tell(
                event.name,
                source=self.name,
                file=event.file,
                lost_bytes=event.lost_bytes,
                detail=event.detail,
            )
        self._tail.events.clear()
