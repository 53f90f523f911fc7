"""Whether the stores can be written and how far behind they are, for /health/ready and /metrics."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import duckdb
from prometheus_client import CollectorRegistry, Gauge

from metering.collector.writer import IngestWriter
from metering.store.connect import Store
from metering.windows import parse_time
from pricing.api.services import Readiness
from pricing.reports.rows import read_rows
from pricing.runs.settler import Settler

FORGOTTEN_AFTER: Final = timedelta(days=7)  # a node unheard for this long holds nothing up


class Gauges:
    """Reads the state of writer, settler and store. clock: aware UTC now."""

    def __init__(
        self,
        writer: IngestWriter,
        settler: Settler,
        *,
        store: Store,
        clock: Callable[[], datetime],
    ) -> None:
        self._writer = writer
        self._settler = settler
        self._store = store
        self._clock = clock

    def readiness(self) -> Readiness:
        """Not ready only while the last write of usage has failed."""
        failure = self._writer.status().failure
        return Readiness(writable=failure is None, reason=failure, details=self.details())

    def details(self) -> dict[str, Any]:
        """Queue, lag and marks; times as text, UTC. What the store does not say now is left out."""
        status, state = self._writer.status(), self._settler.state
        details: dict[str, Any] = {
            "waiting_batches": status.waiting_batches,
            "waiting_records": status.waiting_records,
            "last_commit_at": _text(status.last_commit_at),
            "last_settlement_at": _text(state.last_success_at),
            "settlement_error": state.last_error,
        }
        forgotten = (self._clock() - FORGOTTEN_AFTER).replace(tzinfo=None)
        try:
            with self._store.cursor() as cursor:  # not one of the readers': they may all be busy
                (row,) = read_rows(cursor, "settled_through", forgotten_at=forgotten)
        except duckdb.Error as error:
            return details | {"store_error": str(error)}
        return details | {
            "unsettled_legs": row["last_ingest_seq"] - row["settled_through_seq"],
            "pending_legs": row["pending_legs"],
            "metered_through_at": _text(row["metered_through_at"]),
            "settled_through_at": _text(row["settled_through_at"]),
        }

    def register(self, registry: CollectorRegistry) -> None:
        """The same as gauges."""
        for name, meaning, value in (
            ("tokentill_writable", "1 if usage can be written.", self._is_writable),
            (
                "tokentill_waiting_records",
                "Records in the ingest queue.",
                lambda: self._writer.status().waiting_records,
            ),
            ("tokentill_unsettled_legs", "Legs not settled yet.", self._unsettled),
            (
                "tokentill_metered_lag_seconds",
                "Since the time up to which every node has sent its usage.",
                lambda: self._lag("metered_through_at"),
            ),
            (
                "tokentill_settled_lag_seconds",
                "Since the time up to which all usage is settled.",
                lambda: self._lag("settled_through_at"),
            ),
        ):
            Gauge(name, meaning, registry=registry).set_function(value)

    def _is_writable(self) -> float:
        return float(self._writer.status().failure is None)

    def _unsettled(self) -> float:
        return float(self.details().get("unsettled_legs", float("nan")))

    def _lag(self, mark: str) -> float:
        """Seconds since a mark; NaN before there is one."""
        at = self.details().get(mark)
        return float("nan") if at is None else (self._clock() - parse_time(at)).total_seconds()


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat().replace("+00:00", "Z")
