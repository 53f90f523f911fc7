"""Router: which prefill and which decode node serve a request."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from metering.replay.prefix_cache import PrefixCache
from metering.replay.request import TraceRequest

MATCH_RATIO_MIN: Final = 0.3  # share of the prompt that makes a cache worth waiting for
WAIT_SECONDS_MAX: Final = 10.0  # how much longer a node with the better cache may keep one waiting


@dataclass(slots=True)
class PrefillNode:
    """Computes one prompt after the other. free_at: seconds since the trace's beginning."""

    cache: PrefixCache
    free_at: float = 0.0
    served_requests: int = 0

    def backlog_seconds(self, at: float) -> float:
        """How long a prompt that comes `at` would wait."""
        return max(self.free_at - at, 0.0)


@dataclass(slots=True)
class DecodeNode:
    """Decodes many requests side by side; knows when each of them ends."""

    ends: list[float] = field(default_factory=list)  # a heap
    served_requests: int = 0

    def running_requests(self, at: float) -> int:
        """Requests in decoding `at`; `at` never goes back."""
        while self.ends and self.ends[0] <= at:
            heappop(self.ends)
        return len(self.ends)

    def occupy(self, until: float) -> None:
        """One more request, that ends at `until`."""
        heappush(self.ends, until)
        self.served_requests += 1


def choose_prefill(nodes: Sequence[PrefillNode], request: TraceRequest, at: float) -> int:
    """The node that knows most of the prompt, unless another is free much sooner."""

    def idlest(index: int) -> tuple[float, int]:
        return nodes[index].backlog_seconds(at), nodes[index].served_requests

    soonest = min(range(len(nodes)), key=idlest)
    known = [node.cache.cached_tokens(request) for node in nodes]
    best = max(range(len(nodes)), key=known.__getitem__)
    is_worth_it = known[best] > known[soonest] and (
        known[best] >= MATCH_RATIO_MIN * request.input_tokens
    )
    waits = nodes[best].backlog_seconds(at) - nodes[soonest].backlog_seconds(at)
    return best if is_worth_it and waits <= WAIT_SECONDS_MAX else soonest


def choose_decode(nodes: Sequence[DecodeNode], at: float) -> int:
    """The node with the fewest running requests, then the one that served fewest."""

    def load(index: int) -> tuple[int, int]:
        return nodes[index].running_requests(at), nodes[index].served_requests

    return min(range(len(nodes)), key=load)
