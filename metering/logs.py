"""Where log lines go: stderr, which may not stop the work."""

import sys
from contextlib import suppress


class Stderr:
    """A logger of structlog's kind: where nobody reads, or the disk is full, it is silent."""

    def msg(self, text: str) -> None:
        """Write one line."""
        with suppress(OSError, ValueError):
            sys.stderr.write(text + "\n")
            sys.stderr.flush()

    debug = info = warning = error = critical = msg
