"""`tokentill` whose wall clock jumps: python jumping_sidecar.py JUMP_FILE sidecar run --config …

Whenever JUMP_FILE appears, the clock is put on by the seconds that it holds, and it is removed. The
monotonic clock goes on, as it does when a machine's clock is set.
"""

import runpy
import sys
import threading
import time
from pathlib import Path

import time_machine

LOOK_SECONDS = 0.02


def follow(jump: Path, clock: time_machine.Traveller) -> None:
    """Do what the file says, for as long as the process lives."""
    while True:
        if jump.exists():
            clock.shift(float(jump.read_text(encoding="utf-8")))
            jump.unlink()
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    with time_machine.travel(time.time()) as traveller:
        threading.Thread(target=follow, args=(file, traveller), daemon=True).start()
        runpy.run_module("tokentill", run_name="__main__", alter_sys=True)
