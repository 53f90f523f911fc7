"""What the demo runs on: folders, ports, price book, sidecar files."""

import json
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from pricing.money import exact_arithmetic, plain

LOOPBACK: Final = "127.0.0.1"
MODEL: Final = "glm-5.2"
BOOK: Final = """\
book = "demo"
currency = "CNY"
timezone = "Asia/Shanghai"
"""
ENTRY: Final = """
[[price]]
model = "{model}"
effective_from = {since}
source = "{source}"
per_million_tokens = {{ input = "{input}", cached_input = "{cached}", output = "{output}" }}
"""
ALWAYS: Final = datetime(2020, 1, 1, tzinfo=UTC)
DEARER: Final = Decimal("1.25")  # what prices were before they changed, in those of today
SIDECAR: Final = """\
node = {node}
stage = {stage}
pool = {pool}
model = {model}
engine = {engine}
engine_version = {engine_version}
state_dir = {state_dir}
collectors = [{collector}]
key_file = {key_file}

[limits]
poll_seconds = 0.2
watermark_seconds = 1.0
retry_seconds = 0.1
retry_seconds_max = 2.0

[[source]]
kind = "sglang_export"
dir = {log_dir}
"""
SCRAPE: Final = """
[[source]]
kind = "metrics"
url = {url}
interval_seconds = 2.0
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices per million tokens in CNY, as decimal text."""

    input: str = "8"
    cached: str = "2"
    output: str = "28"

    def book(self, changed_at: datetime | None = None) -> str:
        """The price book of the demo, as TOML. changed_at: before it all was a quarter dearer."""
        now = self._entry(changed_at or ALWAYS, "prices given to tokentill demo", Decimal(1))
        before = "" if changed_at is None else self._entry(ALWAYS, "former prices", DEARER)
        return BOOK + before + now

    def _entry(self, since: datetime, source: str, factor: Decimal) -> str:
        given = {"input": self.input, "cached": self.cached, "output": self.output}
        with exact_arithmetic():
            prices = {name: plain(Decimal(text) * factor) for name, text in given.items()}
        return ENTRY.format(model=MODEL, since=since.isoformat(), source=source, **prices)


def sidecar_file(node: dict[str, Any], folder: Path, collector: str) -> Path:
    """Write the sidecar's configuration of one node of cluster.json; its key is in folder/key."""
    place = folder / str(node["node_id"])
    place.mkdir(parents=True, exist_ok=True)
    words = {
        "node": node["node_id"],
        **{name: node[name] for name in ("stage", "pool", "engine", "engine_version", "log_dir")},
        "model": node["model_id"],
        "state_dir": str(place / "state"),
        "collector": collector,
        "key_file": str(place / "key"),
    }
    text = SIDECAR.format(**{name: json.dumps(word) for name, word in words.items()})
    if node.get("metrics_url"):
        text += SCRAPE.format(url=json.dumps(node["metrics_url"]))
    path = place / "sidecar.toml"
    path.write_text(text, encoding="utf-8")
    return path


def free_port(wanted: int) -> int:
    """`wanted` if nobody listens there, else a port that the system gives."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")
