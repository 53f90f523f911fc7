"""Size: what a reader can hold in the head at once."""

from tests.house.tree import BENCHES, FILES, ROOT, SOURCES, TESTS, require_none

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50


def test_files_are_short() -> None:
    """At most 400 lines, tests and SQL included; a migration is history and is not split."""
    offences = [
        f"{path} has {lines} lines"
        for path in FILES
        if path.endswith((".py", ".sql"))
        and not path.startswith("migrations/")
        and (lines := len((ROOT / path).read_text(encoding="utf-8").splitlines())) > FILE_LINES_MAX
    ]
    require_none(offences, f"Over {FILE_LINES_MAX} lines; split the file by the nouns it owns:")


def test_functions_are_short() -> None:
    """At most 50 lines from `def` to the last statement."""
    offences = [
        f"{source.at(function)} {function.name} has {lines} lines"
        for source in (*SOURCES, *TESTS, *BENCHES)
        for function in source.functions()
        if (lines := (function.end_lineno or 0) - function.lineno + 1) > FUNCTION_LINES_MAX
    ]
    require_none(offences, f"Over {FUNCTION_LINES_MAX} lines; push the loop's body into a leaf:")
