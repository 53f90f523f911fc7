"""Dependencies: what is imported is declared, and each machine gets only what its part needs."""

import re
import tomllib
from collections.abc import Collection
from importlib.metadata import packages_distributions

from tests.house.tree import (
    BENCHES,
    ROOT,
    SOURCES,
    TESTS,
    Source,
    imports,
    is_standard_library,
    require_none,
)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DISTRIBUTIONS = packages_distributions()
OURS = {"metering", "pricing", "dashboard", "tokentill", "tests", "bench", "tokentill_vllm"}
OURS |= {source.path.removeprefix("bench/").removesuffix(".py") for source in BENCHES}
ELSEWHERE = "tests/engines/inside/"  # runs in the engines' own environments
SIDECAR = ("metering.sidecar", "metering.sources", "metering.replay")


def canonical(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.split(r"[\[<>=!~; ]", name)[0].lower().replace("_", "-")


def declared(*extras: str) -> set[str]:
    """Names in the dependencies of the bare install and of `extras`."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][e] for e in extras)]
    return {canonical(name) for names in lists for name in names}


def undeclared(sources: Collection[Source], names: set[str]) -> list[str]:
    """Imports of libraries that no distribution in `names` brings."""
    return [
        f"{source.path} imports {top}"
        for source in sources
        for _, module in imports(source)
        if not is_standard_library(module)
        and (top := module.partition(".")[0]) not in OURS
        and not {canonical(d) for d in DISTRIBUTIONS.get(top, [top])} & names
    ]


def test_what_is_imported_is_declared() -> None:
    """A library that comes along with another one goes away with it, too."""
    offences = undeclared(SOURCES, declared("server", "dashboard", "lake"))
    tests = [source for source in TESTS if not source.path.startswith(ELSEWHERE)]
    offences += undeclared((*tests, *BENCHES), declared("server", "dashboard", "lake", "dev"))
    require_none(offences, "Name it in pyproject.toml, in the extra that needs it; `make lock`:")


def test_the_bare_install_is_enough_for_the_sidecar() -> None:
    """`pip install tokentill` beside an engine brings all that the sidecar and parsers import."""
    sources = [source for source in SOURCES if source.module.startswith(SIDECAR)]
    require_none(undeclared(sources, declared()), "The bare install lacks it; do without it:")


def test_the_dashboard_extra_is_enough_for_the_dashboard() -> None:
    """`pip install tokentill[dashboard]` on a machine without the stores."""
    sources = [s for s in SOURCES if s.module.startswith(("dashboard", "pricing.client"))]
    require_none(undeclared(sources, declared("dashboard")), "Add it to the extra `dashboard`:")
