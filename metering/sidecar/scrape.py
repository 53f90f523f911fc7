"""Asking the engine and the devices on an interval; answers go to the spool as samples.

A failed scrape is a missing sample, never a zero, and is told once per change of state.
"""

import subprocess
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import httpx
import structlog

from metering.errors import MeteringError
from metering.sidecar.batch import sample_record
from metering.sidecar.clock import Clock
from metering.sidecar.config import SourceConfig
from metering.sidecar.spool import Spool
from metering.sources import parse_metrics, sglang_loads, sglang_metrics, vllm_metrics
from metering.sources.record import NodeIdentity, Row

ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
log = structlog.get_logger()


class ScrapeFailed(MeteringError):
    """The engine or the device tool gave no answer."""


def fetch(source: SourceConfig) -> str:
    """What `source` says now. Raises ScrapeFailed."""
    return _ask(source) if source.kind == "mthreads_gmi" else _get(source)


def _get(source: SourceConfig) -> str:
    body = bytearray()
    try:
        with httpx.Client(timeout=source.timeout_seconds, trust_env=False) as client:  # noqa: SIM117
            with client.stream("GET", source.url) as response:
                response.raise_for_status()
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > ANSWER_BYTES_MAX:
                        raise ScrapeFailed(f"{source.url} sends over {ANSWER_BYTES_MAX} bytes")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ScrapeFailed(f"{source.url}: {type(error).__name__}: {error}") from error
    return body.decode("utf-8", "replace")


def _ask(source: SourceConfig) -> str:
    command = " ".join(source.command)
    try:
        done = subprocess.run(  # noqa: S603 - the operator's own command, without a shell
            source.command, capture_output=True, timeout=source.timeout_seconds, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ScrapeFailed(f"{command}: {error}") from error
    return done.stdout[:ANSWER_BYTES_MAX].decode("utf-8", "replace")


def samples(source: SourceConfig, text: str, node: NodeIdentity, sampled_at: datetime) -> list[Row]:
    """The samples in what `source` said at `sampled_at` (UTC). Raises UsageInvalid."""
    return parse_metrics(format_of(source.kind, text), text, node, sampled_at)


def format_of(kind: str, text: str) -> str:
    """The format of metering.sources that a kind of scrape has."""
    if kind == "metrics":
        return vllm_metrics.FORMAT if "\nvllm:" in text else sglang_metrics.FORMAT
    return sglang_loads.FORMAT if kind == "loads" else kind


class Scraper:
    """A thread that scrapes each source on its own interval."""

    def __init__(
        self, sources: Sequence[SourceConfig], node: NodeIdentity, spool: Spool, clock: Clock
    ) -> None:
        self.troubles: dict[str, str] = {}
        self._sources, self._node, self._spool, self._clock = sources, node, spool, clock
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scraper", daemon=True)

    def start(self) -> None:
        """Begin, once; every source is scraped at once."""
        if self._thread.ident is None:
            self._thread.start()

    def close(self) -> None:
        """End after the scrape that is going on."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join(max(s.timeout_seconds for s in self._sources) + 1)

    def _run(self) -> None:
        due = dict.fromkeys(range(len(self._sources)), self._clock.monotonic())
        while not self._ended.is_set():
            index = min(due, key=due.__getitem__)
            if self._ended.wait(max(0.0, due[index] - self._clock.monotonic())):
                return
            source = self._sources[index]
            self.scrape(source)
            # Ticks missed during a slow scrape are skipped, not made up for.
            interval = source.interval_seconds
            behind = self._clock.monotonic() - due[index]
            due[index] += interval * (1 + behind // interval)

    def scrape(self, source: SourceConfig) -> None:
        """One sample into the spool, or a missing one."""
        sampled_at = self._clock.utc()
        try:
            for row in samples(source, fetch(source), self._node, sampled_at):
                self._spool.append(sample_record(row))
        except Exception as error:  # noqa: BLE001 - the thread must outlive any answer
            self._set_trouble(source.name, f"{type(error).__name__}: {error}")
        else:
            self._set_trouble(source.name, "")

    def _set_trouble(self, name: str, trouble: str) -> None:
        """Log when a source begins to fail and when it is back, not every time."""
        before = self.troubles.get(name, "")
        self.troubles[name] = trouble
        if trouble and not before:
            log.warning("scrape_failed", source=name, detail=trouble[:500])
        elif before and not trouble:
            log.info("scrape_back", source=name)
