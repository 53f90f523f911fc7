"""Progress bars: on a terminal's stderr and nowhere else."""

import os
import pty
import subprocess
import sys

CHILD = """
from pricing.cli_progress import progress_bar
with progress_bar("Closing", "tenants") as advance:
    for done in range(4):
        advance(done, 3)
print("result")
"""


def on_a_terminal():
    """What the child writes to a terminal as its stderr, and to stdout."""
    reader, terminal = pty.openpty()
    command = [sys.executable, "-c", CHILD]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=terminal,
        check=True,
        env=os.environ | {"TERM": "xterm"},
    )
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(reader, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(reader)
    return done.stdout, shown.decode()


def test_a_terminal_shows_how_far_it_is():
    """What is done, of how many, in which unit; the result alone on stdout."""
    stdout, shown = on_a_terminal()
    assert stdout == b"result\n"
    assert "Closing" in shown
    assert "3/3" in shown
    assert "tenants" in shown


def test_elsewhere_there_is_none():
    """A pipe gets nothing."""
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"result\n", b"")
