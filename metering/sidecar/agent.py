"""The sidecar: its sources, their lanes, one loop."""

import gc
import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import structlog

from metering.errors import ConfigInvalid
from metering.sidecar.clock import Clock
from metering.sidecar.config import SidecarConfig
from metering.sidecar.file_source import FileSource
from metering.sidecar.health import Health, SourceHealth
from metering.sidecar.lane import Lane, Pace
from metering.sidecar.part import empty_legs
from metering.sidecar.rejected import RejectedFolder
from metering.sidecar.scrape import Scraper
from metering.sidecar.ship import Shipper, Verdict
from metering.sidecar.spool_source import SpoolSource
from metering.sidecar.wake import Wake

SKEW_SECONDS_MAX = 5.0  # beyond it the clocks are reported as different (docs/sidecar.md)
HEALTH_FILE = "health.json"
log = structlog.get_logger()


def read_key(config: SidecarConfig) -> str:
    """The node's key, from the file each time so that it can be changed. Raises ConfigInvalid."""
    if config.key:
        return config.key
    try:
        key = Path(config.key_file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(f"key_file {config.key_file}: {error}") from error
    if not key or not key.isprintable() or " " in key:
        raise ConfigInvalid(f"key_file {config.key_file}: expected one line with the node's key")
    return key


class Agent:
    """Everything between one start (or reload) and the next."""

    def __init__(self, config: SidecarConfig, clock: Clock, wake: Wake) -> None:
        self.config, self.clock, self.wake = config, clock, wake
        state_dir = Path(config.state_dir)
        limits = config.limits
        node = config.identity()
        self.shipper = Shipper(
            config.collectors, lambda: read_key(config), ca_file=config.ca_file, clock=clock
        )
        self.files = [
            FileSource(source, node, state_dir, limits=limits, clock=clock)
            for source in config.source
            if not source.is_scraped
        ]
        self.samples = SpoolSource(
            state_dir, bytes_max=limits.spool_bytes, rows_max=limits.batch_rows, clock=clock
        )
        self.rejected = RejectedFolder(state_dir / "rejected", limits.rejected_bytes)
        self.sources: list[FileSource | SpoolSource] = [*self.files, self.samples]
        self.lanes = [self._lane(source) for source in self.sources]
        scraped = [source for source in config.source if source.is_scraped]
        self.scraper = Scraper(scraped, node, self.samples.spool, clock) if scraped else None
        self.health: Health | None = None
        self._watermark_due = self._health_due = self._note_due = 0.0
        self._watermark_sent: datetime | None = None
        self._trouble = ""
        self._skewed = False

    def run(self, is_changed: Callable[[], bool]) -> None:
        """Work until the wake's flags say stop or reload, or `is_changed` does."""
        if self.scraper:
            self.scraper.start()
        while not self.wake.stopping and not self.wake.reloading:
            busy = [self._step(lane) for lane in self.lanes]
            gc.collect()  # a request that was sent refers to itself, and holds its body
            self._move_watermark()
            self._report()
            if is_changed():
                self.wake.reload()
            if not any(busy):
                self.wake.wait(self._pause())
        if self.wake.stopping:
            self._flush()
        self._report(last=True)

    def close(self) -> None:
        """Let go of files, connections and the scraper."""
        if self.scraper:
            self.scraper.close()
        for source in self.sources:
            source.close()
        self.shipper.close()

    def watermark(self, source: object = None, through: datetime | None = None) -> datetime | None:
        """All lines written before it have been sent; with `through` for `source`'s next batch.

        Never ahead of the collector's own clock, so that a node whose clock jumped forward for a
        moment cannot declare lines sent that are still to be written.
        """
        marks = [through if file is source else file.complete_through for file in self.files]
        known = [mark for mark in marks if mark is not None]
        collector_now = self.shipper.collector_clock.now()
        if not known or len(known) < len(marks) or collector_now is None:
            return None
        return min(*known, collector_now + timedelta(seconds=SKEW_SECONDS_MAX))

    def _lane(self, source: FileSource | SpoolSource) -> Lane:
        limits = self.config.limits
        pace = Pace(limits.retry_seconds, limits.retry_seconds_max, limits.key_retry_seconds)
        return Lane(source, self.shipper, self.rejected, pace, self.clock, self._headers)

    def _headers(self, through: datetime | None, lane: Lane | None = None) -> Mapping[str, str]:
        headers = {"Tokentill-Node": self.config.node, "Tokentill-Stage": self.config.stage}
        if self.config.pool:
            headers["Tokentill-Pool"] = self.config.pool
        source = lane.source if lane else None
        if (mark := self.watermark(source, through)) and (through or not lane):
            headers["Tokentill-Watermark"] = mark.isoformat()
        return headers

    def _step(self, lane: Lane) -> bool:
        """One step of one source; a fault that nobody foresaw stops only that one for a while."""
        try:
            return lane.step()
        except Exception as error:
            log.exception("source_failed", source=lane.source.name)
            lane.suspend(f"{type(error).__name__}: {error}")
            return False

    def _move_watermark(self) -> None:
        """An idle node still says how far it is: an empty batch carries the watermark."""
        now = self.clock.monotonic()
        if now < self._watermark_due or not self.files:
            return
        self._watermark_due = now + self.config.limits.watermark_seconds
        mark = self.watermark()
        is_known = self.shipper.collector_clock.now() is not None
        if any(lane.failures for lane in self.lanes) or (is_known and mark == self._watermark_sent):
            return
        answer = self.shipper.post(empty_legs(), self._headers(mark))
        if answer.verdict is Verdict.DELIVERED:
            self._watermark_sent = mark
            self._contact("")
        else:
            self._watermark_due = now + self.config.limits.retry_seconds_max
            self._contact(f"{answer.verdict} {answer.status or ''} {answer.detail}")

    def _contact(self, trouble: str) -> None:
        """Log when the collector's answers begin or cease to fail."""
        if trouble and not self._trouble:
            log.error("collector_unreachable", detail=trouble)
        elif self._trouble and not trouble:
            log.info("collector_reached")
        self._trouble = trouble

    def _pause(self) -> float:
        """Seconds until something is due, at most poll_seconds."""
        due = [lane.retry_at for lane in self.lanes if lane.is_waiting]
        wait = min((at - self.clock.monotonic() for at in due), default=float("inf"))
        return max(0.01, min(self.config.limits.poll_seconds, wait))

    def _flush(self) -> None:
        """Send what is there, for at most stop_seconds; what remains stays in its file."""
        deadline = self.clock.monotonic() + self.config.limits.stop_seconds
        for source in self.files:
            source.look_now()
        while self.clock.monotonic() < deadline:
            busy = [self._step(lane) for lane in self.lanes if not lane.failures]
            if not any(busy):
                break
        self._watermark_due = 0.0
        self._move_watermark()

    def _report(self, *, last: bool = False) -> None:
        """Health as a log line once a minute, as a file and for Prometheus every few seconds."""
        now = self.clock.monotonic()
        if now < self._note_due and not last:
            return
        self._note_due = now + self.config.limits.watermark_seconds
        self.health = health = self._look()
        self._report_skew(health.clock_skew_seconds)
        write_note(Path(self.config.state_dir) / HEALTH_FILE, health)
        if now >= self._health_due or last:
            self._health_due = now + self.config.limits.health_seconds
            log.info("sidecar_health", **health.log_fields())

    def _report_skew(self, skew_seconds: float | None) -> None:
        skewed = skew_seconds is not None and abs(skew_seconds) > SKEW_SECONDS_MAX
        if skewed and not self._skewed:
            log.warning("clock_skewed", clock_skew_seconds=skew_seconds)
        elif self._skewed and not skewed:
            log.info("clock_back", clock_skew_seconds=skew_seconds)
        self._skewed = skewed

    def _look(self) -> Health:
        at, mark = self.clock.utc(), self.watermark()
        skew = self.shipper.collector_clock.skew_seconds
        return Health(
            at=at.isoformat(timespec="seconds"),
            node=self.config.node,
            stage=self.config.stage,
            pid=os.getpid(),
            collector=self.config.collectors[self.shipper.current],
            watermark_at=mark.isoformat() if mark else None,
            clock_skew_seconds=None if skew is None else round(skew, 2),
            rejected_files=len(self.rejected.files()),
            sources=[self._look_at(lane, at) for lane in self.lanes] + self._scrapes(),
        )

    def _look_at(self, lane: Lane, at: datetime) -> SourceHealth:
        source = lane.source
        lag_bytes, through = source.unread_bytes(), source.complete_through
        return SourceHealth(
            name=source.name,
            lag_bytes=lag_bytes,
            lag_seconds=round((at - through).total_seconds(), 1) if through else None,
            delivered_at=source.delivered_at,
            trouble=lane.last_failure or source.trouble,
            totals=source.totals,
        )

    def _scrapes(self) -> list[SourceHealth]:
        troubles = self.scraper.troubles if self.scraper else {}
        return [
            SourceHealth(
                name=name,
                lag_bytes=0,
                lag_seconds=None,
                delivered_at=None,
                trouble=trouble,
                totals={},
            )
            for name, trouble in list(troubles.items())
        ]


def write_note(path: Path, health: Health) -> None:
    """Replace the health file; readers see the old or the new one. A full disk costs only this."""
    temporary = path.with_suffix(".new")
    try:
        temporary.write_bytes(msgspec.json.encode(health))
        temporary.replace(path)
    except OSError as error:
        log.warning("health_not_stored", detail=str(error))
