"""vLLM's /metrics → samples.

Series are summed over `engine` (data-parallel replicas). One process has `_created` series and
process_start_time_seconds, which tell a restart; with --api-server-count > 1 they are absent. On a
decode node the cached counter holds the transferred prompt: a cross-check, never a bill. Tokens are
counted as they are computed; the request_* histograms take a request's tokens when it has finished,
so the difference is what clients that left, and requests that still run, have cost. Each step of
the engine that adds to an answer is one inter-token interval, however many tokens it brought.
"""

from datetime import datetime
from typing import Final

from metering.sources.prometheus import (
    Exposition,
    by_upper_bound,
    count,
    mean,
    read_exposition,
    rows_by_model,
    sample_row,
)
from metering.sources.record import NodeIdentity, Row

FORMAT: Final = "vllm_metrics"
_PREFIX: Final = "vllm:"
_ABORT: Final = "abort"
_COUNTERS: Final = {
    "counter_input_tokens": "vllm:prompt_tokens_total",
    "counter_cached_tokens": "vllm:prompt_tokens_cached_total",
    "counter_output_tokens": "vllm:generation_tokens_total",
    "counter_finished_input_tokens": "vllm:request_prompt_tokens_sum",
    "counter_finished_output_tokens": "vllm:request_generation_tokens_sum",
}
_ITL: Final = (
    "vllm:inter_token_latency_seconds_bucket",
    "vllm:time_per_output_token_seconds_bucket",  # its name in older releases
)


def parse(text: str, node: NodeIdentity, sampled_at: datetime) -> list[Row]:
    """One row per served model. Raises UsageInvalid for an unreadable body."""
    exposition = read_exposition(text)

    def row_of(model: str) -> Row:
        finished = exposition.series("vllm:request_success_total", model_name=model)
        aborted = [s for s in finished if s.labels.get("finished_reason") == _ABORT]
        running = exposition.series("vllm:num_requests_running", model_name=model)
        queued = exposition.series("vllm:num_requests_waiting", model_name=model)
        return {
            **sample_row(node, sampled_at, FORMAT),
            **{
                field: count(exposition.series(name, model_name=model))
                for field, name in _COUNTERS.items()
            },
            "running_requests": count(running),
            "queued_requests": count(queued),
            "kv_usage_ratio": mean(exposition.series("vllm:kv_cache_usage_perc", model_name=model)),
            "counter_requests": count(s for s in finished if s not in aborted),
            "counter_aborted_requests": count(aborted),
            "counter_epoch": _epoch(exposition, model),
            "itl_by_bucket": _itl(exposition, model),
        }

    return rows_by_model(exposition, _PREFIX, row_of)


def _itl(exposition: Exposition, model: str) -> dict[str, int] | None:
    found = (by_upper_bound(exposition.series(name, model_name=model)) for name in _ITL)
    return next((counts for counts in found if counts is not None), None)


def _epoch(exposition: Exposition, model: str) -> str | None:
    """When the counters began, as the engine says it: changes with every restart."""
    begun = exposition.series("vllm:prompt_tokens_created", model_name=model)
    begun = begun or exposition.series("process_start_time_seconds")
    return ",".join(sorted(f"{s.value:.6f}" for s in begun)) or None
