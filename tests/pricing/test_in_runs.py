"""pricing/reports/in_runs.py: every key once, in order, however unevenly rows are spread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.reports.in_runs import GROWTH, RUN_ROWS, AnswerTooLarge, in_runs

MAX = 50_000


def read(counts, runs):
    """A read that has counts[key] rows of a key, and refuses more than MAX at once."""

    def rows(run):
        runs.append(list(run))
        if sum(counts[key] for key in run) > MAX:
            raise AnswerTooLarge("The answer has more than 50,000 rows.")
        return [key for key in run for _ in range(counts[key])]

    return rows


@given(st.lists(st.sampled_from([0, 1, 7, 3_999, 30_000, MAX]), max_size=60))
def test_every_row_comes_once_and_in_order(counts):
    """As one read of all keys would give them."""
    found = [key for rows in in_runs(range(len(counts)), read(counts, [])) for key in rows]
    assert found == [key for key, count in enumerate(counts) for _ in range(count)]


def test_runs_grow_until_they_fit():
    """100 rows a key: 1, 4, 16, then 40 keys at once."""
    runs = []
    assert sum(map(len, in_runs(range(300), read([100] * 300, runs)))) == 30_000
    fitting = RUN_ROWS // 100
    assert [len(run) for run in runs[:5]] == [1, GROWTH, GROWTH**2, fitting, fitting]


def test_a_key_that_is_too_large_alone_is_refused():
    """Nothing can be cut any further."""
    with pytest.raises(AnswerTooLarge):
        list(in_runs([0], read([MAX + 1], [])))
