"""Moore Threads' `mthreads-gmi -q -j`: JSON whose values are texts with units.

It has no energy counter: energy is integrated from power.
"""

import math
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.sources.devices import Device, device_rows
from metering.sources.record import NodeIdentity, Row

FORMAT: Final = "mthreads_gmi"
_NUMBER: Final = re.compile(r"\s*(-?\d{1,15}(?:\.\d{1,15})?)\s*(%|m?W|[A-Za-z]*)\s*")
_WATTS_PER_MILLIWATT: Final = 0.001


def parse(
    text: str, node: NodeIdentity, sampled_at: datetime, *, used: Collection[str] | None = None
) -> list[Row]:
    """One row for the node's GPUs. used: index or UUID of those that count. Raises UsageInvalid."""
    try:
        report = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise UsageInvalid("record", f"not the JSON of mthreads-gmi -q -j: {error}") from None
    listed = report.get("GPU") if isinstance(report, dict) else None
    if not isinstance(listed, list):
        raise UsageInvalid("GPU", "expected a list of GPUs")
    devices = [_device(gpu) for gpu in listed if isinstance(gpu, dict)]
    return device_rows(devices, node, sampled_at, source=FORMAT, used=used)


def _device(gpu: Mapping[str, Any]) -> Device:
    names = [str(gpu[name]) for name in ("Index", "GPU UUID") if name in gpu]
    return Device(
        names,
        _reading(gpu, "Utilization", "Gpu"),
        _reading(gpu, "Power Readings", "Power Draw"),
        None,
    )


def _reading(gpu: Mapping[str, Any], group: str, name: str) -> float | None:
    """A value such as "63%" or "188.00W"; None for N/A. Names may carry spaces at their end."""
    values = gpu.get(group)
    if not isinstance(values, dict):
        return None
    text = next((v for k, v in values.items() if k.strip() == name), None)
    match = _NUMBER.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    number = float(match[1]) * (_WATTS_PER_MILLIWATT if match[2] == "mW" else 1.0)
    return number if math.isfinite(number) and number >= 0 else None
