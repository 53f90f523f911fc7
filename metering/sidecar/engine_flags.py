"""What an engine's own lines tell about the flags it runs with, and what a missing one costs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

Level = Literal["ok", "warning", "error"]
PREFILL_MARK: Final = "prefill_finished_time"  # never on a decode node


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. cost: what is lost as it is. remedy: what to do."""

    level: Level
    subject: str
    text: str
    cost: str = ""
    remedy: str = ""


def sglang_findings(records: Iterable[bytes], stage: str, subject: str) -> list[Finding]:
    """What some recent lines of SGLang's export file say of its flags and role."""
    lines = [line for record in records if (line := _line(record)) is not None]
    if not lines:
        return []
    findings = [
        _labels(lines, subject),
        _timings(lines, subject),
        _prompts(lines, subject),
        _role(lines, stage, subject),
    ]
    return [finding for finding in findings if finding is not None]


def _line(record: bytes) -> dict[str, Any] | None:
    """A line with its request_parameters decoded; None for one that cannot be read."""
    try:
        line = json.loads(record)
        line["request_parameters"] = json.loads(line["request_parameters"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return line if isinstance(line["request_parameters"], dict) else None


def _labels(lines: Sequence[Mapping[str, Any]], subject: str) -> Finding | None:
    if any(line["request_parameters"].get("custom_labels") for line in lines):
        return None
    return Finding(
        "warning",
        subject,
        "no line names an owner (custom_labels)",
        "all usage is unattributed",
        "start the engine with --tokenizer-metrics-allowed-custom-labels tenant project api_key_id "
        "and let the gateway set the header x-custom-labels",
    )


def _timings(lines: Sequence[Mapping[str, Any]], subject: str) -> Finding | None:
    if any("request_received_ts" in line for line in lines):
        return None
    return Finding(
        "warning",
        subject,
        "no line has request_received_ts",
        "no queue and prefill times, no counters to reconcile with; the start of a request is "
        "worked out from its end",
        "start the engine with --enable-metrics",
    )


def _prompts(lines: Sequence[Mapping[str, Any]], subject: str) -> Finding | None:
    prompted = [line for line in lines if {"text", "input_ids"} & line["request_parameters"].keys()]
    if not prompted:
        return None
    return Finding(
        "warning",
        subject,
        "lines hold whole prompts",
        "prompts lie in clear on this node's disk, and the sidecar reads many times the bytes "
        "(they never leave the node)",
        "start the engine with --log-requests --log-requests-level 1 (the name of a LoRA adapter "
        "is then missing too)",
    )


def _role(lines: Sequence[Mapping[str, Any]], stage: str, subject: str) -> Finding | None:
    """Prefill and decode lines look alike but for this; the wrong stage bills prompts twice."""
    split = [line for line in lines if "bootstrap_room" in line["request_parameters"]]
    seen = stage
    if not split:
        seen = "unified"
    elif any((line.get("completion_tokens") or 0) > 1 for line in split):
        seen = "decode"
    elif any(PREFILL_MARK in line for line in split):
        seen = "prefill"
    if seen == stage:
        return None
    return Finding(
        "error",
        subject,
        f"the lines are those of a {seen} engine, the configuration says {stage}",
        "input and output are billed from the wrong node",
        f'set stage = "{seen}", or read the other engine\'s folder',
    )
