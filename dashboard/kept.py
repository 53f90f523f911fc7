"""Answers of the API, kept for a while: each question of each credential by itself."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import inf
from threading import Lock
from time import monotonic
from typing import Any


@dataclass(slots=True)
class Kept:
    """At most `most` answers, each for `seconds`; the oldest make room. clock: seconds.

    What is too old is let go when something new comes, so that memory holds only what is in use.
    """

    seconds: float
    most: int
    clock: Callable[[], float] = monotonic
    _answers: OrderedDict[Hashable, tuple[float, Any]] = field(default_factory=OrderedDict)
    _turn: Lock = field(default_factory=Lock)

    def get(self, key: Hashable) -> Any | None:
        """The answer, if it is not too old."""
        with self._turn:
            until, answer = self._answers.get(key, (0.0, None))
            return answer if self.clock() < until else None

    def put(self, key: Hashable, answer: Any) -> None:
        """Keep it."""
        with self._turn:
            now = self.clock()
            self._answers[key] = now + self.seconds, answer
            self._answers.move_to_end(key)
            while len(self._answers) > self.most or self._oldest_until() <= now:
                self._answers.popitem(last=False)

    def _oldest_until(self) -> float:
        until, _ = next(iter(self._answers.values()), (inf, None))
        return until

    def clear(self) -> None:
        """Ask everything anew: somebody has changed something."""
        with self._turn:
            self._answers.clear()
