"""What the application is given: the stores, the clock and the other parts, none of them global."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol, TypeVar

import duckdb
from prometheus_client import CollectorRegistry

from metering.collector.writer import IngestWriter
from pricing.api.auth import Authenticator
from pricing.ledger.connect import Ledger
from pricing.ledger.job_runs import JobRun
from pricing.price_book import Catalogue
from pricing.runs.rerate import RerateOrder, RerateReport

Result = TypeVar("Result")


class ReadUsage(Protocol):
    """Runs a query of the usage store on a reader; raises ReadTimeout when it takes too long."""

    def __call__(self, query: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """The query's result."""


class WriteUsage(Protocol):
    """Runs a change of the usage store while no other writer does."""

    def __call__(self, task: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """The task's result; the task commits by itself."""


class RetryJob(Protocol):
    """Runs a job of a period again."""

    def __call__(self, job: str, period: str, *, again: bool = False) -> JobRun:
        """The run as it ended. Raises NotFound, and Conflict while it is done or running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the stores can be written, and how far behind they are.

    metered_through, settled_through: UTC; None where nothing was metered yet.
    """

    writable: bool
    reason: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything that a request can reach."""

    ledger: Ledger
    read_usage: ReadUsage
    clock: Callable[[], datetime]  # aware UTC
    authenticator: Authenticator
    readiness: Callable[[], Readiness]
    catalogue: Callable[[], Catalogue]  # of the published books
    changed: Callable[[str], None]  # told what a route has changed: "books", "tenants", "keys"
    write_usage: WriteUsage
    rerate: Callable[[RerateOrder], RerateReport]  # while no other writer does anything
    retry_job: RetryJob
    back_up: Callable[[], str]  # where both stores are now
    writer: IngestWriter
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    body_bytes_max: int = 32 << 20
    tls: bool = False
