"""What of an unreadable record may leave the node: counts, times and ids, never a prompt.

Engines write prompts and answers into the records that the parsers read. A record that cannot be
parsed still goes to the collector's quarantine, reduced to the parts below; the whole record stays
on the node, at the file and offset that are sent along.
"""

import re
from typing import Any, Final

import msgspec

from metering.usage import LEG_FIELDS

RECORD_BYTES_MAX: Final = 64 * 1024
DECODED_BYTES_MAX: Final = 1024 * 1024  # a longer record is not turned into values, for memory
TEXT_CHARACTERS_MAX: Final = 128
DEPTH_MAX: Final = 6

# Keys whose text is an id, a name or a state. Every other text is withheld.
SAFE_TEXTS: Final = frozenset(
    {field.name for field in LEG_FIELDS}
    | {
        "api_key", "api_key_id", "bootstrap_host", "client_request_id", "engine_type", "event",
        "event_type", "id", "lora_id", "lora_path", "model", "model_group", "object", "org",
        "project", "request_id", "request_type", "rid", "role", "schema", "service_tier", "source",
        "specversion", "team_id", "tenant", "timestamp", "trace_id", "type", "weight_version",
        "x_request_id",
    }
)  # fmt: skip
NESTED_JSON: Final = "request_parameters"  # SGLang keeps an object as text here
_FRAGMENT: Final = re.compile(
    r'\\?"(\w{1,40})\\?":\s*(?:(-?\d[\d.eE+-]{0,30}|true|false|null)(?=\s*[,}])'
    r'|\\?"([\w.:@/+-]{0,128})\\?")'
)


def redacted(record: bytes) -> str:
    """`record` as JSON text of at most 64 KiB, without any text that could be a prompt's."""
    try:
        value = msgspec.json.decode(record[: DECODED_BYTES_MAX + 1])  # cut: not JSON
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        value = _fragments(record)
    else:
        value = _safe(value, DEPTH_MAX)
    text = msgspec.json.encode(value)[:RECORD_BYTES_MAX]
    return text.decode("utf-8", "ignore")


def _fragments(record: bytes) -> dict[str, Any]:
    """The members of a torn record that can be told apart, and how much is withheld."""
    text = record[:RECORD_BYTES_MAX].decode("utf-8", "replace")
    kept = {
        key: number or string
        for key, number, string in _FRAGMENT.findall(text)
        if number or key in SAFE_TEXTS
    }
    return {"unreadable_bytes": len(record), "fragments": kept}


def _safe(value: Any, depth: int, key: str = "") -> Any:
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        if key == NESTED_JSON:
            return redacted(value.encode("utf-8", "replace"))
        safe = key in SAFE_TEXTS and len(value) <= TEXT_CHARACTERS_MAX
        return value if safe else f"({len(value)} characters withheld)"
    if isinstance(value, dict) and depth:
        return {
            name[:TEXT_CHARACTERS_MAX]: _safe(member, depth - 1, name)
            for name, member in value.items()
        }
    return f"({len(value)} members withheld)"  # lists may hold token ids
