"""Prefix cache: how many leading tokens of a prompt are already known.

The rule is that of the published control totals of the Mooncake traces: requests in file order,
blocks known as soon as seen, cached = min(leading known blocks × block size, input).
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from itertools import takewhile
from typing import Protocol

from metering.replay.request import BlockRun, TraceRequest

SCOPE_STRIDE = 2**48  # block ids of different scopes never meet


class PrefixCache(Protocol):
    """What one prefill node, or a pool that several share, remembers of earlier prompts."""

    def cached_tokens(self, request: TraceRequest) -> int:
        """Tokens of the prompt's beginning that are known now. Changes nothing."""

    def admit(self, request: TraceRequest) -> int:
        """The same count; afterwards every block of the prompt is known."""


def prefix_cache(capacity_tokens: int | None) -> PrefixCache:
    """A cache of `capacity_tokens` tokens that drops what was used least recently; None: no end."""
    return InfiniteCache() if capacity_tokens is None else LruCache(capacity_tokens)


class InfiniteCache:
    """Forgets nothing. Known ids are kept as intervals, so memory follows runs, not blocks."""

    def __init__(self) -> None:
        self._known: dict[str, _Intervals] = {}

    def cached_tokens(self, request: TraceRequest) -> int:
        """Known leading tokens of the prompt."""
        known = self._known.get(request.cache_scope)
        if known is None:
            return 0
        blocks = 0
        for first, count in request.block_runs:
            found = known.leading(first, count)
            blocks += found
            if found < count:
                break
        return min(blocks * request.block_tokens, request.input_tokens)

    def admit(self, request: TraceRequest) -> int:
        """Known leading tokens of the prompt, whose blocks are then remembered for ever."""
        cached = self.cached_tokens(request)
        if request.block_runs:
            known = self._known.setdefault(request.cache_scope, _Intervals())
            for first, count in request.block_runs:
                known.add(first, count)
        return cached


class _Intervals:
    """A set of integers as sorted, disjoint, non-touching half-open intervals."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def leading(self, first: int, count: int) -> int:
        """How many of `count` integers from `first` on are in the set before one is missing."""
        at = bisect_right(self._starts, first) - 1
        if at < 0 or self._ends[at] <= first:
            return 0
        return min(self._ends[at] - first, count)

    def add(self, first: int, count: int) -> None:
        """Put `count` integers from `first` on into the set."""
        end = first + count
        low = bisect_left(self._ends, first)  # the first interval that reaches `first`
        high = bisect_right(self._starts, end)  # behind the last one that starts by `end`
        if low < high:
            first = min(first, self._starts[low])
            end = max(end, self._ends[high - 1])
        self._starts[low:high] = [first]
        self._ends[low:high] = [end]


class LruCache:
    """Holds `capacity_tokens` tokens. A prompt's first blocks are the last to be forgotten."""

    def __init__(self, capacity_tokens: int) -> None:
        self._capacity_tokens = capacity_tokens
        self._blocks: OrderedDict[int, None] = OrderedDict()  # oldest first
        self._scopes: dict[str, int] = {}

    def cached_tokens(self, request: TraceRequest) -> int:
        """Known leading tokens of the prompt."""
        blocks = 0
        for first, count in self._runs(request):
            known = takewhile(self._blocks.__contains__, range(first, first + count))
            found = sum(1 for _ in known)
            blocks += found
            if found < count:
                break
        return min(blocks * request.block_tokens, request.input_tokens)

    def admit(self, request: TraceRequest) -> int:
        """Known leading tokens of the prompt, whose blocks become the most recently used."""
        cached = self.cached_tokens(request)
        blocks = self._blocks
        for first, count in reversed(self._runs(request)):
            for block in range(first + count - 1, first - 1, -1):
                blocks[block] = None
                blocks.move_to_end(block)
        for _ in range(len(blocks) - self._capacity_tokens // request.block_tokens):
            blocks.popitem(last=False)
        return cached

    def _runs(self, request: TraceRequest) -> list[BlockRun]:
        scope = self._scopes.setdefault(request.cache_scope, len(self._scopes))
        return [(scope * SCOPE_STRIDE + first, count) for first, count in request.block_runs]
