"""Source formats: engine and gateway records → rows of usage, metrics → rows of samples.

Every parser is pure: bytes and the node's identity in, rows out, no clock, no file, no network.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeVar

from metering.errors import ConfigInvalid
from metering.sources import (
    dcgm,
    dynamo_trace,
    envoy_ai_gateway,
    litellm,
    mthreads_gmi,
    node_power,
    openai_usage,
    sglang_export,
    sglang_loads,
    sglang_metrics,
    sglang_request_log,
    usage_ndjson,
    vllm_metrics,
    vllm_stats,
)
from metering.sources.record import NodeIdentity, Parser, Row

T = TypeVar("T")

PARSERS: Final[Mapping[str, Parser]] = {
    module.FORMAT: module.parse
    for module in (
        dynamo_trace,
        envoy_ai_gateway,
        litellm,
        openai_usage,
        sglang_export,
        sglang_request_log,
        usage_ndjson,
        vllm_stats,
    )
}


MetricsParser = Callable[[str, NodeIdentity, datetime], list[Row]]

METRICS_PARSERS: Final[Mapping[str, MetricsParser]] = {
    dcgm.FORMAT: dcgm.parse,
    dcgm.AMD_FORMAT: dcgm.parse_amd,
    mthreads_gmi.FORMAT: mthreads_gmi.parse,
    node_power.FORMAT: node_power.parse,
    sglang_loads.FORMAT: sglang_loads.parse,
    sglang_metrics.FORMAT: sglang_metrics.parse,
    vllm_metrics.FORMAT: vllm_metrics.parse,
}


def parse_line(source_format: str, record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one record of `source_format`; None for a record that reports no usage.

    record: one line without its line end. position: file and byte offset, for audit.
    Raises UsageInvalid, naming field and reason, for a record that cannot be read, and
    ConfigInvalid for a format that is not known.
    """
    return _known(PARSERS, source_format)(record, node, position)


def parse_metrics(
    source_format: str, text: str, node: NodeIdentity, sampled_at: datetime
) -> list[Row]:
    """The samples, rows of SAMPLE_FIELDS, in one answer of a metrics source.

    sampled_at: aware UTC time of the scrape. A value that the source does not give is missing or
    None, never 0. Raises UsageInvalid and ConfigInvalid like `parse_line`.
    """
    return _known(METRICS_PARSERS, source_format)(text, node, sampled_at)


def _known(parsers: Mapping[str, T], source_format: str) -> T:
    parser = parsers.get(source_format)
    if parser is None:
        known = ", ".join(sorted(parsers))
        raise ConfigInvalid(f"format {source_format!r} is not known; expected one of {known}")
    return parser
