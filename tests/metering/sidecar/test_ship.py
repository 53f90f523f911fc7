"""One body, one answer: what each status means, and which collector is asked."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from metering.errors import ConfigInvalid
from metering.sidecar.clock import Clock
from metering.sidecar.part import ndjson_parts
from metering.sidecar.ship import Shipper, Verdict, verdict_of

(PART,) = ndjson_parts("/v1/usage/rejects", [b'{"a": 1}'])
HEADERS = {"Tokentill-Node": "p1"}
CLOCK = Clock()
Make = Callable[..., Shipper]


@pytest.fixture
def shipper() -> Iterator[Callable[..., Shipper]]:
    """A function that makes a shipper to the given collectors."""
    with ExitStack() as stack:

        def make(*urls: str, key: str = "secret", ca: str = "", clock: Clock = CLOCK) -> Shipper:
            made = Shipper(urls, lambda: key, ca_file=ca, clock=clock)
            stack.callback(made.close)
            return made

        yield make


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, Verdict.DELIVERED), (204, Verdict.DELIVERED), (302, Verdict.RETRY),
        (400, Verdict.REFUSED), (401, Verdict.KEY_REFUSED), (403, Verdict.KEY_REFUSED),
        (404, Verdict.REFUSED), (408, Verdict.RETRY), (409, Verdict.REFUSED),
        (413, Verdict.TOO_LARGE), (415, Verdict.REFUSED), (422, Verdict.REFUSED),
        (429, Verdict.RETRY), (500, Verdict.RETRY), (503, Verdict.RETRY), (507, Verdict.RETRY),
    ],
)  # fmt: skip
def test_each_status_has_its_rule(status: int, verdict: Verdict) -> None:
    """The rules of the wire: 408, 429, 5xx retry; 401, 403 keep; 413 halve; other 4xx aside."""
    assert verdict_of(status) is verdict


def test_a_body_arrives_with_its_headers(collector: Any, shipper: Make) -> None:
    """Key, node and content type."""
    assert shipper(collector.url).post(PART, HEADERS).verdict is Verdict.DELIVERED
    ((path, headers, size),) = collector.requests
    assert (path, size) == ("/v1/usage/rejects", 9)
    assert headers["authorization"] == "Bearer secret"
    assert (headers["tokentill-node"], headers["content-type"]) == ("p1", "application/x-ndjson")


def test_a_hang_up_is_no_answer(collector: Any, shipper: Make) -> None:
    """Nobody knows whether it was stored: send again."""
    collector.orders = [(0, {})]
    answer = shipper(collector.url).post(PART, HEADERS)
    assert (answer.verdict, answer.status) == (Verdict.RETRY, None)


def test_a_greeting_of_a_proxy_is_no_delivery(collector: Any, shipper: Make) -> None:
    """200 with HTML: the collector's answer is JSON, or nothing."""
    collector.content = b"<html>please log in</html>"
    assert shipper(collector.url).post(PART, HEADERS).verdict is Verdict.RETRY
    collector.content = b""
    assert shipper(collector.url).post(PART, HEADERS).verdict is Verdict.DELIVERED


def test_the_next_collector_is_asked_and_kept(
    collector: Any, free_port: Callable[[], int], shipper: Make
) -> None:
    """The first is away; the second decides, and is the first to be asked next time."""
    ship = shipper(f"http://127.0.0.1:{free_port()}", collector.url)
    assert ship.post(PART, HEADERS).verdict is Verdict.DELIVERED
    assert ship.current == 1


def test_a_decision_is_not_asked_for_twice(collector: Any, shipper: Make) -> None:
    """413 and other 4xx are answers: the body is at fault, not the collector."""
    collector.orders = [(422, {})]
    assert shipper(collector.url, collector.url).post(PART, HEADERS).verdict is Verdict.REFUSED
    assert collector.requests == []


def test_a_refused_key_waits_longer_than_an_absent_collector(
    collector: Any, free_port: Callable[[], int], shipper: Make
) -> None:
    """One says 401, one is away: the sooner retry counts."""
    ship = shipper(collector.url, f"http://127.0.0.1:{free_port()}", key="old")
    assert ship.post(PART, HEADERS).verdict is Verdict.RETRY
    assert shipper(collector.url, key="old").post(PART, HEADERS).verdict is Verdict.KEY_REFUSED


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("-3", 0.0), ("1e9", 3600.0), ("nan", None), ("soon", None)]
)
def test_retry_after_in_seconds_is_bounded(
    collector: Any, header: str, seconds: float | None, shipper: Make
) -> None:
    """At most an hour; what is no number is left out."""
    collector.orders = [(429, {"Retry-After": header})]
    assert shipper(collector.url).post(PART, HEADERS).retry_after_seconds == seconds


def test_retry_after_as_a_date_counts_from_the_answers_own(collector: Any, shipper: Make) -> None:
    """The collector's clock tells both times; ours may be wrong. By hand: 30 s apart."""
    now = datetime(2020, 1, 1, tzinfo=UTC)
    later = format_datetime(now + timedelta(seconds=30), usegmt=True)
    collector.date = format_datetime(now, usegmt=True)
    collector.orders = [(503, {"Retry-After": later})]
    assert shipper(collector.url).post(PART, HEADERS).retry_after_seconds == 30.0


def test_clock_skew_is_measured_from_the_date_header(collector: Any, shipper: Make) -> None:
    """By hand: our clock stands at 10:00:00, the collector's says 10:01:00 (+0.5 s, cut)."""
    at = datetime(2026, 11, 30, 10, tzinfo=UTC)
    ticks = iter([100.0, 107.0])
    ship = shipper(collector.url, clock=Clock(at.timestamp, lambda: next(ticks)))
    collector.date = format_datetime(at + timedelta(minutes=1), usegmt=True)
    ship.post(PART, HEADERS)
    assert ship.collector_clock.skew_seconds == 60.5
    assert ship.collector_clock.now() == at + timedelta(seconds=60.5 + 7)


def test_a_problem_is_told_in_the_collectors_words(collector: Any, shipper: Make) -> None:
    """title, detail and remedy of problem+json; never more than 300 characters."""
    collector.content = b'{"title": "No", "detail": "%s", "remedy": "x"}' % (b"d" * 500)
    collector.orders = [(422, {})]
    detail = shipper(collector.url).post(PART, HEADERS).detail
    assert detail.startswith("No dddd")
    assert len(detail) == 300


def test_an_unreadable_key_is_a_refused_key(collector: Any) -> None:
    """The message of the key file is the detail; nothing is sent without a key."""

    def no_key() -> str:
        raise ConfigInvalid("key_file /x: gone")

    ship = Shipper((collector.url,), no_key, ca_file="", clock=CLOCK)
    answer = ship.post(PART, HEADERS)
    ship.close()
    assert (answer.verdict, answer.detail) == (Verdict.KEY_REFUSED, "key_file /x: gone")


def test_tls_trusts_the_given_authority_only(
    tls_collector: Any, authority: Path, shipper: Make
) -> None:
    """With its certificate the collector is trusted; without, there is no answer."""
    trusting = shipper(tls_collector.url, ca=str(authority))
    assert trusting.post(PART, HEADERS).verdict is Verdict.DELIVERED
    answer = shipper(tls_collector.url).post(PART, HEADERS)
    assert answer.verdict is Verdict.RETRY
    assert "CERTIFICATE_VERIFY_FAILED" in answer.detail


def test_a_missing_authority_names_the_file() -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigInvalid, match="ca_file /absent"):
        Shipper(("https://a.example",), lambda: "k", ca_file="/absent", clock=Clock())
