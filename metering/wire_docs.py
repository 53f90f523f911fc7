"""The tables of docs/wire.md, from the contract: `python -m metering.wire_docs docs/wire.md`."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from metering.usage import LEG_FIELDS, SAMPLE_FIELDS, Field, Kind

ARROW_NAMES: Final[dict[Kind, str]] = {
    "text": "string",
    "count": "int64",
    "time": "timestamp[us, tz=UTC]",
    "seconds": "double",
    "ratio": "double",
    "labels": "map<string, string>",
    "counts": "map<string, int64>",
}
JSON_NAMES: Final[dict[Kind, str]] = {
    "text": "string",
    "count": "integer",
    "time": "ISO 8601 with zone",
    "seconds": "number",
    "ratio": "number",
    "labels": "object of strings",
    "counts": "object of integers",
}
MARKED: Final[dict[str, tuple[Field, ...]]] = {"leg": LEG_FIELDS, "sample": SAMPLE_FIELDS}
END: Final = "<!-- end -->"


def with_tables(page: str) -> str:
    """`page` with its tables between `<!-- leg -->` or `<!-- sample -->` and `<!-- end -->` anew.

    Each field with its Arrow and JSON type, and its meaning with its unit.
    """
    for name, fields in MARKED.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        _old, end, after = rest.partition(END)
        page = "".join((before, mark, _table(fields), end, after))
    return page


def _table(fields: Iterable[Field]) -> str:
    lines = ["| field | Arrow | JSON | meaning |", "|---|---|---|---|"]
    for field in fields:
        name = f"**`{field.name}`** (required)" if field.required else f"`{field.name}`"
        kinds = f"{ARROW_NAMES[field.kind]} | {JSON_NAMES[field.kind]}"
        lines.append(f"| {name} | {kinds} | {field.meaning} |")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
