"""The two clocks of a process, passed in so that a jump of one can be tested."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple


class Clock(NamedTuple):
    """wall: seconds since 1970, may jump. monotonic: seconds, never jumps."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic

    def utc(self) -> datetime:
        """The wall clock as an aware UTC time."""
        return datetime.fromtimestamp(self.wall(), UTC)
