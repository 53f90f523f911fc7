"""Known faults of the versions in requirements.lock, as an advisory service tells them.

    python tests/house/audit.py [--require-answer] [-- ARGUMENTS OF PIP-AUDIT]

pip-audit asks PyPI's service, or OSV with `-- -s osv`. Exit code 1: a version has a known fault,
or, with --require-answer, a version could not be asked about: behind a plain package index none
can. Both are always told.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
PIP_AUDIT: Final = "pip-audit==2.10.1"
QUESTION: Final = ("--require-hashes", "--disable-pip", "-r", "requirements.lock")
NOT_AUDITED: Final = (
    "NOT AUDITED: the service does not know every version. Run `make audit` where PyPI's JSON API "
    "or OSV can be reached.\n"
)
ANSWER: Final = ("--format", "json", "--progress-spinner", "off")


def ask(arguments: list[str]) -> list[dict[str, Any]]:
    """What pip-audit says of each version; nothing where it has no answer at all."""
    uv = str(Path(sys.executable).with_name("uv"))
    command = [uv, "tool", "run", "--quiet", PIP_AUDIT, *QUESTION, *ANSWER, *arguments]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    try:
        told: dict[str, list[dict[str, Any]]] = json.loads(run.stdout)
    except ValueError:
        return []
    return told["dependencies"]


def report(told: list[dict[str, Any]]) -> tuple[list[str], int]:
    """A line for each known fault, and how many versions the service knows."""
    faults = [
        f"{version['name']} {version['version']}: {fault['id']}, "
        f"fixed in {', '.join(fault['fix_versions']) or 'no version yet'}"
        for version in told
        for fault in version.get("vulns", ())
    ]
    return faults, sum("skip_reason" not in version for version in told)


def main() -> int:
    """Ask, tell; see above for the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--require-answer", action="store_true")
    asked, arguments = parser.parse_known_args()
    told = ask([argument for argument in arguments if argument != "--"])
    faults, known = report(told)
    is_answered = 0 < len(told) == known
    tell = [*faults, f"{len(faults)} known faults; {known} of {len(told)} versions asked about"]
    sys.stdout.write("\n".join(tell) + "\n")
    if not is_answered:
        sys.stderr.write(NOT_AUDITED)
    return int(bool(faults) or (asked.require_answer and not is_answered))


if __name__ == "__main__":
    sys.exit(main())
