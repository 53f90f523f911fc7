"""One sidecar per state folder: a lock that the kernel drops when its holder dies."""

import fcntl
import os
import time
from pathlib import Path
from typing import Final

from metering.errors import MeteringError

POLL_SECONDS: Final = 0.05


class StateLocked(MeteringError):
    """Another sidecar holds the state folder."""

    status = 409


class StateLock:
    """The lock on a state folder, held until close()."""

    def __init__(self, state_dir: Path, *, patience_seconds: float = 2.0) -> None:
        """Take the lock, or raise StateLocked naming the process that holds it.

        patience_seconds: how long a holder that is just ending is waited for.
        """
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + patience_seconds
        while not self._take():
            if time.monotonic() >= deadline:
                holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip()
                os.close(self._descriptor)
                raise StateLocked(
                    f"Another sidecar (process {holder or 'unknown'}) already works on "
                    f"{state_dir}. Stop it, or give this one its own state_dir."
                )
            time.sleep(POLL_SECONDS)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def _take(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Give the folder back."""
        os.close(self._descriptor)


def is_locked(state_dir: Path) -> bool:
    """Whether a sidecar works on `state_dir` now."""
    try:
        descriptor = os.open(state_dir / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
