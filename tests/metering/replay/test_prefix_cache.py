"""Prefix cache: the published control totals, a plain set as oracle, forgetting by hand."""

from collections import OrderedDict, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.replay.prefix_cache import PrefixCache
from metering.replay.request import runs_of
from metering.replay.traces import read_trace
from tests.metering.replay.parts import request

PUBLISHED = [("mooncake_conversation", 54_098_411), ("mooncake_synthetic", 39_852_661)]


@pytest.mark.parametrize(("name", "cached_tokens"), PUBLISHED)
@pytest.mark.parametrize("capacity_tokens", [None, 10**9])
def test_mooncake_hits_are_as_published(
    shared: Path, name: str, cached_tokens: int, capacity_tokens: int | None
):
    """../shared/data/README.md: hits of an infinite cache; one that never fills is no different."""
    cache = PrefixCache(capacity_tokens)
    requests = read_trace(shared / f"data/traces/{name}.parquet")
    assert sum(cache.admit(r) for r in requests) == cached_tokens


def test_some_conversations_hit_whole(shared: Path):
    """118 requests of the conversation trace have cached = input: a finding, not an error."""
    cache = PrefixCache()
    requests = read_trace(shared / "data/traces/mooncake_conversation.parquet")
    assert sum(cache.admit(r) == r.input_tokens for r in requests) == 118


def test_the_agentic_trace_agrees_with_its_own_totals(shared: Path):
    """Per trace_id with the sessions file; all hits together as in ../shared/data/README.md."""
    folder = shared / "data/traces"
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    cache, cached_tokens = PrefixCache(), 0
    for asked in read_trace(folder / "kvct_agentic_requests.parquet"):
        totals[asked.cache_scope][0] += asked.input_tokens
        totals[asked.cache_scope][1] += asked.output_tokens
        cached_tokens += cache.admit(asked)
    columns = ["trace_id", "source_combined_input", "source_combined_output"]
    sessions = pq.read_table(folder / "kvct_agentic_sessions.parquet", columns=columns).to_pylist()
    assert totals == {s[columns[0]]: [s[columns[1]], s[columns[2]]] for s in sessions}
    assert cached_tokens == 5_815_020_032


@pytest.mark.parametrize("capacity_tokens", [None, 10**6])
def test_a_hit_ends_at_the_first_unknown_block(capacity_tokens: int | None):
    """By hand: blocks 0–4 are known, then 0, 1, 2 and 7 are asked for: 3 × 100 tokens hit."""
    cache = PrefixCache(capacity_tokens)
    assert cache.admit(request(blocks=[(0, 5)])) == 0
    asked = request(blocks=[(0, 3), (7, 1), (3, 2)])
    assert (cache.cached_tokens(asked), cache.admit(asked)) == (300, 300)
    assert cache.admit(asked) == 600


@pytest.mark.parametrize("capacity_tokens", [None, 10**6])
def test_a_hit_is_never_longer_than_the_prompt(capacity_tokens: int | None):
    """By hand: 10 known blocks of 100 tokens, but the prompt ends after 950."""
    cache = PrefixCache(capacity_tokens)
    cache.admit(request(blocks=[(0, 10)]))
    assert cache.admit(request(blocks=[(0, 10)], input_tokens=950)) == 950


@pytest.mark.parametrize("capacity_tokens", [None, 10**6])
def test_scopes_do_not_share(capacity_tokens: int | None):
    """The agentic trace's block ids mean something only within their trace_id."""
    cache = PrefixCache(capacity_tokens)
    cache.admit(request(blocks=[(0, 5)], cache_scope="trace-1"))
    assert cache.admit(request(blocks=[(0, 5)], cache_scope="trace-2")) == 0


def test_the_least_recently_used_block_goes_first():
    """By hand, room for 6 blocks: 0–3 and 10–12 leave 0, 1, 2 and 10–12, as a prompt's beginning is
    used last."""
    cache = PrefixCache(600)
    cache.admit(request(blocks=[(0, 4)]))
    cache.admit(request(blocks=[(10, 3)]))
    assert cache.cached_tokens(request(blocks=[(0, 4)])) == 300
    assert cache.cached_tokens(request(blocks=[(10, 3)])) == 300


def test_a_cache_smaller_than_a_block_remembers_nothing():
    """By hand: 99 tokens hold no block of 100."""
    cache = PrefixCache(99)
    assert [cache.admit(request(blocks=[(0, 4)])) for _ in range(2)] == [0, 0]


block_lists = st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=12)


@given(block_lists, st.one_of(st.none(), st.integers(1, 400)))
def test_segments_equal_a_list_of_blocks(prompts: list[list[int]], capacity_tokens: int | None):
    """Independent implementation: single blocks of 10 tokens in order of use, oldest first."""
    cache = PrefixCache(capacity_tokens)
    blocks: OrderedDict[int, None] = OrderedDict()
    for ids in prompts:
        asked = request(blocks=runs_of(ids), block_tokens=10)
        leading = next((i for i, block in enumerate(ids) if block not in blocks), len(ids))
        assert cache.admit(asked) == 10 * leading
        for block in reversed(ids):
            blocks[block] = None
            blocks.move_to_end(block)
        while capacity_tokens is not None and 10 * len(blocks) > capacity_tokens:
            blocks.popitem(last=False)


def test_a_full_cache_does_not_grow():
    """What is stale is thrown away: 20,000 uses of 10 blocks leave a bounded heap."""
    cache = PrefixCache(1000)
    for i in range(20_000):
        cache.admit(request(blocks=[(i % 3, 8)]))
    assert len(cache._by_age) <= 2 * len(cache._segments) + 1024


@given(st.lists(st.integers(0, 30)))
def test_runs_keep_every_id_in_its_place(ids: list[int]):
    """Property: writing the runs out again gives the ids."""
    runs = runs_of(ids)
    assert [first + i for first, count in runs for i in range(count)] == ids
