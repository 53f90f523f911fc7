"""SQL is read as SQL: one query, one file, one caller."""

import re
from pathlib import PurePosixPath

from tests.house.tree import FILES, ROOT, SOURCES, require_none

QUERIES = tuple(p for p in FILES if p.endswith(".sql") and "/sql/" in p)


def read(path: str) -> str:
    """Text of the file at `path`."""
    return (ROOT / path).read_text(encoding="utf-8")


def makes_rows(text: str) -> bool:
    """Whether the statement groups, joins or inserts; one that looks up a mark does not."""
    statement = re.sub(r"--.*", "", text)
    return bool(re.search(r"\b(INSERT|GROUP BY|JOIN|UNION)\b", statement))


def test_a_query_says_its_grain() -> None:
    """Header: what it makes of what; and where it makes rows, one row per what."""
    offences = [
        path
        for path in QUERIES
        if not read(path).startswith(f"-- {PurePosixPath(path).stem}: ")
        or (makes_rows(read(path)) and not re.match(r"(--.*\n)*-- grain:", read(path)))
    ]
    require_none(
        offences, "Begin with comment lines: -- NAME: what it does; -- grain: one row per …:"
    )


def test_a_file_holds_one_statement() -> None:
    """Two statements are two queries with two grains."""
    offences = [
        path
        for path in QUERIES
        if ";" in re.sub(r"--.*|'[^']*'", "", read(path)).strip().rstrip(";")
    ]
    require_none(offences, "Split the file, one statement each:")


def test_every_query_has_a_caller() -> None:
    """A query that nobody runs is not known to work."""
    named = "\n".join(source.text for source in SOURCES)
    offences = [path for path in QUERIES if f'"{PurePosixPath(path).stem}"' not in named]
    require_none(offences, 'Run it by name (read_sql(…, "name")) or delete it:')
