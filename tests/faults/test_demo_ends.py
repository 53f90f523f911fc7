"""However the demo is ended, no process and no folder of it is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "tokentill", "demo", "--once", "--prefill", "1", "--decode", "1"]
INTERRUPTED = 130  # 128 + SIGINT, as a shell says it


def is_gone(group):
    """Whether the process group ends; init may need a moment to bury the last of it."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("words", "ending", "times"),
    [
        ("starting the server", signal.SIGINT, 1),
        ("sidecars", signal.SIGTERM, 1),
        ("legs written", signal.SIGHUP, 3),
    ],
)
def test_nothing_is_left(tmp_path, words, ending, times):
    """Ctrl-C, SIGTERM and a closed terminal, once or impatiently: "stopped", exit status 130."""
    demo = subprocess.Popen(
        COMMAND,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert any(words in line for line in demo.stderr)
    for _ in range(times):
        demo.send_signal(ending)
    assert demo.stderr.read().endswith("stopped\n")
    demo.stderr.close()
    assert demo.wait(60) == INTERRUPTED
    assert list(tmp_path.iterdir()) == []
    assert is_gone(demo.pid)
