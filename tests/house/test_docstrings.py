"""Docstrings: every public name of the core says what it is, in units."""

import ast
import re
from collections.abc import Iterator

from tests.house.tree import CORE, Function, Source, require_none

UNIT = re.compile(
    r"\b(tokens?|seconds?|minutes?|hours?|days?|months?|years?|UTC|bytes?|ratios?|shares?|percent"
    r"|currency|money|amounts?|prices?|units?|counts?|rows?|watts?|kWh|joules?|cards?|requests?"
    r"|legs?|digits?|bits?|0–1|exact|kW|periods?|rates?|yearly|monthly|how (?:often|many)"
    r"|number of|blocks?|GiB)\b",
    re.IGNORECASE,
)
QUANTITIES = {"int", "float", "Decimal", "Fraction", "timedelta", "datetime"}


def public(source: Source) -> Iterator[Function | ast.ClassDef]:
    """Public functions and classes at the top level and in public classes."""
    stack: list[ast.stmt] = list(source.tree.body)
    while stack:
        node = stack.pop()
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef):
            stack += node.body


def quantities(function: Function) -> set[str]:
    """Names of quantity types in the signature of `function`."""
    if isinstance(function.returns, ast.Name) and function.returns.id in {"str", "bool"}:
        return set()  # text and yes or no have no unit
    annotations = [a.annotation for a in (*function.args.args, *function.args.kwonlyargs)]
    found = {
        node.id
        for annotation in (*annotations, function.returns)
        if annotation is not None
        for node in ast.walk(annotation)
        if isinstance(node, ast.Name)
    }
    return found & QUANTITIES


def test_public_core_names_have_docstrings() -> None:
    """What it is, in one sentence; a reader should not need the body."""
    offences = [
        f"{source.at(node)} {node.name}"
        for source in CORE
        for node in public(source)
        if not ast.get_docstring(node)
    ]
    require_none(offences, "Say what it is, which units, which source; then stop:")


def test_core_docstrings_name_units() -> None:
    """A function that takes or returns a quantity says of what."""
    offences = [
        f"{source.at(node)} {node.name} handles {', '.join(sorted(quantities(node)))}"
        for source in CORE
        for node in public(source)
        if isinstance(node, Function)
        and quantities(node)
        and not UNIT.search(ast.get_docstring(node) or "")
    ]
    require_none(offences, "Name the unit in the docstring (tokens, seconds, UTC, the currency):")


def test_modules_say_what_they_own() -> None:
    """The first line of every core file tells what is found there."""
    offences = [source.path for source in CORE if not ast.get_docstring(source.tree)]
    require_none(offences, "Begin the file with a docstring that names what it owns:")
