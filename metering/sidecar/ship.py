"""Sending one body to a collector, and what its answer means (docs/wire.md, Answers)."""

import math
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any, Final

import httpx
import msgspec

from metering.errors import ConfigInvalid
from metering.sidecar.clock import Clock
from metering.sidecar.part import Part

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 20.0  # a lost answer only means a resend
ANSWER_BYTES_MAX: Final = 1024 * 1024  # beyond it the status is the answer
DETAIL_CHARACTERS: Final = 300
RETRY_AFTER_SECONDS_MAX: Final = 3_600.0
RETRIED: Final = frozenset({408, 429})
KEY_REFUSED: Final = frozenset({401, 403})
TOO_LARGE: Final = 413
SERVER_ERROR: Final = 500
COUNTS: Final = ("accepted", "duplicate", "conflict", "reattributed", "rejected")


class Verdict(StrEnum):
    """What an answer means for a body."""

    DELIVERED = "delivered"
    RETRY = "retry"  # 408, 429, 5xx, no answer
    KEY_REFUSED = "key_refused"  # 401, 403
    TOO_LARGE = "too_large"  # 413
    REFUSED = "refused"  # any other 4xx


def verdict_of(status: int) -> Verdict:
    """The meaning of an HTTP status; what no collector answers (1xx, 3xx) counts as no answer."""
    if 200 <= status < 300:  # noqa: PLR2004 - the classes of HTTP
        return Verdict.DELIVERED
    if status in KEY_REFUSED:
        return Verdict.KEY_REFUSED
    if status == TOO_LARGE:
        return Verdict.TOO_LARGE
    if 400 <= status < 500 and status not in RETRIED:  # noqa: PLR2004 - the classes of HTTP
        return Verdict.REFUSED
    return Verdict.RETRY


@dataclass(frozen=True, slots=True)
class Answer:
    """One collector's answer. counts: records by outcome. skew_seconds: its clock minus ours."""

    verdict: Verdict
    url: str
    status: int | None = None
    detail: str = ""
    retry_after_seconds: float | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class CollectorClock:
    """The collector's time as its Date headers tell it, carried on by the monotonic clock."""

    clock: Clock
    skew_seconds: float | None = None  # collector minus node
    _date_at: datetime | None = None
    _measured_at: float = 0.0

    def measure(self, header: str | None) -> None:
        """Take in the Date header of an answer that has just come."""
        try:
            date_at = parsedate_to_datetime(header or "")
        except ValueError:
            return
        # The header has whole seconds, cut: its middle is half a second later.
        self._date_at = date_at.astimezone(UTC) + timedelta(seconds=0.5)
        self._measured_at = self.clock.monotonic()
        self.skew_seconds = self._date_at.timestamp() - self.clock.wall()

    def now(self) -> datetime | None:
        """The collector's time now, whatever the node's clock says; None before any answer."""
        if self._date_at is None:
            return None
        return self._date_at + timedelta(seconds=self.clock.monotonic() - self._measured_at)


class Shipper:
    """Posts bodies to the first collector that takes them, with the node's key."""

    def __init__(
        self, collectors: Sequence[str], key: Callable[[], str], *, ca_file: str, clock: Clock
    ) -> None:
        self.collector_clock = CollectorClock(clock)
        self.current = 0  # index of the collector that answered last
        self._collectors = [url.rstrip("/") for url in collectors]
        self._key = key
        # Proxy settings of the environment are not for traffic inside the cluster.
        self._client = httpx.Client(
            verify=_trust(collectors, ca_file),
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def post(self, part: Part, headers: Mapping[str, str]) -> Answer:
        """The answer of the first collector that decides about `part`; else the first failure."""
        failures: list[Answer] = []
        for _ in self._collectors:
            answer = self.post_to(self._collectors[self.current], part, headers)
            if answer.verdict not in {Verdict.RETRY, Verdict.KEY_REFUSED}:
                return answer
            failures.append(answer)
            self.current = (self.current + 1) % len(self._collectors)
        return next((a for a in failures if a.verdict is Verdict.RETRY), failures[0])

    def post_to(self, url: str, part: Part, headers: Mapping[str, str]) -> Answer:
        """One attempt at one collector."""
        try:
            all_headers = {
                "Authorization": f"Bearer {self._key()}",
                "Content-Type": part.content_type,
                **headers,
            }
        except ConfigInvalid as error:
            return Answer(Verdict.KEY_REFUSED, url, detail=str(error))
        try:
            with self._client.stream(
                "POST", url + part.route, content=part.body, headers=all_headers
            ) as response:
                body = _bounded(response)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return Answer(Verdict.RETRY, url, detail=f"{type(error).__name__}: {error}")
        self.collector_clock.measure(response.headers.get("Date"))
        return _answer(url, response, body)


def _trust(collectors: Sequence[str], ca_file: str) -> ssl.SSLContext:
    """Whom to trust: the file's authorities, else the system's; nobody where nothing is https."""
    if not ca_file and not any(url.startswith("https") for url in collectors):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:
        raise ConfigInvalid(
            f"ca_file {ca_file}: {error.strerror or error}; expected certificates in PEM"
        ) from error


def _bounded(response: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > ANSWER_BYTES_MAX:
            return b""
    return bytes(body)


def _answer(url: str, response: httpx.Response, body: bytes) -> Answer:
    verdict = verdict_of(response.status_code)
    try:
        content: Any = msgspec.json.decode(body) if body.strip() else {}
    except msgspec.DecodeError:
        content = None
    if verdict is Verdict.DELIVERED and not isinstance(content, dict):
        # A login page or a proxy's greeting has stored nothing.
        return Answer(
            Verdict.RETRY, url, response.status_code, "the answer is no collector's: not JSON"
        )
    members = content if isinstance(content, dict) else {}
    counts = {name: members[name] for name in COUNTS if type(members.get(name)) is int}
    return Answer(
        verdict,
        url,
        response.status_code,
        _detail(members, body),
        _retry_after(response.headers),
        counts,
    )


def _detail(members: Mapping[str, Any], body: bytes) -> str:
    told = " ".join(str(members[k]) for k in ("title", "detail", "remedy") if members.get(k))
    return (told or body.decode("utf-8", "replace"))[:DETAIL_CHARACTERS]


def _retry_after(headers: httpx.Headers) -> float | None:
    """Seconds to wait, from a number or from an HTTP date against the answer's own; bounded."""
    text = headers.get("Retry-After", "")
    try:
        seconds = float(text)
    except ValueError:
        try:
            until_at = parsedate_to_datetime(text)
            seconds = (until_at - parsedate_to_datetime(headers.get("Date", ""))).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), RETRY_AFTER_SECONDS_MAX) if math.isfinite(seconds) else None
