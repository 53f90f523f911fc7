"""Kill and restart real processes for a while; no token may be missing or counted twice.

    python bench/soak.py [--sidecar-kills 200] [--clicks 500] [--minutes 30] [--requests 500]
        [--first-seed 1]

First a sidecar is killed at random moments while an engine writes, and the dashboard is clicked at
random; then the demo's server and sidecars are killed, run after run with other moments, until the
time is over. Prints one JSON object; exit 1 if a line was lost or doubled, if the dashboard broke,
or if the money of a run differs from the run without kills.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from typing import Any, Final, NamedTuple

KILLED: Final = re.compile(r"(\d+) processes killed")
SIDECAR_TEST: Final = (
    "tests/faults/test_sidecar_crash.py::test_kills_at_random_lose_and_double_nothing"
)
WALK_TEST: Final = "tests/dashboard/browser/test_walk.py"


class Run(NamedTuple):
    """What a run of the demo answered, and how many of its processes were killed."""

    answer: dict[str, Any]
    kills: int


def demo(*arguments: str) -> Run:
    """`tokentill demo --once --json` with these arguments."""
    command = [sys.executable, "-m", "tokentill", "demo", "--once", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    kills = KILLED.search(done.stderr)
    return Run(answer=json.loads(done.stdout), kills=int(kills[1]) if kills else 0)


def holds(test: str, **more: str) -> bool:
    """Whether a test of `make test` holds with more of what it does."""
    command = [sys.executable, "-m", "pytest", "-q", test]
    told = {**os.environ, **more}
    return subprocess.run(command, env=told, stdout=sys.stderr, check=False).returncode == 0


def main() -> int:
    """Kill the sidecar, then run the demo with one seed after another until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sidecar-kills", type=int, default=200)
    parser.add_argument("--clicks", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--requests", default="500")
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    kills, clicks = options.sidecar_kills, options.clicks
    is_whole = holds(SIDECAR_TEST, SIDECAR_KILLS=str(kills)) if kills else True
    is_sound = holds(WALK_TEST, DASHBOARD_CLICKS=str(clicks)) if clicks else True
    right = demo("--requests", options.requests).answer
    ends_at = time.monotonic() + options.minutes * 60
    seed, killed, wrong = options.first_seed, 0, []
    while time.monotonic() < ends_at:
        print(f"· seed {seed}, {killed} kills so far", file=sys.stderr, flush=True)
        run = demo("--requests", options.requests, "--kill-seed", str(seed))
        killed += run.kills
        if run.answer != right:
            wrong.append({"seed": seed, "told": run.answer})
        seed += 1
    told = {
        "sidecar_kills": options.sidecar_kills,
        "sidecar_whole": is_whole,
        "clicks": options.clicks,
        "dashboard_sound": is_sound,
        "right": right["totals"],
        "runs": seed - options.first_seed,
        "kills": killed,
        "different": wrong,
    }
    print(json.dumps(told, indent=1))
    return int(bool(wrong) or not (is_whole and is_sound))


if __name__ == "__main__":
    sys.exit(main())
