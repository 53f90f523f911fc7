"""Sleeping that a signal or another thread can end."""

import contextlib
import os
import select
import signal
from types import FrameType


class Wake:
    """Flags that signals raise, and a wait that ends when one is raised.

    A pipe carries the wake-up: unlike a condition it may be touched inside a signal handler.
    """

    def __init__(self) -> None:
        self._read_end, self._write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.stopping = False
        self.reloading = False

    def install(self) -> None:
        """SIGTERM and SIGINT stop, SIGHUP reloads. Main thread only."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._handle)

    def stop(self) -> None:
        """Ask for the end."""
        self.stopping = True
        self._ring()

    def reload(self) -> None:
        """Ask for the configuration to be read again."""
        self.reloading = True
        self._ring()

    def wait(self, seconds: float) -> None:
        """Sleep at most `seconds`; at once if something was asked for meanwhile."""
        if seconds > 0:
            ready, _, _ = select.select([self._read_end], [], [], seconds)
            if ready:
                os.read(self._read_end, 4096)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self.reload()
        else:
            self.stop()

    def _ring(self) -> None:
        with contextlib.suppress(BlockingIOError):  # the pipe is full of wake-ups already
            os.write(self._write_end, b"\0")
