"""`tokentill rate` as a user runs it: a book, a usage file, the command, its JSON."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "tokentill"]


def book_text(entries: list[dict[str, Any]]) -> str:
    """A CNY book; each entry has the keys of docs/prices/format.md, prices as text."""
    head = 'book = "cases"\ncurrency = "CNY"\ntimezone = "UTC"\n'
    return head + "".join(_entry(entry) for entry in entries)


def _entry(entry: dict[str, Any]) -> str:
    own = {key: value for key, value in entry.items() if key != "tiers"}
    lines = ["[[price]]", *_lines(own), 'source = "https://example.org"', "checked_on = 2026-01-01"]
    for tier in entry.get("tiers", []):
        lines += ["[[price.tier]]", *_lines(tier)]
    return "\n".join([*lines, ""])


def _lines(values: dict[str, Any]) -> list[str]:
    return [f"{key} = {_value(value)}" for key, value in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f'{k} = "{v}"' for k, v in value.items()) + " }"
    if isinstance(value, str) and not value[:4].isdigit():
        return json.dumps(value)
    return str(value)


def per_million(prices: dict[str, str]) -> dict[str, str]:
    """The cases' names of prices in the book's words."""
    return {
        "input": prices["uncached"],
        "cached_input": prices["cached"],
        "output": prices["output"],
    }


def usage_leg(**change: Any) -> dict[str, Any]:
    """A unified leg of the cases' tenant and model; a test changes only what it is about."""
    base = {
        "stage": "unified",
        "node_id": "n1",
        "tenant_id": "t-alder",
        "model_id": "m-river",
        "started_at": "2026-06-10T03:00:00Z",
        "finished_at": "2026-06-10T03:00:09Z",
        "status": "ok",
    }
    return base | change


def rate(
    folder: Path, book: str, legs: list[dict[str, Any]], *extra: str, status: int = 0
) -> dict[str, Any]:
    """Run the command in a folder of its own; its JSON answer."""
    (folder / "book.toml").write_text(book, encoding="utf-8")
    (folder / "usage.ndjson").write_text(
        "".join(json.dumps(leg) + "\n" for leg in legs), encoding="utf-8"
    )
    files = ["--book", str(folder / "book.toml"), "--usage", str(folder / "usage.ndjson")]
    done = subprocess.run(
        [*COMMAND, "rate", *files, "--json", *extra], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
