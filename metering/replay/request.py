"""TraceRequest: one request of a trace or of the built-in workload, before any server sees it."""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

BlockRun = tuple[int, int]  # (first block id, how many consecutive ids)


class Customer(NamedTuple):
    """Who asks: the three custom labels that a gateway sets on its requests."""

    tenant_id: str
    project_id: str
    api_key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest:
    """One request. arrival_seconds: since the trace's beginning; token counts in tokens.

    block_runs: ids of the prompt's blocks of `block_tokens` tokens each, run-length coded; equal
    ids within one `cache_scope` mean equal prefixes up to there. Empty: nothing is known about
    prefixes, so nothing can hit. customer: None leaves the choice to the replay.
    """

    arrival_seconds: float
    input_tokens: int
    output_tokens: int
    block_runs: tuple[BlockRun, ...] = ()
    block_tokens: int = 1
    cache_scope: str = ""
    model: str | None = None
    customer: Customer | None = None


Source = Callable[[], Iterator[TraceRequest]]  # each call begins the same requests anew


def runs_of(block_ids: Iterable[int]) -> tuple[BlockRun, ...]:
    """`block_ids` as runs of consecutive ids, in their order."""
    runs: list[BlockRun] = []
    first = count = 0
    for block_id in block_ids:
        if count and block_id == first + count:
            count += 1
            continue
        if count:
            runs.append((first, count))
        first, count = block_id, 1
    if count:
        runs.append((first, count))
    return tuple(runs)


def random_of(seed: int, purpose: str) -> random.Random:
    """Reproducible randomness; each purpose has its own, so that one never shifts another."""
    return random.Random(f"{seed}:{purpose}")  # noqa: S311  # a simulation must repeat, not hide
