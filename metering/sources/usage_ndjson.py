"""The usage file (docs/engines/gateways.md): one leg a line, named as `metering.usage.LEG_FIELDS`.

`request_id` is accepted for `join_key`, `event_id` may be omitted, null is the same as missing.
Unknown keys are refused, because a misspelt count would otherwise be an unknown one.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded, bounded_value, clean_labels
from metering.sources.record import NodeIdentity, Row, checked_count, shown
from metering.usage import (
    LABELS_MAX,
    LEG_FIELDS,
    SCHEMA_VERSION,
    Operation,
    Stage,
    Status,
    event_id,
)
from metering.windows import parse_time

FORMAT: Final = "usage_ndjson"
FOREIGN: Final = "foreign"  # a row's key outside the contract: its event_id is the sender's own

_ID_FIELDS: Final = ("join_key", "engine_request_id", "client_request_id")
_REQUIRED: Final = tuple(f.name for f in LEG_FIELDS if f.required)
_OWNERS: Final = frozenset({"tenant_id", "project_id", "api_key_id"})
_CHOICES: Final = {"stage": frozenset(Stage), "status": frozenset(Status)}
_WITHOUT_OUTPUT: Final = frozenset({Operation.EMBEDDING, Operation.RERANK, Operation.SCORE})
_FROM_NODE: Final = ("node_id", "pool", "instance_id", "engine", "engine_version", "region")


class Line(NamedTuple):
    """One line of a usage file: its number from 1, and its row or why it was refused."""

    number: int
    record: bytes
    row: Row | None
    refusal: UsageInvalid | None


def parse(record: bytes, node: NodeIdentity, position: str, *, ordinal: int = 0) -> Row | None:
    """The row of one line; what it does not say of the node comes from `node`."""
    row = usage_row(record, position, ordinal=ordinal)
    if row is not None:
        for name in _FROM_NODE:
            row.setdefault(name, getattr(node, name))
    return row


def parse_followed(record: bytes, node: NodeIdentity, position: str) -> Row | None:
    """`parse` for a file that still grows: a line must carry an id.

    Without one the identical lines of a file are told apart by their order, which nobody knows who
    goes on in the middle of it. Raises UsageInvalid.
    """
    row = parse(record, node, position)
    if row is not None and not is_foreign(row) and not carries_id(row):
        raise UsageInvalid(
            "request_id",
            f"missing: a line of a file that is followed carries one of event_id, request_id, "
            f"{', '.join(_ID_FIELDS[1:])}, or a second request could not be told from a repeat; "
            f"once the file is finished: tokentill import {FORMAT} FILE",
        )
    return row


def usage_row(record: bytes, position: str, *, ordinal: int = 0) -> Row | None:
    """The row of one line as it stands; None for an empty one.

    ordinal: which of the identical lines of its file this is; it tells lines without any id apart.
    Raises UsageInvalid.
    """
    if not record or record.isspace():
        return None
    row = _read_fields(_read_object(record))
    for name in _REQUIRED:
        if name not in row:
            raise UsageInvalid(name, "missing")
    if row.get("operation") in _WITHOUT_OUTPUT:
        row.setdefault("output_tokens", 0)
    if "event_id" in row:
        row[FOREIGN] = True
    else:
        row["event_id"] = event_id(FORMAT, record, 0 if carries_id(row) else ordinal)
    row.setdefault("source", FORMAT)
    row.setdefault("source_position", position)
    return row


def read_usage(lines: Iterable[bytes], name_of_file: str) -> Iterator[Line]:
    """Every line of a usage file that is not empty, with identical lines without id told apart."""
    seen: Counter[bytes] = Counter()
    for number, line in enumerate(lines, 1):
        record = line.rstrip(b"\r\n")
        position = f"{name_of_file}:{number}"
        try:
            row = usage_row(record, position)
        except UsageInvalid as refusal:
            yield Line(number, record, None, refusal)
            continue
        if row is None:
            continue
        if not is_foreign(row) and not carries_id(row):
            digest = hashlib.sha256(record).digest()
            row["event_id"] = event_id(FORMAT, record, seen[digest])
            seen[digest] += 1
        yield Line(number, record, row, None)


def is_foreign(row: Row) -> bool:
    """Whether the row's event_id was chosen by its sender and is unique only within that sender."""
    return row.get(FOREIGN) is True


