"""Writes finished requests from a thread of its own.

The queue is bounded in requests. What does not fit is counted, and a line of kind "lost" says how
many: a loss has a number. A kill leaves at most one cut line, which a reader refuses.
"""

import atexit
import json
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from tokentill_vllm.calls import HELD_SECONDS_MAX, Calls, Ready
from tokentill_vllm.finished import Finished
from tokentill_vllm.hourly_file import HourlyFile

FORMAT_VERSION = 1
WRITE_INTERVAL_SECONDS = 0.2  # one write per interval, not one per step of the engine
IDLE_SECONDS = 60.0  # then samples without siblings are looked after
RETRY_SECONDS = 5.0  # after a write error
CLOSE_SECONDS_MAX = 5.0
PENDING_BYTES_MAX = 64 << 20  # then the queue fills and its overflow is counted

logger = logging.getLogger("tokentill_vllm")


class Step(NamedTuple):
    """The requests that finished in one step of an engine, and the n of the completed calls."""

    finished: Sequence[Finished]
    calls: Sequence[int] | None


class Writer:
    """One per process."""

    def __init__(self, folder: str, limit: int, model: str | None) -> None:
        """folder: where the files go. limit: requests that may wait. model: its served name."""
        self._file = HourlyFile(folder)
        self._limit = limit
        self._steps: deque[Step] = deque()
        self._waiting = 0
        self._lost = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._calls: dict[int, Calls] = {}
        self._sequence = 0
        self._boot = f"{os.getpid()}-{time.time_ns()}"
        self._constants = {"boot": self._boot, "version": _vllm_version(), "model": model}
        self._thread: threading.Thread | None = None

    def put(self, finished: Sequence[Finished], calls: Sequence[int] | None) -> None:
        """Queue one step's requests; never waits."""
        with self._lock:
            if self._waiting + len(finished) > self._limit:
                self._lost += len(finished)
            else:
                self._waiting += len(finished)
                self._steps.append(Step(finished, calls))
            if self._thread is None or not self._thread.is_alive():
                self._start()
        self._wake.set()

    def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS_MAX)

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="tokentill", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def _run(self) -> None:
        while True:
            self._wake.wait(IDLE_SECONDS)
            self._wake.clear()
            closing = self._closing
            try:
                self._collect(closing=closing)
                self._file.write()
            except Exception:
                logger.exception("usage cannot be written; trying again")
                if not closing:
                    time.sleep(RETRY_SECONDS)
                    self._wake.set()
            if closing:
                return
            time.sleep(WRITE_INTERVAL_SECONDS)

    def _collect(self, *, closing: bool) -> None:
        """Turn queued steps into lines."""
        if self._file.pending_bytes > PENDING_BYTES_MAX:
            return
        with self._lock:
            steps, lost = list(self._steps), self._lost
            self._steps.clear()
            self._waiting = self._lost = 0
        now = time.time()
        if lost:
            self._add({"kind": "lost", "records": lost, "finished_at": now})
        for finished, n_of_calls in steps:
            engine_index = finished[0].engine_index
            calls = self._calls.setdefault(engine_index, Calls())
            self._add_all(calls.settle(finished, n_of_calls))
        before = math.inf if closing else now - HELD_SECONDS_MAX
        for calls in self._calls.values():
            self._add_all(calls.give_up(before))

    def _add_all(self, ready: Sequence[Ready]) -> None:
        for request, n, call in ready:
            record: dict[str, Any] = {**request._asdict(), "n": n}
            if call is not None:
                record["call"] = f"{self._boot}-{request.engine_index}-{call}"
            self._add(record)

    def _add(self, record: dict[str, Any]) -> None:
        self._sequence += 1
        head = {"v": FORMAT_VERSION, "seq": self._sequence}
        line = {**head, **self._constants, **record}
        finite = {name: value for name, value in line.items() if _is_json(value)}
        self._file.add(json.dumps(finite))


def _is_json(value: object) -> bool:
    """Numbers that are not finite are as good as missing."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (str, int))


def _vllm_version() -> str | None:
    try:
        return version("vllm")
    except PackageNotFoundError:
        return None


_shared: dict[tuple[str, int], Writer] = {}


def shared_writer(folder: str, limit: int, model: str | None) -> Writer:
    """The one writer of this process and folder."""
    return _shared.setdefault((folder, os.getpid()), Writer(folder, limit, model))
