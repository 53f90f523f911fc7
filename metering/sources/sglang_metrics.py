"""SGLang's /metrics (--enable-metrics) → samples.

Tokenizer counters are summed over label sets; scheduler gauges are repeated by ranks and taken
once. Counters start at 0 with the server and carry no start time: a decrease is a restart. Before
its first increment a counter has no series: where the scheduler reports, that is 0. Inter-token
latency is counted by token, for what is pushed to the client after the first push.
`sglang:utilization` is never set by 0.5.23 and therefore not read.
"""

from datetime import datetime
from typing import Final

from metering.sources.prometheus import (
    Exposition,
    Series,
    by_upper_bound,
    count,
    mean,
    one_per_replica,
    read_exposition,
    rows_by_model,
    sample_row,
)
from metering.sources.record import NodeIdentity, Row
from metering.usage import Stage

FORMAT: Final = "sglang_metrics"
_PREFIX: Final = "sglang:"
_SCHEDULER: Final = "sglang:num_running_reqs"
_COUNTERS: Final = {
    "counter_input_tokens": "sglang:prompt_tokens_total",
    "counter_cached_tokens": "sglang:cached_tokens_total",
    "counter_output_tokens": "sglang:generation_tokens_total",
    "counter_requests": "sglang:num_requests_total",
    "counter_aborted_requests": "sglang:num_aborted_requests_total",
}
_ITL: Final = "sglang:inter_token_latency_seconds_bucket"
_NO_INTERVAL_YET: Final = {"+Inf": 0}


def parse(text: str, node: NodeIdentity, sampled_at: datetime) -> list[Row]:
    """One row per served model. Raises UsageInvalid for an unreadable body."""
    exposition = read_exposition(text)

    def row_of(model: str) -> Row:
        row = sample_row(node, sampled_at, FORMAT)
        reports = bool(exposition.series(_SCHEDULER, model_name=model))
        row |= {
            field: count(found) if found or not reports else 0
            for field, name in _COUNTERS.items()
            for found in (exposition.series(name, model_name=model),)
        }
        intervals = by_upper_bound(exposition.series(_ITL, model_name=model))
        row["itl_by_bucket"] = intervals or (_NO_INTERVAL_YET if reports else None)
        row |= _gauges(exposition, model)
        roles = exposition.values_of("engine_type", _PREFIX)
        if len(roles) == 1 and roles[0] in set(Stage):
            row["stage"] = roles[0]
        return row

    return rows_by_model(exposition, _PREFIX, row_of)


def _gauges(exposition: Exposition, model: str) -> Row:
    def replicas(name: str) -> list[Series]:
        return one_per_replica(exposition.series(name, model_name=model))

    return {
        "running_requests": count(replicas("sglang:num_running_reqs")),
        "queued_requests": count(replicas("sglang:num_queue_reqs")),
        "kv_usage_ratio": mean(replicas("sglang:token_usage")),
    }
