"""Runs cases against engines, and compares what was billed with what is right."""

import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tests.engines.ask import Got, chat, chat_tokens, send
from tests.engines.cases import Bill, Case
from tests.engines.engine import Engine
from tests.engines.till import Till

SCRAPE_SECONDS_MAX = 2.0
Tokens = tuple[int, int, int]  # input, cached, output
Counts = dict[str, int]


@dataclass(frozen=True)
class Ran:
    """One case, what its clients got, and how far each engine's counters moved meanwhile."""

    case: Case
    got: Sequence[Got]
    started_at: datetime
    ended_at: datetime
    moved: dict[str, Counts]


def begin() -> datetime:
    """Now, and nothing is asked until every scrape that began before it is over."""
    now = datetime.now(UTC)
    time.sleep(SCRAPE_SECONDS_MAX)
    return now


def run(
    cases: Sequence[Case],
    url: str,
    engines: Sequence[Engine],
    *,
    forget: Callable[[], None] | None = None,
) -> list[Ran]:
    """One case after the other; the next one begins when the engines are quiet.

    forget: makes the engine's prefix cache empty before each case that is not to find it warm.
    """
    ran = []
    before = {engine.node: engine.quiet() for engine in engines}
    for case in cases:
        if forget is not None and not case.warm:
            forget()
        started_at = datetime.now(UTC) if ran else begin()
        with ThreadPoolExecutor(len(case.asks) if case.at_once else 1) as clients:
            got = list(clients.map(lambda ask: send(url, ask), case.asks))
        after = {engine.node: engine.quiet() for engine in engines}
        moved = {
            node: {kind: count - before[node][kind] for kind, count in counts.items()}
            for node, counts in after.items()
        }
        ran.append(Ran(case, got, started_at, datetime.now(UTC), moved))
        before = after
    return ran


def right(ran: Ran) -> list[Tokens]:
    """What must be billed: by hand, and where the hand cannot know, by the client's usage block."""
    usages = [got.usage or {} for got in ran.got]
    told = [_told(usage) for usage in usages] + [(0, 0, 0)] * len(ran.case.bills)
    found = [_filled(bill, usage) for bill, usage in zip(ran.case.bills, told, strict=False)]
    return sorted(found)


def _filled(bill: Bill, told: Tokens) -> Tokens:
    known = (bill.input_tokens, bill.cached_tokens, bill.output_tokens)
    filled = [one if one is not None else other for one, other in zip(known, told, strict=True)]
    return (filled[0], filled[1], filled[2])


def _told(usage: dict[str, Any]) -> Tokens:
    """A usage block of OpenAI's, or of Anthropic's, whose input excludes what was cached."""
    if "input_tokens" in usage:
        cached = usage.get("cache_read_input_tokens") or 0
        created = usage.get("cache_creation_input_tokens") or 0
        return usage["input_tokens"] + cached + created, cached, usage["output_tokens"]
    details = usage.get("prompt_tokens_details") or {}
    return (
        usage.get("prompt_tokens", 0),
        details.get("cached_tokens") or 0,
        usage.get("completion_tokens", 0),
    )


def billed(ran: Ran, till: Till) -> list[Tokens]:
    """What was billed of the requests that arrived while the case ran."""
    window = {"start_at": ran.started_at.isoformat(), "end_at": ran.ended_at.isoformat()}
    rows = till.get("/v1/requests", disposition="billed", limit=200, **window)
    return sorted(
        (
            row["uncached_tokens"] + row["cached_tokens"] + row["unsplit_tokens"],
            row["cached_tokens"],
            row["output_tokens"],
        )
        for row in rows
    )


def moved(ran: Sequence[Ran], node: str, kind: str) -> int:
    """How far a counter moved in these cases."""
    return sum(each.moved[node][kind] for each in ran)


def explained(till: Till, first: Ran) -> dict[tuple[str, str], dict[str, Any]]:
    """Reconciliation from `first` to now: (node, measure) → its row, causes as a mapping."""
    window = {"start_at": first.started_at.isoformat(), "end_at": datetime.now(UTC).isoformat()}
    rows = till.get("/v1/reconciliation", **window)
    return {
        (row["node_id"], row["measure"]): row
        | {"causes": {each["cause"]: each["tokens"] for each in row["explained"] if each["tokens"]}}
        for row in rows
    }


def killed_in_a_stream(engine: Engine, till: Till) -> tuple[Ran, Ran]:
    """SIGKILL while a client reads a stream, a new start, one more chat: the cut one, the chat."""
    begun = begin()
    cut = replace(chat("r: cut off", 30_000, stream=True), leave_after=20)
    got = send(engine.url, cut, lambda: engine.end(signal.SIGKILL))
    engine.start().ready()
    lost = Ran(Case("killed in a stream", [cut]), [got], begun, datetime.now(UTC), {})
    content, tokens = "s: again", 4
    chatted = Case(
        "after the restart", [chat(content, tokens)], [Bill(chat_tokens(content), tokens)]
    )
    (again,) = run([chatted], engine.url, [engine])
    till.settled()
    return lost, again
