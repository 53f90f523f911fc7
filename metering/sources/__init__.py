"""Source formats: engine and gateway records → rows of usage, metrics → rows of samples.

Every parser is pure: bytes and the node's identity in, rows out, no clock, no file, no network.
"""

from collections.abc import Mapping
from typing import Final

from metering.errors import ConfigInvalid
from metering.sources import (
    dynamo_trace,
    envoy_ai_gateway,
    litellm,
    openai_usage,
    sglang_export,
    sglang_request_log,
    usage_ndjson,
    vllm_stats,
)
from metering.sources.record import NodeIdentity, Parser, Row

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


def parse_line(source_format: str, record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """The row of one record of `source_format`; None for a record that reports no usage.

    record: one line without its line end. position: file and byte offset, for audit.
    Raises UsageInvalid, naming field and reason, for a record that cannot be read, and
    ConfigInvalid for a format that is not known.
    """
    parser = PARSERS.get(source_format)
    if parser is None:
        raise ConfigInvalid(
            f"format {source_format!r} is not known; expected one of {', '.join(sorted(PARSERS))}"
        )
    return parser(record, node, position)
