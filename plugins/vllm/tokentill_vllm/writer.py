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

from tokentill_vllm.beams import Answered, Beams, Begun
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
        self._steps: deque[Step | Begun | Answered] = deque()
        self._waiting = 0
        self._lost = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._calls: dict[int, Calls] = {}
        self._beams = Beams()
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
        self._rouse()

    def tell(self, of_a_search: Begun | Answered) -> None:
        """Queue the beginning or end of a beam search; there are no more than callers."""
        with self._lock:
            self._steps.append(of_a_search)
        self._rouse()

    def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        self._closing = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS_MAX)

    def _rouse(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="tokentill", daemon=True)
                self._thread.start()
                atexit.register(self.close)
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait(WRITE_INTERVAL_SECONDS if self._beams else IDLE_SECONDS)
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
        if not closing:
            self._add_searches()  # over since the last time: their beams' statistics are here
        for step in steps:
            self._take(step)
        if closing:
            self._add_searches()
        before = math.inf if closing else now - HELD_SECONDS_MAX
        for calls in self._calls.values():
            self._add_all(calls.give_up(before))

    def _take(self, step: Step | Begun | Answered) -> None:
        if isinstance(step, Begun):
            self._beams.begin(step)
        elif isinstance(step, Answered):
            self._beams.end(step)
        else:
            finished = [request for request in step.finished if not self._beams.take(request)]
            beams = len(step.finished) - len(finished)
            calls = self._calls.setdefault(step.finished[0].engine_index, Calls())
            self._add_all(calls.settle(finished, _without(step.calls, beams)))

    def _add_searches(self) -> None:
        for request, prompt_tokens, output_tokens in self._beams.finished():
            engine = {"engine_prompt_tokens": prompt_tokens, "engine_output_tokens": output_tokens}
            self._add({**request._asdict(), "n": 1, **engine})

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


def _without(calls: Sequence[int] | None, beams: int) -> Sequence[int] | None:
    """The n of the completed calls, less one entry of 1 for each beam."""
    if calls is None or not beams:
        return calls
    left = list(calls)
    for _ in range(min(beams, left.count(1))):
        left.remove(1)
    return left


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
