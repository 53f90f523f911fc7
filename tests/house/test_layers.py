"""Layers: the core stays pure, imports run one way, nothing imports in a circle."""

import ast

import pytest

from tests.house.tree import (
    CORE,
    CORE_MODULES,
    SOURCES,
    Source,
    imports,
    is_standard_library,
    own_module,
    require_none,
)

CLOCK_OR_ENVIRONMENT = {
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today",
    "time.time", "time.time_ns", "time.monotonic", "time.perf_counter", "time.localtime",
    "os.environ", "os.getenv", "os.getcwd", "random.random", "uuid.uuid4", "uuid4",
}  # fmt: skip
WALL_CLOCK = {
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"
}  # fmt: skip

# Entry points: a person, a scheduler or the network starts something here, so time begins here.
MAY_READ_THE_CLOCK = {
    "metering/sidecar", "metering/replay", "pricing/api",
    "pricing/jobs.py", "pricing/serve.py", "pricing/demo/",
}  # fmt: skip


def used(source: Source, names: set[str]) -> list[str]:
    """Places where `source` reads one of the dotted `names`."""
    return [
        f"{source.at(node)} reads {ast.unparse(node)}"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute | ast.Name)
        and ".".join(ast.unparse(node).split(".")[-2:]) in names
    ]


def test_core_imports_only_the_standard_library_and_core() -> None:
    """The core states the rules; it must run, and be read, without any library."""
    offences = [
        f"{source.at(node)} imports {name}"
        for source in CORE
        for node, name in imports(source)
        if not is_standard_library(name) and own_module(name) not in CORE_MODULES
    ]
    require_none(
        offences,
        "A core file imports an edge library or a file that is not core. Move the call to an "
        "adapter (store, runs, api, cli), or name the file in EDGE_FILES with its reason:",
    )


def test_core_reads_neither_clock_nor_environment() -> None:
    """The same arguments give the same money on every machine and day."""
    offences = [place for source in CORE for place in used(source, CLOCK_OR_ENVIRONMENT)]
    require_none(offences, "Core must not read clock, environment or chance; take an argument:")


def test_only_entry_points_read_the_clock() -> None:
    """Time is an argument everywhere else, so that any hour can be tested and repeated."""
    offences = [
        place
        for source in SOURCES
        if source.package != "dashboard"
        and not source.path.rpartition("/")[2].startswith(("cli", "demo"))
        and not any(source.path.startswith(entry) for entry in MAY_READ_THE_CLOCK)
        for place in used(source, WALL_CLOCK)
    ]
    require_none(offences, "Pass `now` in from the entry point (cli, serve, jobs, sidecar, api):")


@pytest.mark.parametrize(
    ("package", "allowed"),
    [("metering", {"metering"}), ("pricing", {"pricing", "metering"})],
)
def test_imports_run_one_way(package: str, allowed: set[str]) -> None:
    """dashboard → (HTTP) → pricing → metering: usage knows nothing of money."""
    offences = [
        f"{source.at(node)} imports {name}"
        for source in SOURCES
        if source.package == package
        for node, name in imports(source)
        if (own := own_module(name)) and own.partition(".")[0] not in allowed
    ]
    require_none(
        offences, f"{package} may import only {', '.join(sorted(allowed))}; turn it round:"
    )


def test_the_dashboard_speaks_only_to_the_api() -> None:
    """It sees what its credential sees (V10): of pricing it may import the HTTP client alone."""
    offences = [
        f"{source.at(node)} imports {name}"
        for source in SOURCES
        if source.package == "dashboard"
        for node, name in imports(source)
        if (own := own_module(name))
        and own.partition(".")[0] != "dashboard"
        and own != "pricing.client"
    ]
    require_none(offences, "Ask the REST API through dashboard/client.py instead:")


def test_no_import_cycles() -> None:
    """A module that reaches itself cannot be read, tested or started alone."""
    graph: dict[str, set[str]] = {source.module: set() for source in SOURCES}
    for source in SOURCES:
        targets = {own_module(name) for _, name in imports(source)} - {None, source.module}
        graph[source.module] = {target for target in targets if target is not None}
    offences = [module for module in graph if module in reachable(graph, module)]
    require_none(offences, "Import cycle: move what both sides need into a file below both:")


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Modules that `start` imports, directly or through others."""
    seen: set[str] = set()
    stack = list(graph[start])
    while stack:
        if (here := stack.pop()) not in seen:
            seen.add(here)
            stack += graph[here]
    return seen


def test_no_own_import_inside_a_function() -> None:
    """A hidden import hides a cycle or a slow start; both have better cures."""
    offences = [
        f"{source.at(node)} imports {name}"
        for source in SOURCES
        for function in source.functions()
        for node, name in imports(source, function)
        if own_module(name)
    ]
    require_none(offences, "Move the import to the top of the file; break the cycle if it has one:")


def test_imports_are_absolute() -> None:
    """A moved file keeps its meaning, and a search finds every use."""
    offences = [
        source.at(node)
        for source in SOURCES
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    require_none(offences, "Write the full name (from metering.usage import …):")
