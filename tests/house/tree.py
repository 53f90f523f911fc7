"""The source tree as the house rules see it, and the one way they report."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("metering", "pricing", "dashboard")

# Every file at the top of metering/ and pricing/ is core unless it matches one of these.
EDGE_FILES = (
    "*/__init__.py",
    "*/cli*.py",  # entry points
    "metering/wire.py",  # the Arrow schema: pyarrow is the format
    "pricing/serve*.py",  # the process
    "pricing/settings.py",  # pydantic-settings reads the environment
    "pricing/logs.py",  # structlog wiring
    "pricing/readiness.py",  # asks the running parts
    "pricing/backup.py",  # copies the stores
    "pricing/jobs.py",  # APScheduler wiring
    "pricing/client.py",  # HTTP
    "pricing/internal_rate.py",  # pyxirr finds the root
    "pricing/monte_carlo.py",  # numpy draws the samples
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file of the project. path: relative to the root, with forward slashes."""

    path: str

    @cached_property
    def text(self) -> str:
        """The file's text."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The file's syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def module(self) -> str:
        """Dotted name; a package is named without __init__."""
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.path.partition("/")[0]

    @property
    def is_core(self) -> bool:
        """Whether the file is core: rules without libraries, clock or environment."""
        top_level = self.package in {"metering", "pricing"} and self.path.count("/") == 1
        return top_level and not any(fnmatch(self.path, pattern) for pattern in EDGE_FILES)

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def at(self, node: ast.AST) -> str:
        """`path:line` of `node`."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"


def project_files() -> tuple[str, ...]:
    """Paths of the project's files: tracked, or new and not ignored; what exists now."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(sorted(p for p in listing.stdout.splitlines() if (ROOT / p).is_file()))


FILES = project_files()
SOURCES = tuple(Source(p) for p in FILES if p.endswith(".py") and p.partition("/")[0] in PACKAGES)
TESTS = tuple(Source(p) for p in FILES if p.endswith(".py") and p.startswith("tests/"))
BENCHES = tuple(Source(p) for p in FILES if p.endswith(".py") and p.startswith("bench/"))
CORE = tuple(source for source in SOURCES if source.is_core)
CORE_MODULES = {source.module for source in CORE}
MODULES = {source.module for source in SOURCES}


def imports(source: Source, within: ast.AST | None = None) -> Iterator[tuple[ast.AST, str]]:
    """(node, dotted name) of every import, at any depth of `within` (default: the whole file)."""
    for node in ast.walk(within or source.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield from ((node, f"{base}.{alias.name}") for alias in node.names)


def own_module(name: str) -> str | None:
    """The module of ours that the import `name` loads, or None for another library."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def is_standard_library(name: str) -> bool:
    """Whether the import `name` belongs to Python itself."""
    return name.partition(".")[0] in sys.stdlib_module_names


def require_none(offences: list[str], remedy: str) -> None:
    """Fail with every offence and what to do about it."""
    if offences:
        pytest.fail("\n  ".join([remedy, *sorted(set(offences))]), pytrace=False)
