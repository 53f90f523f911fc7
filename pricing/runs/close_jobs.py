"""Jobs of the ledger: close months, check what is closed, back up. Each says what is due."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

import duckdb

from metering.reconciliation import UNREPORTED
from metering.windows import day_window, month_of, month_window, next_month, parse_month
from pricing.close_report import CloseReport, Outcome
from pricing.errors import Conflict
from pricing.ledger.closes import DAILY_RECONCILIATION
from pricing.ledger.connect import Ledger
from pricing.ledger.policies import policy_at
from pricing.ledger.tenants import every_tenant
from pricing.policy import Policy
from pricing.reports.doctor import usage_checks
from pricing.reports.reconciliation import reconciliation_report
from pricing.runs.close import CloseOrder, close_month
from pricing.runs.export_month import first_usage_at
from pricing.runs.verify import Check, verify_ledger

MONTHS_BACK: Final = 12  # how far a job catches up after a long downtime
SETTLING: Final = timedelta(hours=6)  # after a month's end, for late halves to come in
CHECK_HOUR: Final = 3  # UTC
COUNTERS_KEPT: Final = timedelta(days=14)  # metering.store.maintenance forgets samples then
UTC_ZONE: Final = ZoneInfo("UTC")
FAULTS_NAMED_MAX: Final = 20
OnUsage = Callable[[Callable[[duckdb.DuckDBPyConnection], Any]], Any]


class Job(Protocol):
    """Something that is done once for each period."""

    @property
    def name(self) -> str:
        """What the ledger's job runs call it."""

    def due(self, now: datetime) -> Iterator[str]:
        """Periods whose time has come at the UTC time `now`, the oldest first, done or not."""

    def run(self, period: str, now: datetime) -> dict[str, Any]:
        """Do it for a period; what to remember of it. Raises where it could not be done."""


def months_over(first_at: datetime | None, zone: ZoneInfo, now: datetime) -> Iterator[date]:
    """Months of `zone` that ended SETTLING ago or longer, since the first usage."""
    if first_at is None:
        return
    month = month_of(max(first_at, now - timedelta(days=31 * MONTHS_BACK)), zone)
    while month_window(month, zone).end_at + SETTLING <= now:
        yield month
        month = next_month(month)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyClose:
    """Closes a month for the tenants of one billing zone; not done while one of them is left."""

    ledger: Ledger
    read_usage: OnUsage
    write_usage: OnUsage  # where nothing else changes the settler's tables
    house_zone: ZoneInfo
    name: str = "monthly_close"

    def due(self, now: datetime) -> Iterator[str]:
        """YYYY-MM@Zone for each zone that tenants have; "/" of the zone is written ":"."""
        first = self.read_usage(first_usage_at)
        with self.ledger.read() as connection:
            zones = {each.billing_zone for each in every_tenant(connection)}
        for name in sorted(zones):
            for month in months_over(first, ZoneInfo(name), now):
                yield f"{month:%Y-%m}@{name.replace('/', ':')}"

    def run(self, period: str, now: datetime) -> dict[str, Any]:
        """Close; raises Conflict, naming each tenant that is held up and by what."""
        month, _, zone = period.partition("@")
        with self.ledger.read() as connection:
            tenants = frozenset(
                each.tenant_id
                for each in every_tenant(connection)
                if each.billing_zone == zone.replace(":", "/")
            )
        order = CloseOrder(
            month=parse_month(month), tenants=tenants, house_zone=self.house_zone, actor="jobs"
        )
        report: CloseReport = self.write_usage(
            lambda cursor: close_month(cursor, self.ledger, order, now=now)
        )
        blocked = report.with_outcome(Outcome.BLOCKED)
        if blocked:
            names = sorted({blocker.name for each in blocked for blocker in each.blockers})
            raise Conflict(
                f"{len(blocked)} tenants wait for: {', '.join(names[:FAULTS_NAMED_MAX])}.",
                remedy=f"tokentill close {month} says what to do about each.",
            )
        return {str(o): len(report.with_outcome(o)) for o in Outcome}


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyCheck:
    """Checks chains, numbers and documents of the ledger, and the sums of the usage store."""

    ledger: Ledger
    read_usage: OnUsage
    name: str = "daily_check"

    def due(self, now: datetime) -> Iterator[str]:
        """Today, once its hour has come; a day that was missed is not made up for."""
        if now.hour >= CHECK_HOUR:
            yield f"{now:%Y-%m-%d}"

    def run(self, period: str, now: datetime) -> dict[str, Any]:  # noqa: ARG002 - as it stands now
        """Check; raises Conflict with what was found wrong."""
        with self.ledger.read() as connection:
            checks: list[Check] = verify_ledger(connection)
        wrong = [fault for check in checks for fault in check.faults]
        sums = self.read_usage(usage_checks)
        wrong += [f"{each.wrong} rows against: {each.promise}" for each in sums if each.wrong]
        if wrong:
            raise Conflict(
                f"{len(wrong)} faults: {'; '.join(wrong[:FAULTS_NAMED_MAX])}.",
                remedy="tokentill doctor and tokentill invoice verify say more.",
            )
        return {"checks": len(checks) + len(sums)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyReconciliation:
    """Compares each UTC day's engine counters with its legs, while the counters are kept.

    What no record reports beyond the policy's tolerance holds up the close of its month.
    """

    ledger: Ledger
    read_usage: OnUsage
    name: str = DAILY_RECONCILIATION

    def due(self, now: datetime) -> Iterator[str]:
        """Days that ended SETTLING ago, as far back as counters are kept."""
        first = self.read_usage(first_usage_at)
        if first is None:
            return
        day = max(first, now - COUNTERS_KEPT).date() + timedelta(days=first < now - COUNTERS_KEPT)
        while day_window(day, UTC_ZONE).end_at + SETTLING <= now:
            yield f"{day:%Y-%m-%d}"
            day += timedelta(days=1)

    def run(self, period: str, now: datetime) -> dict[str, Any]:
        """Reconcile; tokens that nothing reports, by node."""
        window = day_window(date.fromisoformat(period), UTC_ZONE)
        with self.ledger.read() as connection:
            policy = policy_at(connection, now)
        rules = Policy.from_toml(policy.toml_text) if policy else Policy()
        tolerance = rules.reconcile_tolerance_tokens
        found = self.read_usage(
            lambda cursor: reconciliation_report(cursor, window, tolerance_tokens=tolerance)
        )
        unreported: Counter[str] = Counter()
        for each in found:
            missing = [e.tokens for e in each.reconciled.explained if e.cause == UNREPORTED]
            if each.node_id is not None and each.reconciled.within_tolerance is False and missing:
                unreported[each.node_id] += sum(missing)
        return {"servers": len({each.node_id for each in found}), "unreported": dict(unreported)}


@dataclass(frozen=True, slots=True, kw_only=True)
class WeeklyBackup:
    """Copies both stores once an ISO week."""

    back_up: Callable[[], str]
    name: str = "weekly_backup"

    def due(self, now: datetime) -> Iterator[str]:
        """This week, from its first Monday hour on."""
        year, week, _ = now.isocalendar()
        yield f"{year}-W{week:02}"

    def run(self, period: str, now: datetime) -> dict[str, Any]:  # noqa: ARG002 - as it stands now
        """Back up; where to."""
        return {"folder": self.back_up()}
