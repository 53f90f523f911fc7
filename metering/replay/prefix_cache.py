"""Prefix cache: how many leading tokens of a prompt are already known.

The rule is that of the published control totals of the Mooncake traces: requests in file order,
blocks known as soon as seen, cached = min(leading known blocks × block size, input).
"""

from bisect import bisect_left, bisect_right
from heapq import heapify, heappop, heappush

from metering.replay.request import TraceRequest

SCOPE_STRIDE = 2**48  # block ids of different scopes never meet
STALE_ENTRIES_MAX = 1024


class PrefixCache:
    """What one prefill node, or a pool that several share, remembers of earlier prompts.

    It holds `capacity_tokens` tokens (None: no end) and forgets what was used least recently, the
    end of a prompt before its beginning. Known ids are kept as segments that were used together,
    so work and memory follow the runs of a prompt, not its blocks.
    """

    def __init__(self, capacity_tokens: int | None = None) -> None:
        self._capacity_tokens = capacity_tokens
        self._scopes: dict[str, int] = {}
        self._starts: list[int] = []  # of the segments, sorted; segments never overlap
        self._segments: dict[int, tuple[int, int]] = {}  # start: (end, when it was used)
        self._by_age: list[tuple[int, int]] = []  # a heap of (when, -start); some are stale
        self._uses = 0
        self._blocks = 0

    def cached_tokens(self, request: TraceRequest) -> int:
        """Tokens of the prompt's beginning that are known now. Changes nothing."""
        blocks, offset = 0, self._offset(request)
        for first, count in request.block_runs:
            found = self._leading(offset + first, count)
            blocks += found
            if found < count:
                break
        return min(blocks * request.block_tokens, request.input_tokens)

    def admit(self, request: TraceRequest) -> int:
        """The same count; afterwards the whole prompt is known, as far as there is room."""
        cached_tokens, offset = self.cached_tokens(request), self._offset(request)
        for first, count in reversed(request.block_runs):
            self._use(offset + first, offset + first + count)
        if self._capacity_tokens is not None:
            self._forget(self._blocks - self._capacity_tokens // request.block_tokens)
        return cached_tokens

    def _offset(self, request: TraceRequest) -> int:
        return self._scopes.setdefault(request.cache_scope, len(self._scopes)) * SCOPE_STRIDE

    def _leading(self, first: int, count: int) -> int:
        """How many of `count` ids from `first` on are known before one is missing."""
        known_until = first
        place = max(bisect_right(self._starts, first) - 1, 0)
        while known_until < first + count and place < len(self._starts):
            start = self._starts[place]
            end, _ = self._segments[start]
            if not start <= known_until < end:
                break
            known_until, place = end, place + 1
        return min(known_until - first, count)

    def _use(self, first: int, end: int) -> None:
        """Know the ids from `first` to before `end`, as one segment used now."""
        low = bisect_left(self._starts, first)
        if low and self._segments[self._starts[low - 1]][0] > first:
            low -= 1
        high = bisect_left(self._starts, end)
        self._uses += 1
        pieces = [(first, end, self._uses)]
        for start in self._starts[low:high]:
            stop, used = self._segments.pop(start)
            self._blocks -= min(stop, end) - max(start, first)
            if start < first:
                pieces.append((start, first, used))
            if stop > end:
                pieces.append((end, stop, used))
        self._blocks += end - first
        self._starts[low:high] = sorted(start for start, _, _ in pieces)
        for start, stop, used in pieces:
            self._remember(start, stop, used)

    def _remember(self, start: int, end: int, used: int) -> None:
        self._segments[start] = end, used
        if self._capacity_tokens is not None:
            heappush(self._by_age, (used, -start))
            if len(self._by_age) > 2 * len(self._segments) + STALE_ENTRIES_MAX:
                self._by_age = [(when, -at) for at, (_, when) in self._segments.items()]
                heapify(self._by_age)

    def _forget(self, excess_blocks: int) -> None:
        """Drop that many ids: of the segment used longest ago, from its end."""
        while excess_blocks > 0:
            used, negative_start = heappop(self._by_age)
            start = -negative_start
            end, last_used = self._segments.get(start, (0, 0))
            if last_used != used:
                continue  # stale
            kept_until = max(start, end - excess_blocks)
            self._blocks -= end - kept_until
            excess_blocks -= end - kept_until
            if kept_until > start:
                self._remember(start, kept_until, used)
            else:
                del self._segments[start]
                del self._starts[bisect_left(self._starts, start)]
