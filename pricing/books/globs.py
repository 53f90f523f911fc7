"""Whether two globs can plausibly match one name."""

from functools import cache
from typing import Final

NEVER: Final = 10**9  # characters; no name is that long


def globs_meet(first: str, second: str) -> bool:
    """Whether some name no longer than the globs matches both (* any text, ? one character).

    A longer name may still match both, as one text after the other matches `*a*` and `*b*`; that
    is true of nearly all globs and worth no warning.
    """
    return shortest_match(first, second) <= max(len(first), len(second))


def shortest_match(first: str, second: str) -> int:
    """Length in characters of the shortest name that matches both globs, NEVER if none does."""

    @cache
    def shortest(i: int, j: int) -> int:
        """The same for first[i:] and second[j:]."""
        if i == len(first) or j == len(second):
            return 0 if set(first[i:] + second[j:]) <= {"*"} else NEVER
        one, other = first[i], second[j]
        if one == "*":
            return min(shortest(i + 1, j), shortest(i, j + 1) + (other != "*"))
        if other == "*":
            return min(shortest(i, j + 1), shortest(i + 1, j) + 1)
        if one != other and "?" not in (one, other):
            return NEVER
        return shortest(i + 1, j + 1) + 1

    return min(shortest(0, 0), NEVER)
