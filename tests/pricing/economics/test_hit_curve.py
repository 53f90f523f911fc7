"""The hit-ratio curve against a simulated LRU cache and the published counts of public traces."""

from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.formula import TokenPrices, throughput_of_counts, window_revenue
from pricing.hit_curve import HitCurve, RequestBlocks, hit_curve, runs_of

BLOCK = 4
ranges = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 8)), min_size=1, max_size=3)
distinct_ids = ranges.map(
    lambda found: list(dict.fromkeys(i for start, n in found for i in range(start, start + n)))
)
traces = st.lists(st.tuples(st.sampled_from("ab"), distinct_ids, st.integers(0, 3)), max_size=12)


def as_requests(trace):
    """Requests whose last block lacks 0 to 3 tokens."""
    return [
        RequestBlocks(space, runs_of(ids), len(ids) * BLOCK - missing)
        for space, ids, missing in trace
    ]


def simulated_hits(trace, blocks):
    """Hit tokens of a real LRU cache of `blocks` blocks, the prefix of a request most recent."""
    cache, hits = OrderedDict(), 0
    for space, ids, missing in trace:
        for block in ids:
            last = block == ids[-1]
            hits += (BLOCK - missing * last) * ((space, block) in cache)
        for block in reversed(ids):
            cache[space, block] = True
            cache.move_to_end((space, block))
        while len(cache) > blocks:
            cache.popitem(last=False)
    return hits


@given(traces)
def test_every_size_equals_a_simulated_cache(trace):
    """Property: whatever is asked for in whatever order, for every cache size at once."""
    curve = hit_curve(as_requests(trace), block_tokens=BLOCK)
    for blocks in range(45):
        assert curve.hit_tokens(blocks) == simulated_hits(trace, blocks)


def test_a_small_trace_by_hand():
    """1 2 3, then 1 2 4, then 3: at 2 blocks 1 and 2 hit; 3 is fourth in the list."""
    requests = [RequestBlocks("", runs_of(ids), len(ids)) for ids in ([1, 2, 3], [1, 2, 4], [3])]
    curve = hit_curve(requests, block_tokens=1)
    assert [curve.hit_tokens(n) for n in range(6)] == [0, 1, 2, 2, 3, 3]
    assert curve.blocks_needed() == 4
    assert curve.hit_ratio(2) == Fraction(2, 7)


def test_the_ends_of_a_run_are_apart_in_the_list():
    """1–5, then 3, then 4 5: 4 is behind 3, 1 and 2, so it hits from four blocks on."""
    requests = [RequestBlocks("", runs_of(ids), len(ids)) for ids in ([1, 2, 3, 4, 5], [3], [4, 5])]
    curve = hit_curve(requests, block_tokens=1)
    assert [curve.hit_tokens(n) for n in range(6)] == [0, 0, 0, 1, 2, 3]


def test_runs_of_ids():
    """Consecutive ids become one run."""
    assert runs_of([0, 1, 2, 14, 15, 7]) == [(0, 3), (14, 2), (7, 1)]
    assert runs_of([]) == []


def test_an_empty_trace_has_no_ratio():
    """No tokens: unknown, not 0."""
    curve = hit_curve([], block_tokens=BLOCK)
    assert curve.hit_ratio(10) is None
    assert curve.blocks_needed() == 0


def test_blocks_in_gib():
    """By hand: 512 tokens of 51,168 bytes are 26,198,016 bytes: 40 whole blocks in a GiB."""
    curve = HitCurve(512, 0, [0])
    assert curve.blocks_in(1, 51_168) == 40


def mooncake(shared, name):
    """The curve of a Mooncake trace, and its output tokens."""
    columns = pq.read_table(shared / f"data/traces/mooncake_{name}.parquet").to_pydict()
    requests = [
        RequestBlocks("", runs_of(ids), tokens)
        for ids, tokens in zip(columns["hash_ids"], columns["input_length"], strict=True)
    ]
    return hit_curve(requests, block_tokens=512), sum(columns["output_length"])


@pytest.mark.parametrize(
    ("name", "tokens", "hits", "output", "ratio", "ledger"),
    [
        ("conversation", 144_793_823, 54_098_411, 4_122_048, 0.37362, "949.177462"),
        ("synthetic", 61_194_628, 39_852_661, 595_432, 0.65124, "267.113154"),
    ],
)
def test_mooncake_with_an_infinite_cache(  # noqa: PLR0917 - the columns of a table
    shared, name, tokens, hits, output, ratio, ledger
):
    """Published counts (economics.md §2d2), and the ledger at 8/2/28 through the formula."""
    curve, output_tokens = mooncake(shared, name)
    assert (curve.input_tokens, curve.cumulative[-1], output_tokens) == (tokens, hits, output)
    assert float(curve.hit_ratio(10**9)) == pytest.approx(ratio, abs=5e-6)
    load = throughput_of_counts(
        3_600, input_tokens=tokens, cached_tokens=hits, output_tokens=output
    )
    prices = TokenPrices(input_price=8, cached_price=2, output_price=28)
    assert window_revenue(3_600, load, prices=prices).total == Fraction(Decimal(ledger))


def test_three_million_tokens_give_less_than_half(shared):
    """Mooncake: a local cache of 3 M tokens reaches less than half of what 50 M reach."""
    curve, _ = mooncake(shared, "conversation")
    local, global_pool = (curve.hit_ratio(tokens // 512) for tokens in (3_000_000, 50_000_000))
    assert local < global_pool / 2
    assert float(global_pool) == pytest.approx(0.37362, abs=0.005)


def test_agentic_trace_within_its_sessions(shared):
    """5,815,020,032 of 6,037,445,403 tokens hit within a trace (0.963159), over 90 M blocks."""
    columns = pq.read_table(
        shared / "data/traces/kvct_agentic_requests.parquet",
        columns=["trace_id", "input_tokens", "hash_run_start", "hash_run_len"],
    ).to_pydict()
    requests = [
        RequestBlocks(space, list(zip(starts, lengths, strict=True)), tokens)
        for space, tokens, starts, lengths in zip(*columns.values(), strict=True)
    ]
    curve = hit_curve(requests, block_tokens=64)
    assert (curve.input_tokens, curve.cumulative[-1]) == (6_037_445_403, 5_815_020_032)
