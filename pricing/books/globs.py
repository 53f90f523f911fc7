"""Whether one name can match two globs."""

from functools import cache


def globs_meet(first: str, second: str) -> bool:
    """Whether some name matches both globs (* any text, ? one character)."""

    @cache
    def meet(i: int, j: int) -> bool:
        """Whether first[i:] and second[j:] have a name in common."""
        if i == len(first) or j == len(second):
            return set(first[i:] + second[j:]) <= {"*"}
        if first[i] == "*":
            return meet(i + 1, j) or meet(i, j + 1)
        if second[j] == "*":
            return meet(i, j + 1) or meet(i + 1, j)
        return ("?" in {first[i], second[j]} or first[i] == second[j]) and meet(i + 1, j + 1)

    return meet(0, 0)
