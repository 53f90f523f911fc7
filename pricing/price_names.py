"""Which models of a book a name may mean: exact, then alias, then the longest glob that matches."""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from pricing.price_entry import Entry

NAME_CACHE_ENTRIES: Final = 65_536  # names as they came; a hostile client can invent any number
_WILDCARD: Final = re.compile(r"[*?]")


class _Glob(NamedTuple):
    """A glob ready to match. prefix: its text before the first wildcard, to fail fast."""

    length: int  # characters, wildcards included
    prefix: str
    pattern: re.Pattern[str]
    models: frozenset[str]


def glob_prefix(glob: str) -> str:
    """The text of a glob before its first wildcard."""
    return _WILDCARD.split(glob, maxsplit=1)[0]


def glob_pattern(glob: str) -> str:
    """A glob with * and ? as a regular expression; every other character is itself.

    The middle parts are atomic: a name is matched in time linear in the glob's parts, whatever
    either of them looks like.
    """
    first, *rest = (
        "".join("." if c == "?" else re.escape(c) for c in part) for part in glob.split("*")
    )
    if not rest:
        return first
    middle = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return f"{first}{middle}.*{rest[-1]}"


class NameIndex:
    """The names of a book's models. A name belongs to its model at all the model's dates."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._models: set[str] = set()
        self._aliases: dict[str, set[str]] = defaultdict(set)
        globs: dict[str, set[str]] = defaultdict(set)
        for entry in entries:
            self._models.add(entry.model)
            for alias in entry.aliases:
                self._aliases[alias].add(entry.model)
            for glob in entry.match:
                globs[glob].add(entry.model)
        self._globs = [
            _Glob(
                len(glob),
                glob_prefix(glob),
                re.compile(glob_pattern(glob), re.DOTALL),
                frozenset(globs[glob]),
            )
            for glob in sorted(globs, key=len, reverse=True)
        ]
        self.resolve = lru_cache(maxsize=NAME_CACHE_ENTRIES)(self._resolve)

    def _resolve(self, name: str) -> tuple[str, ...]:
        """Models that `name` may mean: one, none, or several that tie, sorted."""
        if name in self._models:
            return (name,)
        if name in self._aliases:
            return tuple(sorted(self._aliases[name]))
        longest, models = 0, frozenset[str]()
        for glob in self._globs:
            if glob.length < longest:
                break
            if name.startswith(glob.prefix) and glob.pattern.fullmatch(name):
                longest, models = glob.length, models | glob.models
        return tuple(sorted(models))
