"""A progress bar on stderr for commands that take long; nothing at all where it is no terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Advance: TypeAlias = Callable[[int, int | None], None]  # done, to do (None: nobody knows)


@contextmanager
def progress_bar(words: str, unit: str) -> Iterator[Advance]:
    """A bar that is gone at the end. unit: of what is counted, such as tenants."""
    if not sys.stderr.isatty():
        yield lambda _done, _all: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(words, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)
