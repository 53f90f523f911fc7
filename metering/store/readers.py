"""Reads beside the writer: few at once, each in one snapshot, none longer than its time."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from metering.errors import ReadTimeout
from metering.store.connect import Store

Result = TypeVar("Result")


class Readers:
    """At most `readers` queries at once; a query and the wait for its turn share no time limit.

    seconds_max: of one query, and of the wait for a free reader.
    """

    def __init__(self, store: Store, *, readers: int = 2, seconds_max: float = 30.0) -> None:
        self._store = store
        self._free = threading.BoundedSemaphore(readers)
        self._seconds_max = seconds_max

    def read(self, query: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """The result of `query`; all that it reads is of one moment, and it can write nothing."""
        if not self._free.acquire(timeout=self._seconds_max):
            raise ReadTimeout(
                f"no reader of the usage store came free in {self._seconds_max:g} s: ask again "
                "later, or for less"
            )
        try:
            try:
                return self._once(query)
            except (duckdb.FatalException, duckdb.ConnectionException):
                return self._once(query)  # the database was given up meanwhile, and opened anew
        finally:
            self._free.release()

    def table(self, sql: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """The rows of one SELECT as Arrow, whose decimals and wide integers are exact."""
        return self.read(lambda cursor: cursor.execute(sql, parameters).to_arrow_table())

    def _once(self, query: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        with self._store.cursor() as cursor:
            alarm = threading.Timer(self._seconds_max, cursor.interrupt)
            alarm.daemon = True
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            alarm.start()
            try:
                return query(cursor)
            except duckdb.InterruptException:
                raise ReadTimeout(
                    f"the query took longer than {self._seconds_max:g} s and was stopped: ask for "
                    "a shorter window"
                ) from None
            finally:
                alarm.cancel()
                alarm.join()  # it must not outlive the cursor