def carries_id(row: Row) -> bool:
    """Whether a row names its request, so that an identical line is the same leg once more."""
    return any(row.get(name) is not None for name in _ID_FIELDS)


def _read_object(record: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise UsageInvalid("record", f"expected one JSON object on a line: {error}") from None
    if not isinstance(value, dict):
        raise UsageInvalid("record", f"expected a JSON object, got {type(value).__name__}")
    return value


def _read_fields(values: dict[str, Any]) -> Row:
    row: Row = {}
    for name, value in values.items():
        read = _READERS.get(name)
        if read is None:
            raise _unknown_key(name)
        if value is None:
            continue
        read_value = read(name, value)
        if read_value is not None:
            row[name] = read_value
    row.pop("schema_version", None)
    request_id = row.pop("request_id", None)
    if request_id is not None and row.setdefault("join_key", request_id) != request_id:
        raise UsageInvalid("request_id", "is another name of join_key, and the two differ")
    return row


def _unknown_key(name: str) -> UsageInvalid:
    known = ", ".join(sorted(_READERS))
    return UsageInvalid(bounded(name), f"not a key of a usage line; known keys: {known}")


def _text(name: str, value: object) -> str | None:
    if not isinstance(value, str):
        raise UsageInvalid(name, f"expected text, got {shown(value)}")
    return bounded(value) if value else None


def _owner(name: str, value: object) -> str | None:
    if isinstance(value, bool | float | dict | list):
        raise UsageInvalid(name, f"expected text, got {shown(value)}")
    return bounded_value(value)


def _choice(name: str, value: object) -> str:
    choices = _CHOICES[name]
    if not isinstance(value, str) or value not in choices:
        raise UsageInvalid(
            name, f"expected one of {', '.join(sorted(choices))}, got {shown(value)}"
        )
    return value


def _time(name: str, value: object) -> Any:
    if not isinstance(value, str):
        raise UsageInvalid(name, f"expected an ISO 8601 time with zone, got {shown(value)}")
    try:
        return parse_time(value)
    except (ValueError, OverflowError) as error:
        raise UsageInvalid(name, str(error)[:_REASON_CHARACTERS]) from None


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageInvalid(name, f"expected a number, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UsageInvalid(name, "expected a finite number")
    return number


def _labels(_name: str, value: object) -> dict[str, str] | None:
    return clean_labels(value) or None


def _counts(name: str, value: object) -> dict[str, int] | None:
    if not isinstance(value, dict) or len(value) > LABELS_MAX:
        raise UsageInvalid(name, f"expected an object of at most {LABELS_MAX} counts")
    checked = {bounded(key): checked_count(f"{name}.{key}", n) for key, n in value.items()}
    return {key: tokens for key, tokens in checked.items() if tokens is not None} or None


def _schema_version(name: str, value: object) -> int:
    if type(value) is not int or value != SCHEMA_VERSION:
        raise UsageInvalid(name, f"expected {SCHEMA_VERSION}, got {shown(value)}")
    return value


_REASON_CHARACTERS: Final = 200
_BY_KIND: Final[dict[str, Callable[[str, Any], Any]]] = {
    "text": _text,
    "count": checked_count,
    "time": _time,
    "seconds": _number,
    "ratio": _number,
    "labels": _labels,
    "counts": _counts,
}
_READERS: Final[dict[str, Callable[[str, Any], Any]]] = {
    **{f.name: _BY_KIND[f.kind] for f in LEG_FIELDS},
    **dict.fromkeys(_CHOICES, _choice),
    **dict.fromkeys(_OWNERS, _owner),
    "request_id": _text,
    "schema_version": _schema_version,
}
