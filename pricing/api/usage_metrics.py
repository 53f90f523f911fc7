"""Usage, revenue, lag and findings as Prometheus metrics: for charts and alarms, never for bills.

Prometheus holds every value as a float, so money here is for reading; the API has it exact. No
tenant is named. What a scrape reads is kept for a while, so that scraping often costs nothing.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from metering.errors import MeteringError
from metering.windows import Window
from pricing.api.services import ReadUsage
from pricing.reports.findings import findings
from pricing.reports.rows import read_rows
from pricing.scope import Scope

KEPT: Final = timedelta(seconds=30)
FINDINGS_SPAN: Final = timedelta(days=1)
INPUT_LINES: Final = ("uncached", "cached", "cache_write")
LINES: Final = (*INPUT_LINES, "output", "reasoning")


class UsageMetrics(Collector):
    """Reads the roll-ups when Prometheus asks. clock: aware UTC now."""

    def __init__(self, read_usage: ReadUsage, clock: Callable[[], datetime]) -> None:
        self._read_usage = read_usage
        self._clock = clock
        self._turn = threading.Lock()
        self._read_at: datetime | None = None
        self._known: list[Metric] = []

    def describe(self) -> list[Metric]:
        """Nothing: what is registered is read when it is asked for, not before."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The metrics, at most KEPT old; the last ones known while readers are busy."""
        with self._turn:
            now = self._clock()
            if self._read_at is None or now - self._read_at >= KEPT:
                try:
                    self._known, self._read_at = list(self._made(now)), now
                except MeteringError:
                    self._read_at = now
            yield from self._known

    def _made(self, now: datetime) -> Iterator[Metric]:
        rows = self._read_usage(lambda cursor: read_rows(cursor, "metrics_usage"))
        yield from _usage(rows)
        hour = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
        window = Window(hour - FINDINGS_SPAN, hour)
        found = self._read_usage(
            lambda cursor: findings(cursor, Scope.house(), window=window, now=now)
        )
        yield _findings(Counter(each.kind for each in found))


def _usage(rows: list[dict[str, Any]]) -> Iterator[Metric]:
    labels = ("model", "disposition")
    requests = GaugeMetricFamily("tokentill_requests", "Settled requests.", labels=labels)
    tokens = GaugeMetricFamily("tokentill_tokens", "Settled tokens.", labels=(*labels, "line"))
    money = GaugeMetricFamily(
        "tokentill_amount",
        "Money of settled requests: owed where billed, else at stake. For charts, not for bills.",
        labels=(*labels, "currency"),
    )
    for row in rows:
        named = (row["model_id"], row["disposition"])
        requests.add_metric(named, row["requests"])
        for line in LINES:
            tokens.add_metric((*named, line), row[line])
        if row["currency"]:
            money.add_metric((*named, row["currency"]), row["amount"])
    yield from (requests, tokens, money, _hit_ratios(rows))


def _hit_ratios(rows: list[dict[str, Any]]) -> Metric:
    """Cached in all billed input tokens, since the first of them; a chart divides what it adds."""
    family = GaugeMetricFamily(
        "tokentill_hit_ratio", "Cached tokens in billed input tokens, 0-1.", labels=("model",)
    )
    cached, total = Counter[str](), Counter[str]()
    for row in rows:
        if row["disposition"] == "billed":
            cached[row["model_id"]] += row["cached"]
            total[row["model_id"]] += sum(row[line] for line in INPUT_LINES)
    for model_id in sorted(total):
        if total[model_id]:
            family.add_metric((model_id,), cached[model_id] / total[model_id])
    return family


def _findings(kinds: Counter[str]) -> Metric:
    family = GaugeMetricFamily(
        "tokentill_findings", "Findings of the last day, by kind.", labels=("kind",)
    )
    for kind, count in sorted(kinds.items()):
        family.add_metric((kind,), count)
    return family
