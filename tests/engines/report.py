"""The report of the last live runs: docs/engines/live-report.md, put together from its parts."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.engines.engine import FOLDER
from tests.engines.run import Ran, Tokens

PAGE = Path(__file__).resolve().parents[2] / "docs" / "engines" / "live-report.md"
PARTS = FOLDER / "report"
HEAD = """\
# Live report

Written by `make test-engines`: real engines on a CPU, a real sidecar beside each, a real
`tokentill serve`. The model has random weights and one token for each character, so input and
output are known before a request is sent; where not, the client's usage block is the truth.
Counts are tokens: input / cached / output.
Not run: GPUs; SGLang split into prefill and decode, whose 0.5.23 moves the KV cache from GPU memory
only (captured lines of a pair are tests instead); SGLang's embeddings; both Rust frontends.
Pages: [vLLM](vllm.md), [SGLang](sglang.md), [PD accounting](../pd-accounting.md).
"""


def keep(
    name: str,
    title: str,
    ran: Sequence[tuple[Ran, Sequence[Tokens], Sequence[Tokens]]],
    rows: Mapping[tuple[str, str], Mapping[str, Any]],
) -> None:
    """Keep one run's part, write the page from all. ran: each with what is right, and billed."""
    same = sum(list(right) == list(billed) for _, right, billed in ran)
    day = datetime.now(UTC).date()
    lines = [f"## {title}", "", f"{day}: {same} of {len(ran)} cases billed as they must be.", ""]
    lines += ["| case | right | billed | engines counted (input / output) |"]
    lines += ["|---|---|---|---|"]
    for each, right, billed in ran:
        mark = _shown(billed) if list(right) != list(billed) else "the same"
        counted = "; ".join(
            f"{node} {counts['input']:,} / {counts['output']:,}"
            for node, counts in each.moved.items()
        )
        lines.append(f"| {each.case.name} | {_shown(right)} | {mark} | {counted} |")
    lines += ["", "| server | measure | engine counted | explained by |", "|---|---|---|---|"]
    for (node, measure), row in rows.items():
        causes = ", ".join(
            f"{cause} {tokens:,}" for cause, tokens in row["causes"].items() if tokens
        )
        lines.append(f"| {node} | {measure} | {row['counted'] or 0:,} | {causes} |")
    PARTS.mkdir(parents=True, exist_ok=True)
    (PARTS / f"{name}.json").write_text(json.dumps("\n".join(lines)), encoding="utf-8")
    parts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(PARTS.glob("*.json"))]
    PAGE.write_text("\n".join([HEAD, *(f"{part}\n" for part in parts)]), encoding="utf-8")


def _shown(tokens: Sequence[Tokens]) -> str:
    """`780 / 0 / 8`, with a count where several are alike; a dash for nothing."""
    texts = [" / ".join(f"{count:,}" for count in each) for each in tokens]
    alike = [f"{texts.count(text)} × {text}" if texts.count(text) > 1 else text for text in texts]
    return ", ".join(dict.fromkeys(alike)) or "–"
