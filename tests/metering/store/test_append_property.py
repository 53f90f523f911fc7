"""Properties of the append: order, repeats and splits do not matter (docs/architecture.md, V3)."""

from collections import defaultdict
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from metering.store.connect import open_store
from tests.metering.store.leg_rows import at, batch, counts, leg, rows, send

# Few ids and few contents, so that repeats, conflicts and other owners are common.
LEGS = st.builds(
    lambda name, tokens, node, day: leg(
        name, input_tokens=tokens, node_id=node, finished_at=at(-86_400 * day)
    ),
    st.sampled_from("abcdef"),
    st.sampled_from([1, 2]),
    st.sampled_from(["u1", "u2"]),
    st.just(0),  # a conflict on another day has a test of its own
)
SPLITS = st.lists(st.lists(st.lists(LEGS, max_size=6), max_size=3), max_size=4)


@settings(max_examples=40)
@given(commits=SPLITS)
def test_the_first_of_each_id_is_stored_and_the_rest_is_named(commits: list) -> None:
    """Oracle in six lines: first of an id → accepted; then compare content, then owner."""
    first: dict[str, dict] = {}
    store = open_store(None)
    for batches in commits:
        answers = send(store, *(batch(*legs) for legs in batches)) if batches else []
        for legs, answer in zip(batches, answers, strict=True):
            expected: dict[str, int] = defaultdict(int)
            for one in legs:
                expected[outcome(first, one)] += 1
            names = ("accepted", "duplicate", "conflict", "reattributed", "rejected")
            assert counts(answer) == tuple(expected[name] for name in names)
    stored = rows(store, "SELECT event_id, input_tokens, node_id FROM leg ORDER BY ALL")
    assert {row[0].hex: row[1:] for row in stored} == {
        name: (one["input_tokens"], one["node_id"]) for name, one in first.items()
    }
    assert len(stored) == len(first)
    store.close()


def outcome(first: dict[str, dict], one: dict) -> str:
    """What contract §2 says of `one` after `first`; takes the id if it is free."""
    stands = first.setdefault(one["event_id"], one)
    if stands is one:
        return "accepted"
    if stands["input_tokens"] != one["input_tokens"]:
        return "conflict"
    return "duplicate" if stands["node_id"] == one["node_id"] else "reattributed"


@settings(max_examples=25)
@given(order=st.permutations(range(12)), cuts=st.sets(st.integers(1, 23)), foreign=st.booleans())
def test_any_order_twice_in_any_split_gives_the_same_table(
    order: list[int], cuts: set[int], *, foreign: bool
) -> None:
    """12 legs sent twice over: always the same 12 rows."""
    legs = [leg(f"leg {n}", finished_at=at(-n * 30_000), output_tokens=n) for n in (*order, *order)]
    edges = [0, *sorted(cuts), len(legs)]
    store = open_store(None)
    for low, high in pairwise(edges):
        send(store, batch(*legs[low:high], foreign=foreign))
    tokens = rows(store, "SELECT output_tokens FROM leg ORDER BY ALL")
    assert tokens == [(n,) for n in range(12)]
    store.close()
