"""The spool of scraped samples as a source."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import structlog

from metering.sidecar.batch import sample_batch
from metering.sidecar.clock import Clock
from metering.sidecar.cursor import CursorFile, SpoolCursor
from metering.sidecar.lane import Intake
from metering.sidecar.part import SAMPLES, ArrowPart
from metering.sidecar.spool import Place, Spool

log = structlog.get_logger()


class SpoolSource:
    """Reads samples from the spool; its cursor says what the collector has."""

    name = "samples"
    complete_through: datetime | None = None
    trouble = ""

    def __init__(self, state_dir: Path, *, bytes_max: int, rows_max: int, clock: Clock) -> None:
        self._cursor_file = CursorFile(state_dir / f"{self.name}.cursor")
        cursor = self._cursor_file.load(SpoolCursor)
        self._delivered = self._read_to = Place(cursor.segment, cursor.offset)
        self.totals = dict(cursor.totals)
        self.delivered_at = cursor.delivered_at
        self.spool = Spool(state_dir / "spool", bytes_max, self._delivered)
        self._rows_max, self._clock = rows_max, clock
        self._counted_drops = 0
        self._records = 0

    def close(self) -> None:
        """Nothing is held open."""

    def unread_bytes(self) -> int:
        """Bytes not yet delivered."""
        return self.spool.pending_bytes(self._delivered)

    def read(self) -> Intake | None:
        """See Source."""
        records, self._read_to = self.spool.read(self._delivered, self._rows_max)
        self._count_drops()
        self._records = len(records)
        return Intake([ArrowPart(SAMPLES, sample_batch(records))]) if records else None

    def commit(self, outcomes: Mapping[str, int]) -> None:
        """See Source."""
        for name, count in {**outcomes, "samples": self._records}.items():
            self.totals[name] = self.totals.get(name, 0) + count
        self._delivered = self._read_to
        self.delivered_at = self._clock.utc().isoformat(timespec="seconds")
        try:
            self._cursor_file.save(
                SpoolCursor(*self._delivered, totals=self.totals, delivered_at=self.delivered_at)
            )
        except OSError as error:
            log.warning("cursor_not_stored", source=self.name, detail=str(error))
        else:
            self.spool.acknowledge(self._delivered)

    def _count_drops(self) -> None:
        dropped = self.spool.dropped_records - self._counted_drops
        if dropped:
            self._counted_drops += dropped
            self.totals["dropped"] = self.totals.get("dropped", 0) + dropped
            log.error("samples_dropped", dropped=dropped, detail="limits.spool_bytes is reached")
