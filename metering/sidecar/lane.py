"""One source on its way to the collector: read a batch, send it, move the cursor, again.

While a batch cannot be sent, its source is not read: the file, or the spool, holds the queue.
"""

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import structlog

from metering.sidecar.clock import Clock
from metering.sidecar.part import Part, empty_legs
from metering.sidecar.rejected import RejectedFolder
from metering.sidecar.ship import SERVER_ERROR, Answer, Shipper, Verdict

SERVER_ERRORS_MAX = 8  # of one body, while the collector serves others: then it is cut in half
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Intake:
    """What a source gives at once. complete_through: all that was written before it is in here."""

    parts: list[Part]
    complete_through: datetime | None = None


class Source(Protocol):
    """Where a lane reads. The cursor moves in `commit`, which follows the collector's 2xx."""

    name: str
    complete_through: datetime | None
    trouble: str  # why it cannot be read now
    totals: dict[str, int]  # since its first start
    delivered_at: str | None

    def unread_bytes(self) -> int:
        """Bytes seen and not delivered."""

    def read(self) -> Intake | None:
        """The next batch; None if there is nothing to send now. Not called before commit()."""

    def commit(self, outcomes: Mapping[str, int]) -> None:
        """The intake is delivered, or kept aside. outcomes: records by the collector's counts."""


@dataclass(slots=True)
class Pace:
    """Waits between attempts, in seconds."""

    first: float
    longest: float
    key_refused: float

    def wait(self, failures: int, answer: Answer) -> float:
        """How long to wait after the `failures`-th failed attempt in a row, with jitter."""
        if answer.verdict is Verdict.KEY_REFUSED:
            return self.key_refused
        jitter: float = random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, protects nothing
        wait = min(self.longest, self.first * 2.0 ** min(failures - 1, 20)) * jitter
        if answer.retry_after_seconds is not None:
            wait = max(wait, answer.retry_after_seconds * (1 + jitter / 10))
        return wait


@dataclass(slots=True)
class Lane:
    """The state between two steps of one source."""

    source: Source
    shipper: Shipper
    rejected: RejectedFolder
    pace: Pace
    clock: Clock
    headers: Callable[[datetime | None, "Lane"], Mapping[str, str]]
    retry_at: float = 0.0  # monotonic seconds
    failures: int = 0
    last_failure: str = ""
    _parts: deque[Part] = field(default_factory=deque)
    _intake: Intake | None = None
    _outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def is_waiting(self) -> bool:
        """Whether a batch waits for its next attempt."""
        return self._intake is not None

    def step(self) -> bool:
        """Do one thing, at most one attempt to send; whether there may be more to do at once."""
        if self.clock.monotonic() < self.retry_at:
            return False
        if self._intake is None:
            self._intake = self.source.read()
            if self._intake is None:
                self._recovered()
                return False
            self._parts.extend(self._intake.parts)
        if self._parts:
            self._attempt(self._parts[0])
        if not self._parts:
            self._finish()
        return self.failures == 0

    def suspend(self, reason: str) -> None:
        """Leave the source alone for a while: it failed in a way that nobody foresaw."""
        self.failures += 1
        self.last_failure = reason
        self.retry_at = self.clock.monotonic() + self.pace.longest

    def _attempt(self, part: Part) -> None:
        last = len(self._parts) == 1 and self._intake is not None
        through = self._intake.complete_through if last and self._intake else None
        answer = self.shipper.post(part, self.headers(through, self))
        if answer.verdict is Verdict.DELIVERED:
            self._count(answer.counts)
            self._done()
        elif answer.verdict is Verdict.TOO_LARGE:
            self._halve(part, answer)
        elif answer.verdict is Verdict.REFUSED:
            self._set_aside(part, answer)
        elif answer.status == SERVER_ERROR and self._is_poison(part, answer):
            self._halve(part, answer)
        else:
            self._postpone(answer)

    def _done(self) -> None:
        self._parts.popleft()
        self._recovered()

    def _recovered(self) -> None:
        if self.failures:
            log.info("source_back", source=self.source.name, attempts=self.failures)
        self.failures, self.last_failure, self.retry_at = 0, "", 0.0

    def _finish(self) -> None:
        self.source.commit(self._outcomes)
        self._intake, self._outcomes = None, {}

    def _count(self, counts: Mapping[str, int]) -> None:
        for outcome, records in counts.items():
            self._outcomes[outcome] = self._outcomes.get(outcome, 0) + records

    def _postpone(self, answer: Answer) -> None:
        self.failures += 1
        wait = self.pace.wait(self.failures, answer)
        self.retry_at = self.clock.monotonic() + wait
        self.last_failure = f"{answer.status or 'no answer'} {answer.detail}".strip()
        shout = log.error if answer.verdict is Verdict.KEY_REFUSED else log.warning
        shout(
            "batch_postponed",
            source=self.source.name,
            verdict=answer.verdict.value,
            collector=answer.url,
            status=answer.status,
            detail=answer.detail,
            attempts=self.failures,
            retry_in_seconds=round(wait, 1),
        )

    def _halve(self, part: Part, answer: Answer) -> None:
        halves = part.halves()
        if not halves:
            self._set_aside(part, answer)
            return
        for half in halves:
            half.server_errors = max(0, part.server_errors - 2)  # two more attempts each
        self._parts.popleft()
        self._parts.extendleft(reversed(halves))
        log.info(
            "batch_halved", source=self.source.name, records=part.records, status=answer.status
        )

    def _set_aside(self, part: Part, answer: Answer) -> None:
        """Keep what no retry can deliver, tell, and go on: it must not block what follows."""
        why = {
            "source": self.source.name,
            "route": part.route,
            "collector": answer.url,
            "status": answer.status,
            "detail": answer.detail,
            "records": part.records,
        }
        try:
            path = self.rejected.keep(part, why)
        except OSError as error:
            self._postpone(Answer(Verdict.RETRY, answer.url, answer.status, str(error)))
            return
        log.error("batch_rejected", file=str(path), **why)
        self._count({"set_aside": part.records})
        self._done()

    def _is_poison(self, part: Part, answer: Answer) -> bool:
        """Whether a body fails again and again at a collector that serves others."""
        part.server_errors += 1
        if part.server_errors < SERVER_ERRORS_MAX:
            return False
        probe = self.shipper.post_to(answer.url, empty_legs(), self.headers(None, self))
        return probe.verdict is Verdict.DELIVERED
