"""Samples of one vLLM call with n > 1 are told from requests without siblings."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tokentill_vllm.calls import Calls, Ready
from tokentill_vllm.finished import Finished


def done(*request_ids: str, at: float = 0.0) -> list[Finished]:
    return [Finished(at, 0, request_id) for request_id in request_ids]


def told(ready: Iterable[Ready]) -> list[tuple[str | None, int | None]]:
    return [(r.request.request_id, r.n) for r in ready]


def test_requests_without_siblings_pass_at_once() -> None:
    """One entry of 1 in n_params_iter for each: nothing to hold."""
    assert told(Calls().settle(done("a", "b"), [1, 1])) == [("a", 1), ("b", 1)]


def test_samples_wait_for_the_last_one() -> None:
    """n=2: no entry with the first sample, an entry of 2 with the second."""
    calls = Calls()
    assert calls.settle(done("a"), []) == []
    ready = calls.settle(done("a"), [2])
    assert told(ready) == [("a", 2), ("a", 2)]
    assert len({r.call for r in ready}) == 1


def test_all_samples_in_one_step() -> None:
    """n=2 beside a single request, all in one step."""
    ready = Calls().settle(done("a", "b", "a"), [1, 2])
    assert sorted(told(ready)) == [("a", 2), ("a", 2), ("b", 1)]


def test_a_doubtful_step_waits_until_the_sample_shows() -> None:
    """Two finish, one entry of 1: either may be the sample; the sibling of a clears b."""
    calls = Calls()
    assert calls.settle(done("a", "b"), [1]) == []
    assert told(calls.settle(done("a"), [2])) == [("b", 1), ("a", 2), ("a", 2)]


def test_a_reused_id_is_two_calls() -> None:
    """Two calls with n=2 under one client id get two call numbers."""
    calls = Calls()
    first = calls.settle(done("a", "a"), [2])
    second = calls.settle(done("a", "a"), [2])
    assert {r.call for r in first}.isdisjoint({r.call for r in second})


def test_a_sample_whose_siblings_never_finish_is_given_up() -> None:
    """The client left after the first sample: it is written as a request of its own."""
    calls = Calls()
    calls.settle(done("a", at=100.0), [])
    assert calls.give_up(100.0) == []
    assert told(calls.give_up(100.1)) == [("a", None)]


def test_without_ids_or_entries_nothing_is_grouped() -> None:
    """Versions that do not say which call a request belongs to."""
    assert told(Calls().settle([Finished(0.0, 0)], [1])) == [(None, None)]
    assert told(Calls().settle(done("a"), None)) == [("a", None)]


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=12).flatmap(
        lambda sizes: st.tuples(
            st.just(sizes),
            st.permutations([i for i, n in enumerate(sizes) for _ in range(n)]),
            st.lists(st.integers(1, 4), min_size=40, max_size=40),
        )
    )
)
def test_every_order_of_finishing_is_sorted_out(
    case: tuple[list[int], list[int], list[int]],
) -> None:
    """Calls of known sizes, finishing in any order and any steps: each request once, with its n."""
    sizes, order, steps = case
    calls, left, ready = Calls(), list(sizes), []
    position = 0
    for step in steps:
        batch = order[position : position + step]
        position += step
        entries = []
        for call in batch:
            left[call] -= 1
            if left[call] == 0:
                entries.append(sizes[call])
        ready += calls.settle(done(*map(str, batch)), entries)
    assert calls.give_up(1.0) == []
    expected = [(str(call), n) for call, n in enumerate(sizes) for _ in range(n)]
    assert sorted(told(ready)) == sorted(expected)
