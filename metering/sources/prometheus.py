"""Prometheus' text format → series by name; sums that say None where there is no series."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from metering.errors import UsageInvalid
from metering.identity import bounded
from metering.sources.record import NodeIdentity, Row
from metering.usage import BUCKETS_MAX, Stage

EXPOSITION_CHARACTERS_MAX: Final = 64 << 20
COUNTER_MAX: Final = 10**18  # tokens; what a column can hold
_RANKS: Final = ("pp_rank", "tp_rank", "moe_ep_rank")
_ALL: Final = "+Inf"  # the bucket that counts every observation
_STAGES: Final = frozenset({Stage.PREFILL.value, Stage.DECODE.value, Stage.UNIFIED.value})


class Series(NamedTuple):
    """One labelled value."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Exposition:
    """All series of one scrape by their name."""

    by_name: Mapping[str, list[Series]]

    def series(self, name: str, **labels: str) -> list[Series]:
        """The series of `name` that carry these labels and a finite value."""
        return [
            series
            for series in self.by_name.get(name, [])
            if math.isfinite(series.value)
            and all(series.labels.get(label) == value for label, value in labels.items())
        ]

    def values_of(self, label: str, prefix: str) -> list[str]:
        """The values of a label among the series whose name begins with `prefix`, sorted."""
        found = {
            series.labels[label]
            for name, listed in self.by_name.items()
            if name.startswith(prefix)
            for series in listed
            if series.labels.get(label)
        }
        return sorted(found)


def read_exposition(text: str) -> Exposition:
    """Parse a /metrics body. Raises UsageInvalid for one that is not in the text format."""
    if len(text) > EXPOSITION_CHARACTERS_MAX:
        raise UsageInvalid("metrics", f"longer than {EXPOSITION_CHARACTERS_MAX} characters")
    by_name: dict[str, list[Series]] = {}
    try:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                by_name.setdefault(sample.name, []).append(Series(sample.labels, sample.value))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageInvalid("metrics", f"not in Prometheus' text format: {error}"[:200]) from None
    return Exposition(by_name)


def count(series: Iterable[Series]) -> int | None:
    """The sum of counts as a whole number; None where there is no series or no such number."""
    values = [s.value for s in series]
    if not values:
        return None
    whole = sum(int(value) for value in values)
    return whole if 0 <= whole <= COUNTER_MAX else None


def by_upper_bound(series: Iterable[Series]) -> dict[str, int] | None:
    """A histogram's buckets: upper bound as the engine writes it → observations up to it so far.

    Label sets are added, repeats by ranks taken once. None where there is no whole histogram.
    """
    found: dict[str, list[Series]] = {}
    for one in one_per_replica(series):
        found.setdefault(one.labels.get("le", ""), []).append(one)
    counts = {bound: counted for bound in found if (counted := count(found[bound])) is not None}
    is_whole = _ALL in counts and len(counts) == len(found) <= BUCKETS_MAX
    return counts if is_whole else None


def total(series: Iterable[Series]) -> float | None:
    """The sum of gauges; None where there is no series."""
    values = [s.value for s in series]
    return sum(values) if values else None


def mean(series: Iterable[Series]) -> float | None:
    """The mean of gauges; None where there is no series."""
    values = [s.value for s in series]
    return sum(values) / len(values) if values else None


def one_per_replica(series: Iterable[Series]) -> list[Series]:
    """Of the repeats of one data-parallel replica by tensor, pipeline and expert ranks, the first.

    With DP attention each replica reports under a tensor rank of its own, so the lowest rank of
    each dp_rank is taken, not rank 0.
    """
    first: dict[tuple[str, ...], Series] = {}
    for one in sorted(series, key=lambda s: tuple(_rank(s.labels.get(r)) for r in _RANKS)):
        rest = {k: v for k, v in one.labels.items() if k not in _RANKS and k != "pid"}
        first.setdefault(tuple(f"{k}={rest[k]}" for k in sorted(rest)), one)
    return list(first.values())


def _rank(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def sample_row(node: NodeIdentity, sampled_at: datetime, source: str) -> Row:
    """A row of SAMPLE_FIELDS with what the configuration says; the model is not part of it."""
    return {
        "sampled_at": sampled_at,
        "node_id": node.node_id,
        "source": source,
        "stage": node.stage if node.stage in _STAGES else None,
        "pool": node.pool,
    }


def rows_by_model(exposition: Exposition, prefix: str, row_of: Callable[[str], Row]) -> list[Row]:
    """One row per model_name of the metrics whose name begins with `prefix`."""
    return [
        row_of(model) | {"model_id": bounded(model)}
        for model in exposition.values_of("model_name", prefix)
    ]
