"""One engine alone: all its cases run, metered, settled and reported."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engines import report
from tests.engines.cases import Case
from tests.engines.engine import Engine, free_ports
from tests.engines.run import Ran, billed, explained, right, run
from tests.engines.till import Till

Done = tuple[dict[str, Ran], Till, dict[tuple[str, str], dict[str, Any]], Engine]


@contextmanager
def alone(
    make: Callable[[int], Engine],
    folder: Path,
    cases: Sequence[Case],
    *,
    told: tuple[str, str],
    pool: str = "plain",
    forget: Callable[[Engine], Any] | None = None,
) -> Iterator[Done]:
    """Runs by the name of their case, the till, its reconciliation, and the engine, still running.

    make: the engine on a port. told: name and title of the report. forget: as of `run`.
    """
    own_port, till_port = free_ports(2)
    engine = make(own_port).start()
    till = Till(folder, till_port)
    try:
        engine.ready()
        till.follow(engine, pool=pool)
        forgets = None if forget is None else lambda: forget(engine)
        ran = run(cases, engine.url, [engine], forget=forgets)
        till.settled()
        rows = explained(till, ran[0])
        report.keep(*told, [(each, right(each), billed(each, till)) for each in ran], rows)
        yield {each.case.name: each for each in ran}, till, rows, engine
    finally:
        till.end()
        engine.end()
