"""Kill and restart the demo's processes for a while; the money must not change by a digit.

    python bench/soak.py [--minutes 30] [--requests 500] [--first-seed 1]

Prints one JSON object; exit 1 if a run differs from the run without kills.
"""

import argparse
import json
import subprocess
import sys
import time
from typing import Any


def demo(*arguments: str) -> dict[str, Any]:
    """What `tokentill demo --once --json` prints with these arguments."""
    command = [sys.executable, "-m", "tokentill", "demo", "--once", "--json", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> int:
    """Run the demo with one seed after another until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--requests", default="500")
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    ends_at = time.monotonic() + options.minutes * 60
    right = demo("--requests", options.requests)
    seed, wrong = options.first_seed, []
    while time.monotonic() < ends_at:
        print(f"· seed {seed}", file=sys.stderr, flush=True)
        if (told := demo("--requests", options.requests, "--kill-seed", str(seed))) != right:
            wrong.append({"seed": seed, "told": told})
        seed += 1
    runs = seed - options.first_seed
    print(json.dumps({"right": right["totals"], "runs": runs, "different": wrong}, indent=1))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
