"""One sidecar per state folder: a lock that the kernel drops when its holder dies."""

import fcntl
import os
from pathlib import Path

from metering.errors import MeteringError


class StateLocked(MeteringError):
    """Another sidecar holds the state folder."""

    status = 409


class StateLock:
    """The lock on a state folder, held until close()."""

    def __init__(self, state_dir: Path) -> None:
        """Take the lock, or raise StateLocked naming the process that holds it."""
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._descriptor)
            raise StateLocked(
                f"Another sidecar (process {holder}) already works on {state_dir}. "
                f"Stop it, or give this one its own state_dir."
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

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
