"""A report of many keys, a run of keys at a time: the rows of one run alone are in memory."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from pricing.errors import RequestInvalid

RUN_ROWS: Final = 4_000
GROWTH: Final = 4  # of a run over the one before it: rows are spread unevenly over keys
Key = TypeVar("Key")
Row = TypeVar("Row")


class AnswerTooLarge(RequestInvalid):
    """One read would give more rows than are held at once."""


def in_runs(
    keys: Sequence[Key], read: Callable[[Sequence[Key]], Sequence[Row]]
) -> Iterator[Sequence[Row]]:
    """The rows of all keys in their order, about RUN_ROWS at once.

    Raises AnswerTooLarge where a single key has too many.
    """
    at, size = 0, 1
    while at < len(keys):
        run = keys[at : at + size]
        try:
            rows = read(run)
        except AnswerTooLarge:
            if len(run) == 1:
                raise
            size = len(run) // 2
            continue
        yield rows
        at += len(run)
        fitting = RUN_ROWS * len(run) // max(len(rows), 1)
        size = max(1, min(fitting, GROWTH * len(run)))
