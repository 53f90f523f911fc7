"""The demo's real processes: started, watched, killed and started again, all ended at the end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TERM_SECONDS_MAX: Final = 10.0  # from SIGTERM to SIGKILL
LOG_TAIL_CHARACTERS: Final = 2_000


class ChildFailed(RuntimeError):
    """A process of the demo ended by itself."""


@contextmanager
def signals_held() -> Iterator[None]:
    """Signals that end the demo wait until the block is over.

    An exception in the middle of Popen would leave a process that nobody knows.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread alone
        return
    came: list[int] = []
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in ENDING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def end_all(children: Sequence["Child"]) -> None:
    """SIGTERM to all at once, SIGKILL to those that are still there after TERM_SECONDS_MAX."""
    for child in children:
        child.ask_to_end()
    deadline = time.monotonic() + TERM_SECONDS_MAX
    for child in children:
        child.end(deadline - time.monotonic())


@dataclass(slots=True)
class Child:
    """One process `tokentill ARGUMENTS`; its output goes to a log file that restarts append to."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    def start(self) -> None:
        """Start the process, or start it again after it ended."""
        with self.log.open("ab") as log, signals_held():
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [sys.executable, "-m", "tokentill", *self.arguments],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def ask_to_end(self) -> None:
        """SIGTERM."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def end(self, seconds: float) -> None:
        """Wait `seconds` for its end, then SIGKILL."""
        if self.process is not None:
            try:
                self.process.wait(max(0.0, seconds))
            except subprocess.TimeoutExpired:
                self.kill()

    def wait(self) -> None:
        """Wait for its end. Raises ChildFailed unless it ended well."""
        if self.process is not None and self.process.wait() != 0:
            raise self.failure()

    def check(self) -> None:
        """Raise ChildFailed with the end of its log if it has ended by itself."""
        if self.process is not None and self.process.poll() is not None:
            raise self.failure()

    def failure(self) -> ChildFailed:
        """What happened to it, in its own words."""
        code = None if self.process is None else self.process.returncode
        tail = self.log.read_text("utf-8", errors="replace")[-LOG_TAIL_CHARACTERS:]
        return ChildFailed(
            f"{self.name} ended with status {code}; its log {self.log} ends:\n{tail}"
        )
