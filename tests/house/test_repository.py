"""The repository as a stranger finds it."""

import hashlib
import re
import tomllib
from itertools import chain
from pathlib import Path

from tests.house.tree import FILES, ROOT, require_none

INDEX_ADDRESS = re.compile(
    r"https?://[^\s\"'<>]*(pypi|pythonhosted|npmjs|registry\.|mirror|/simple\b|deb\.debian)",
    re.IGNORECASE,
)
VAGUE_NAME = re.compile(r"(^|[/_])(utils?|common|helpers?|misc|stuff)(_|/|\.py$)")
RECORD_LENGTH = 80  # characters; a line of a data file this long is a record, not a coincidence


def read(path: str) -> str:
    """Text of the file at `path`; what is not UTF-8 is replaced."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


def test_no_address_of_a_package_index() -> None:
    """pip and uv use what the machine is set up for."""
    offences = [path for path in FILES if INDEX_ADDRESS.search(read(path))]
    require_none(offences, "Remove the address; the installing machine's settings decide:")


def test_names_say_what_they_own() -> None:
    """A file named after nothing collects everything."""
    offences = [path for path in FILES if path.endswith(".py") and VAGUE_NAME.search(path)]
    require_none(offences, "Name the file after the noun that it owns:")


def test_the_lock_names_every_dependency() -> None:
    """requirements.lock holds, with hashes, all that pyproject.toml asks for in any extra."""
    project = tomllib.loads(read("pyproject.toml"))["project"]
    extras = project["optional-dependencies"].values()
    asked = [*project["dependencies"], *chain.from_iterable(extras)]
    wanted = {re.split(r"[\[<>=!~; ]", item)[0].lower().replace("_", "-") for item in asked}
    locked = set(re.findall(r"^([a-z0-9][a-z0-9.-]*)==", read("requirements.lock"), re.MULTILINE))
    require_none(sorted(wanted - locked - {"tokentill"}), "Run `make lock`; these are not locked:")


def test_every_locked_version_has_a_hash() -> None:
    """Without a hash the file on the index could change under us."""
    blocks = re.split(r"\n(?=[a-z0-9])", read("requirements.lock").strip())
    require_none([b for b in blocks if "--hash=sha256:" not in b], "Run `make lock`; no hash:")


def test_the_changelog_has_an_unreleased_section() -> None:
    """What a reader will meet in the next version stands there before it is released."""
    found = re.search(r"^## Unreleased\n+- ", read("CHANGELOG.md"), re.MULTILINE)
    assert found, "CHANGELOG.md: add a line for each visible change under `## Unreleased`"


def test_no_file_is_copied_from_the_data_folder(shared: Path) -> None:
    """Data of others stays where its licence and its source are written down."""
    theirs = {digest(path) for path in (shared / "data").rglob("*") if path.is_file()}
    offences = [path for path in FILES if digest(ROOT / path) in theirs]
    require_none(offences, "Read it by path through the fixture `shared`:")


def test_no_row_is_copied_from_the_data_folder(shared: Path) -> None:
    """A test that needs a real record reads it; one that needs any record writes its own."""
    text = (".jsonl", ".json", ".csv", ".log", ".prom", ".sse", ".tsv")
    theirs = {
        line.strip()
        for path in (shared / "data").rglob("*")
        if path.suffix in text
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if len(line.strip()) >= RECORD_LENGTH and not line.startswith("#")
    }
    offences = [
        f"{path}:{number}"
        for path in FILES
        for number, line in enumerate(read(path).splitlines(), 1)
        if len(line.strip()) >= RECORD_LENGTH and line.strip() in theirs
    ]
    require_none(offences, "Read the record by path through the fixture `shared`:")


def digest(path: Path) -> str:
    """SHA-256 of the file's bytes; small files are told apart by their path (they may be empty)."""
    content = path.read_bytes()
    return hashlib.sha256(content).hexdigest() if len(content) > RECORD_LENGTH else str(path)
