"""Tests state right values and use the real thing."""

import ast
import re

from tests.house.tree import SOURCES, TESTS, require_none

MOCKS = re.compile(r"\b(MagicMock|mock\.patch|mocker\.|unittest\.mock)\b")
SKIPS = re.compile(r"pytest\.(skip\(|mark\.skip|mark\.xfail|importorskip)")
IGNORES_PER_THOUSAND_LINES = 1
MAY_NAME_THEM = {"tests/house/test_tests.py", "tests/conftest.py"}


def test_no_mocks() -> None:
    """A mock of our own code agrees with itself; use the memory store and real processes."""
    offences = [s.path for s in TESTS if s.path not in MAY_NAME_THEM and MOCKS.search(s.text)]
    require_none(offences, "Replace the mock by the real part on a temporary folder:")


def test_no_test_is_skipped() -> None:
    """What cannot run here is no evidence; the fixture `shared` alone may skip."""
    offences = [s.path for s in TESTS if s.path not in MAY_NAME_THEM and SKIPS.search(s.text)]
    require_none(offences, "Make the test run, or use the fixture `shared` of tests/conftest.py:")


def test_every_test_says_what_is_right() -> None:
    """A docstring names the behaviour and where the right value comes from."""
    offences = [
        f"{source.at(function)} {function.name}"
        for source in TESTS
        for function in source.functions()
        if function.name.startswith("test") and not ast.get_docstring(function)
    ]
    require_none(offences, "Say the right value and its source (by hand, published, independent):")


def test_type_ignores_are_few_and_coded() -> None:
    """At most one per 1,000 lines, each with its code and its reason."""
    lines = [line for source in SOURCES for line in source.text.splitlines()]
    ignores = [line.strip() for line in lines if "type: ignore" in line]
    bare = [line for line in ignores if not re.search(r"ignore\[[\w, -]+\]\s+# \w", line)]
    require_none(bare, "Write  # type: ignore[code]  # why:")
    allowed = max(1, len(lines) * IGNORES_PER_THOUSAND_LINES // 1000)
    assert len(ignores) <= allowed, f"{len(ignores)} ignores; {allowed} allowed:\n{ignores}"
