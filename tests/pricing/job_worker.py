"""A process of its own that runs due jobs on a shared ledger, to be raced and killed."""

import itertools
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from pricing.exports.places import Folder
from pricing.jobs import Jobs
from pricing.ledger.connect import Ledger

AUGUST_2 = datetime(2026, 8, 2, tzinfo=UTC)
PERIODS = ("2026-05", "2026-06", "2026-07")


class Noted:
    """A job that notes each run in a file; `hangs`: it begins and never ends."""

    name = "noted"

    def __init__(self, notes, *, hangs=False):
        self.notes, self.hangs = Path(notes), hangs

    def due(self, _now):
        """Three months, done or not."""
        yield from PERIODS

    def run(self, period, _now):
        """One line in one write, which no other process can cut in two."""
        with self.notes.open("ab", buffering=0) as file:
            file.write(f"{period} {os.getpid()}\n".encode())
        for _ in itertools.count() if self.hangs else ():
            time.sleep(60)
        return {"by": os.getpid()}


class WrittenAnew:
    """The same job after a rewrite: class, module and functions have other names."""

    def __init__(self, notes):
        self.name, self.due, self.run = "noted", self._months, Noted(notes).run

    def _months(self, _now):
        yield from (*PERIODS, "2026-08")


def jobs_of(ledger, job, now=AUGUST_2):
    """The jobs of a process whose usage store is empty: no export is ever due."""
    return Jobs(
        ledger=ledger,
        read_usage=lambda _query: None,
        clock=lambda: now,
        exports=Folder(Path("unused")),
        zone=ZoneInfo("UTC"),
        more=(job,),
    )


def run_due(url, notes, signals=None, *, hangs=False, now=AUGUST_2):
    """Wake up once; signals: says that it is ready, waits to go."""
    ledger = Ledger(url)
    if signals is not None:
        signals.send("ready")
        signals.recv()
    jobs_of(ledger, Noted(notes, hangs=hangs), now).run_due()
    ledger.close()
