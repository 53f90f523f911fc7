"""Run the benchmarks of this folder and print one JSON object: {"machine": …, NAME: figures, …}.

    python bench/run.py [NAME …]

A benchmark is a script beside this one that prints one JSON object on stdout; its words go to
stderr. They run one after another, so that none measures another's load.
"""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

FOLDER = Path(__file__).resolve().parent
NOT_A_BENCHMARK = {"run", "soak"}  # this file; and what runs for hours
SECONDS_MAX = 1800  # of one benchmark


def names() -> list[str]:
    """The benchmarks that there are, by file name."""
    return sorted({path.stem for path in FOLDER.glob("[a-z]*.py")} - NOT_A_BENCHMARK)


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "load_1_minute": os.getloadavg()[0],
        "duckdb": version("duckdb"),
        "pyarrow": version("pyarrow"),
    }


def measure(name: str) -> dict[str, Any]:
    """The figures of one benchmark, or {"error": …} if it failed; and how long it ran."""
    started = perf_counter()
    print(f"· {name}", file=sys.stderr, flush=True)
    try:
        result = subprocess.run(
            [sys.executable, FOLDER / f"{name}.py"],
            cwd=FOLDER.parent,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=SECONDS_MAX,
        )
        figures: dict[str, Any] = json.loads(result.stdout)
    except (subprocess.SubprocessError, json.JSONDecodeError) as error:
        figures = {"error": str(error)}
    return figures | {"run_seconds": round(perf_counter() - started, 1)}


def main() -> int:
    """Print the figures of the named benchmarks, or all. 1: one failed; 2: one is unknown."""
    wanted = sys.argv[1:] or names()
    if unknown := sorted(set(wanted) - set(names())):
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    figures = {"machine": machine()} | {name: measure(name) for name in wanted}
    print(json.dumps(figures, indent=1))
    return int(any("error" in value for value in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
