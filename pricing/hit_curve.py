"""Hit ratio against cache size, exact, from the block ids of a trace (docs/formulas.md §9.4).

The cache keeps the most recently used blocks; of the blocks of one request the prefix counts as
more recent than the tail, as engines evict. Such a cache of any size holds the top of one list, so
one pass gives every size: a block hits if its place in the list (its stack distance) is at most
the size. Blocks come as runs of consecutive ids, so a request costs a few steps, not one per block.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

BYTES_PER_GIB = 2**30


@dataclass(frozen=True, slots=True)
class RequestBlocks:
    """The prompt of one request as blocks of cached tokens, first to last.

    runs: (first id, number of blocks), each run without gap. namespace: ids are equal only within
    it. input_tokens: may end inside the last block, or after it (a rest that is never cached).
    """

    namespace: str
    runs: Sequence[tuple[int, int]]
    input_tokens: int


@dataclass(frozen=True, slots=True)
class HitCurve:
    """Hit tokens for every cache size. cumulative[n]: tokens that hit in a cache of n blocks."""

    block_tokens: int
    input_tokens: int
    cumulative: Sequence[int]

    def hit_tokens(self, blocks: int) -> int:
        """Tokens that hit in a cache of `blocks` blocks."""
        return self.cumulative[min(max(blocks, 0), len(self.cumulative) - 1)]

    def hit_ratio(self, blocks: int) -> Fraction | None:
        """Token-weighted hit ratio in a cache of `blocks` blocks; None without input tokens."""
        if not self.input_tokens:
            return None
        return Fraction(self.hit_tokens(blocks), self.input_tokens)

    def blocks_needed(self) -> int:
        """The smallest cache, in blocks, that hits as much as an infinite one."""
        return next(n for n, hits in enumerate(self.cumulative) if hits == self.cumulative[-1])

    def blocks_in(self, gib: Fraction | int, kv_bytes_per_token: int) -> int:
        """Whole blocks that `gib` GiB of KV cache hold."""
        return int(Fraction(gib) * BYTES_PER_GIB / (self.block_tokens * kv_bytes_per_token))


def runs_of(ids: Iterable[int]) -> list[tuple[int, int]]:
    """Ids of a request as runs of consecutive ids: (first id, number of blocks)."""
    runs: list[tuple[int, int]] = []
    for block in ids:
        if runs and block == runs[-1][0] + runs[-1][1]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((block, 1))
    return runs


def hit_curve(requests: Sequence[RequestBlocks], *, block_tokens: int) -> HitCurve:
    """The curve of `requests`, in order of arrival; block_tokens: tokens per block."""
    recency = _Recency(sum(len(request.runs) for request in requests))
    spaces: dict[str, _Space] = {}
    found: list[tuple[int, int, int]] = []  # distances [first, last) that gain tokens
    slot = 0
    for request in requests:
        space = spaces.setdefault(request.namespace, _Space())
        held = [piece for run in request.runs for piece in space.held(*run)]
        for piece in held:
            first = recency.newer(piece.slot) + piece.newer_in_slot + 1
            found.append((first, first + piece.blocks, block_tokens))
        missing = _missing_tokens(request, block_tokens)
        if missing and held and held[-1].end == sum(request.runs[-1]):
            found.append((found[-1][1] - 1, found[-1][1], -missing))
        for piece in held:
            recency.add(piece.slot, -piece.blocks)
        for start, blocks in reversed(request.runs):
            slot += 1
            space.put(start, start + blocks, slot)
            recency.add(slot, blocks)
    return HitCurve(
        block_tokens=block_tokens,
        input_tokens=sum(request.input_tokens for request in requests),
        cumulative=_cumulative(found),
    )


def _missing_tokens(request: RequestBlocks, block_tokens: int) -> int:
    """Tokens that the last block lacks; 0 where all blocks are full."""
    return max(0, sum(blocks for _, blocks in request.runs) * block_tokens - request.input_tokens)


def _cumulative(found: Iterable[tuple[int, int, int]]) -> list[int]:
    """Tokens that hit at a distance of at most n, for n = 0, 1, …"""
    rows = list(found)
    changes = [0] * (max((end for _, end, _ in rows), default=1) + 1)
    for start, end, tokens in rows:
        changes[start] += tokens
        changes[end] -= tokens
    at_distance = list(accumulate(changes))[:-1]
    return list(accumulate(at_distance))


@dataclass(frozen=True, slots=True)
class _Piece:
    """Blocks [start, end) that were last used together, in `slot` of the recency list."""

    start: int
    end: int
    slot: int
    newer_in_slot: int

    @property
    def blocks(self) -> int:
        return self.end - self.start


class _Recency:
    """Blocks per slot of the recency list, later slots more recent (a Fenwick tree)."""

    def __init__(self, slots: int) -> None:
        self._tree = [0] * (slots + 1)
        self._total = 0

    def add(self, slot: int, blocks: int) -> None:
        self._total += blocks
        while slot < len(self._tree):
            self._tree[slot] += blocks
            slot += slot & -slot

    def newer(self, slot: int) -> int:
        """Blocks in later slots."""
        older = 0
        while slot:
            older += self._tree[slot]
            slot &= slot - 1
        return self._total - older


@dataclass(slots=True)
class _Space:
    """The blocks of one namespace as disjoint pieces, sorted by id."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)
    origins: dict[int, int] = field(default_factory=dict)  # first id of each slot's run

    def held(self, start: int, blocks: int) -> list[_Piece]:
        """The known parts of [start, start + blocks), in order."""
        end = start + blocks
        pieces: list[_Piece] = []
        for index in range(self._first(start), len(self.starts)):
            if self.starts[index] >= end:
                break
            left, slot = max(start, self.starts[index]), self.slots[index]
            newer = left - self.starts[index] + self._left_in_slot(index, slot)
            pieces.append(_Piece(left, min(end, self.ends[index]), slot, newer))
        return pieces

    def put(self, start: int, end: int, slot: int) -> None:
        """Make [start, end) one piece of `slot`; what it covers of others is cut away."""
        self.origins[slot] = start
        first = last = self._first(start)
        while last < len(self.starts) and self.starts[last] < end:
            last += 1
        rows = [(start, end, slot)]
        if first < last:
            if self.starts[first] < start:
                rows.insert(0, (self.starts[first], start, self.slots[first]))
            if self.ends[last - 1] > end:
                rows.append((end, self.ends[last - 1], self.slots[last - 1]))
        self.starts[first:last] = [row[0] for row in rows]
        self.ends[first:last] = [row[1] for row in rows]
        self.slots[first:last] = [row[2] for row in rows]

    def _first(self, start: int) -> int:
        """Index of the first piece that ends after `start`."""
        index = bisect_right(self.starts, start)
        return index - 1 if index and self.ends[index - 1] > start else index

    def _left_in_slot(self, index: int, slot: int) -> int:
        """Blocks of the same slot with smaller ids: they are its prefix, so more recent."""
        whole = 0
        while index and self.starts[index - 1] >= self.origins[slot]:
            index -= 1
            if self.slots[index] == slot:
                whole += self.ends[index] - self.starts[index]
        return whole
