"""The home folder: one process owns its stores, and whoever comes second is told which one."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pricing.errors import ServeRunning, StoreUnavailable

LOCK_NAME: Final = "serve.lock"


@contextmanager
def own_home(home: Path) -> Iterator[None]:
    """Own the stores of `home`, a folder that is made if need be, until the block ends.

    The operating system gives the lock back however the process ends. Raises ServeRunning, naming
    the owner, if there is one.
    """
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(home / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreUnavailable(
            f"The home folder {home} cannot be used: {error.strerror}.",
            remedy="Name a folder that may be written with TOKENTILL_HOME.",
        ) from error
    try:
        _lock(handle, home)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, home: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(handle, 20, 0).decode(errors="replace").strip() or "unknown"
        raise ServeRunning(
            f"The stores in {home} are owned by process {owner} (tokentill serve).",
            remedy="Ask it through the API (TOKENTILL_API_URL, TOKENTILL_API_KEY), stop it, or "
            "choose another home with TOKENTILL_HOME.",
        ) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
