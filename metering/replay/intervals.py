"""A node's histogram of inter-token latency, as SGLang counts it: by token, after the first push.

The simulation decodes evenly, so that all intervals of one answer are alike.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.utils import floatToGoString

from metering.replay.legs import Leg
from metering.replay.nodes import Timeline
from metering.replay.request import Customer
from metering.replay.sglang_files import FORCED_STREAM_TOKENS

EDGES: Final = (  # seconds; SGLang's defaults
    *(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1),
    *(0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, math.inf),
)


@dataclass(slots=True)
class _Histogram:
    tokens: list[int] = field(default_factory=lambda: [0] * len(EDGES))
    seconds: float = 0.0


class Intervals:
    """Inter-token latencies of one node by customer."""

    def __init__(self) -> None:
        self._by_customer: dict[Customer, _Histogram] = {}

    def count(self, leg: Leg, timeline: Timeline) -> None:
        """Count the tokens of a finished leg that reached the client after its first push."""
        first_push = 1 if leg.call.is_streaming else FORCED_STREAM_TOKENS
        tokens = leg.output_tokens - first_push
        if leg.is_prefill or tokens <= 0:
            return
        decoded_seconds = timeline.lasting(leg.finished_at - leg.computed_at)
        interval_seconds = decoded_seconds / (leg.output_tokens - 1)
        histogram = self._by_customer.setdefault(leg.call.customer, _Histogram())
        histogram.tokens[bisect_left(EDGES, interval_seconds)] += tokens
        histogram.seconds += tokens * interval_seconds

    def family(self, engine_type: str, model_name: str) -> HistogramMetricFamily:
        """The histogram; without samples before the first interval, as in the engine."""
        found = HistogramMetricFamily(
            "sglang:inter_token_latency_seconds",
            "Histogram of inter-token latency in seconds.",
            labels=("engine_type", "model_name", "api_key_id", "project", "tenant"),
        )
        for customer, histogram in self._by_customer.items():
            owner = (customer.api_key_id, customer.project_id, customer.tenant_id)
            counts = zip(map(floatToGoString, EDGES), accumulate(histogram.tokens), strict=True)
            found.add_metric(
                (engine_type, model_name, *owner), list(counts), sum_value=histogram.seconds
            )
        return found
