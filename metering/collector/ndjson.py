"""NDJSON bodies: legs, node samples, and the records that a sidecar could not read."""

from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from metering.collector.records import Records, without_blank
from metering.errors import UsageInvalid
from metering.sources.usage_ndjson import is_foreign, read_usage
from metering.store.batches import RECORD_CHARACTERS_MAX, Refused
from metering.usage import SAMPLE_FIELDS, TEXT_LENGTH_MAX
from metering.windows import parse_time

COUNTER_MAX: Final = 9_000_000_000_000_000_000  # of a running total; also in sample_verdict.sql
_Count = Annotated[int, msgspec.Meta(ge=0, le=COUNTER_MAX)]
_TYPES: Final[dict[str, Any]] = {
    "text": str,
    "count": _Count,
    "time": str,
    "ratio": float,
    "counts": dict[str, _Count],
}
_Sample = msgspec.defstruct(
    "Sample",
    [
        (f.name, _TYPES[f.kind]) if f.required else (f.name, _TYPES[f.kind] | None, None)
        for f in sorted(SAMPLE_FIELDS, key=lambda f: not f.required)
    ],
    forbid_unknown_fields=True,
)


class _Reject(msgspec.Struct):
    """A record that a sidecar's parser refused, cut and without prompts."""

    record: str
    field: str
    reason: str
    source: str | None = None
    position: str | None = None
    node_id: str | None = None
    finished_at: str | None = None


_SAMPLE: Final = msgspec.json.Decoder(_Sample)
_REJECT: Final = msgspec.json.Decoder(_Reject)
_FAULTS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


def read_legs(body: bytes, into: Records) -> None:
    """Read one leg per line; a line with an event_id of its own has a foreign one."""
    lines = [line for _, line in without_blank(body.split(b"\n"))]
    for line in read_usage(lines, "body"):
        if line.refusal is not None:
            into.refuse(line.number - 1, line.record, line.refusal)
        elif line.row is not None:
            into.take(line.number - 1, line.row, foreign=is_foreign(line.row))


def read_samples(body: bytes, into: Records) -> None:
    """Read one node sample per line."""
    for index, line in without_blank(body.split(b"\n")):
        try:
            row = msgspec.structs.asdict(_SAMPLE.decode(line))
            row["sampled_at"] = _time("sampled_at", row["sampled_at"])
            into.take(index, row, foreign=False)
        except UsageInvalid as refusal:
            into.refuse(index, line, refusal)
        except _FAULTS as error:
            into.refuse(index, line, UsageInvalid(*_place_and_reason(error)))


def read_rejects(body: bytes, into: Records) -> None:
    """Read one refused record per line, as its sidecar describes it."""
    for index, line in without_blank(body.split(b"\n")):
        try:
            reject = _REJECT.decode(line)
            finished_at = _time("finished_at", reject.finished_at) if reject.finished_at else None
        except UsageInvalid as refusal:
            into.refuse(index, line, refusal)
        except _FAULTS as error:
            into.refuse(index, line, UsageInvalid(*_place_and_reason(error)))
        else:
            into.keep(_refused(index, reject, finished_at))


def _refused(index: int, reject: _Reject, finished_at: datetime | None) -> Refused:
    where = " ".join(part for part in (reject.source, reject.position) if part)
    reason = reject.reason[:TEXT_LENGTH_MAX]
    return Refused(
        index=index,
        field=reject.field[:TEXT_LENGTH_MAX],
        reason=f"{reason} ({where[:TEXT_LENGTH_MAX]})" if where else reason,
        record=reject.record[:RECORD_CHARACTERS_MAX],
        node_id=reject.node_id[:TEXT_LENGTH_MAX] if reject.node_id else None,
        finished_at=finished_at,
    )


def _time(name: str, text: str) -> datetime:
    try:
        return parse_time(text)
    except (ValueError, OverflowError) as error:
        raise UsageInvalid(name, str(error)[:TEXT_LENGTH_MAX]) from None


def _place_and_reason(error: Exception) -> tuple[str, str]:
    """Of a message such as "Expected `int`, got `str` - at `$.device_count`"."""
    reason, _, place = str(error).partition(" - at `$.")
    return place.rstrip("`") or "record", reason
