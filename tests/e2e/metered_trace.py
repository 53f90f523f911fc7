"""A trace through replayed SGLang files, the real parser, ingest and settlement, in one process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from metering.sources import NodeIdentity, parse_line
from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.wire import to_batch
from pricing.price_book import Catalogue
from tests.pricing.price_rows import book, entry, prices
from tests.pricing.settle.legs import NOW, Till, rules

LINES_PER_BATCH = 5_000
GLM = entry("glm-5.2", prices=prices(input="8", cached_input="2", output="28"))


def replayed(trace: Path | None, out: Path, *extra: str) -> dict[str, Any]:
    """Write the engine files of a cluster that served `trace`; what done.json says.

    trace None: what `extra` says, such as the built-in workload.
    """
    source = [] if trace is None else ["--trace", str(trace)]
    command = [sys.executable, "-m", "tokentill", "replay", *source]
    shape = ["--prefill", "2", "--decode", "2", "--cache", "shared", "--out", str(out)]
    subprocess.run([*command, *shape, *extra], check=True, capture_output=True)
    done: dict[str, Any] = json.loads((out / "done.json").read_text("utf-8"))
    return done


def batches(cluster: Path) -> Iterator[LegBatch]:
    """The batches that sidecars would send, node by node."""
    for node in json.loads((cluster / "cluster.json").read_text("utf-8"))["nodes"]:
        who = NodeIdentity(
            node_id=node["node_id"],
            stage=node["stage"],
            model_id=node["model_id"],
            pool=node["pool"],
        )
        lines = [
            (line.rstrip(b"\n"), f"{path.name}:{number}")
            for path in sorted((cluster / node["node_id"]).iterdir())
            for number, line in enumerate(path.read_bytes().splitlines(keepends=True))
        ]
        for start in range(0, len(lines), LINES_PER_BATCH):
            rows = [
                row
                for line, position in lines[start : start + LINES_PER_BATCH]
                if (row := parse_line("sglang_export", line, who, position)) is not None
            ]
            table = pa.Table.from_batches([to_batch(rows)])
            yield LegBatch(table=table, sender=node["node_id"])


def metered(cluster: Path, *, times: int = 1) -> Till:
    """A till that got every batch of the cluster `times` times, at 8 / 2 / 28 CNY."""
    till = Till(rules(Catalogue([book(GLM)], "list")))
    for batch in batches(cluster):
        for _ in range(times):
            append_legs(till.cursor, [batch], NOW)
            till.settle()
    return till


def totals(till: Till) -> tuple[int, ...]:
    """Requests, input, cached and output tokens of what is billed."""
    (row,) = till.rows(
        "sum(requests)::BIGINT, sum(uncached_tokens + cached_tokens)::BIGINT, "
        "sum(cached_tokens)::BIGINT, sum(output_tokens + reasoning_tokens)::BIGINT",
        "usage_hourly",
        where="disposition = 'billed'",
    )
    return row
