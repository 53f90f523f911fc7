"""The close of a month (docs/finance/month.md): each tenant once, whatever happens in between.

(1) The ledger marks the periods as closing, with the settler's progress. (2) The sums are read as
of that mark. (3) One ledger transaction makes a tenant's documents and closes its period. A crash
after (1) is resumed from the marks of (1); what is closed stays as it is. It runs where nothing
else changes the settler's tables.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

import duckdb
from sqlalchemy import Connection

from metering.windows import Window, month_window
from pricing.close_checks import Acceptance, Blocker
from pricing.close_report import CloseReport, MadeDocument, NotInvoiced, Outcome, TenantClose
from pricing.invoices import Digest, InvoiceLine, LineKind, PricedSum, annex, usage_lines
from pricing.ledger.billed_lines import billed_lines
from pricing.ledger.closes import Begun, begin, find_begun, last_mark, unreported_days
from pricing.ledger.connect import Change, Ledger
from pricing.ledger.directory import read_directory
from pricing.ledger.disputes import currencies_to_give, given_on, lines_to_give
from pricing.ledger.invoices import Contents, Invoice, invoices_of, make_invoice
from pricing.ledger.periods import end_close, find_period
from pricing.ledger.rerates import rerate_reasons
from pricing.ledger.rows import Page
from pricing.ledger.servers import list_servers
from pricing.ledger.tables import PeriodState, TenantKind
from pricing.ledger.tenants import Tenant, every_tenant
from pricing.line_pointers import pointed
from pricing.money import exact_sum
from pricing.runs.close_reads import (
    NotBilled,
    TenantScope,
    read_blockers,
    read_not_billed,
    read_not_invoiced,
    read_sums,
)
from pricing.runs.settle import read_progress

TENANTS_A_COMMIT: Final = 50  # each tenant is whole in it or not there
SERVERS_MAX: Final = 100_000
Progress = Callable[[int, int], None]  # tenants done, tenants to do


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseOrder:
    """What is asked. tenants: only these; None: all. house_zone cuts what belongs to no tenant.

    tenants_a_commit: how many tenants one commit of the ledger closes.
    """

    month: date
    accepted: Acceptance = field(default_factory=Acceptance)
    tenants: frozenset[str] | None = None
    house_zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    actor: str = "tokentill close"
    tenants_a_commit: int = TENANTS_A_COMMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A tenant whose close may be done now. begun: it was begun before and is taken up again."""

    tenant: Tenant
    window: Window
    begun: Begun | None
    accepted: Sequence[Blocker] = ()


def close_month(
    cursor: duckdb.DuckDBPyConnection,
    ledger: Ledger,
    order: CloseOrder,
    *,
    now: datetime,
    progress: Progress = lambda _done, _all: None,
) -> CloseReport:
    """Close the month of every tenant that can be closed at the UTC time `now`; name the rest.

    Running it again does nothing more, and says so.
    """
    _, settle_seq = read_progress(cursor)
    known, asked = _tenants(ledger, order)
    done, ready = _sorted_out(cursor, ledger, asked, order=order, settle_seq=settle_seq, now=now)
    begun = _begin_all(ledger, ready, order, settle_seq=settle_seq, now=now)
    sums = read_sums(cursor, [_scope(each, begun[each.tenant.tenant_id]) for each in ready])
    for start in range(0, len(ready), order.tenants_a_commit):
        part = ready[start : start + order.tenants_a_commit]
        with ledger.write(actor=order.actor, at=now) as change:
            done += [
                _finish(change, one, begun[one.tenant.tenant_id], sums[one.tenant.tenant_id])
                for one in part
            ]
        progress(start + len(part), len(ready))
    done.sort(key=lambda each: each.tenant_id)
    return CloseReport(
        month=order.month,
        tenants=done,
        not_invoiced=list(_not_invoiced(cursor, ledger, order, known=known, settle_seq=settle_seq)),
    )


def preview_month(
    cursor: duckdb.DuckDBPyConnection,
    ledger: Ledger,
    order: CloseOrder,
    *,
    now: datetime,
    with_sums: bool = True,
) -> CloseReport:
    """What a close at the UTC time `now` would find: blockers and all; it changes nothing.

    with_sums: also add up what no document bills, which reads the month of every tenant.
    """
    _, settle_seq = read_progress(cursor)
    known, asked = _tenants(ledger, order)
    done, ready = _sorted_out(cursor, ledger, asked, order=order, settle_seq=settle_seq, now=now)
    done += [_outcome(one.tenant, Outcome.READY, accepted=one.accepted) for one in ready]
    left = (
        list(_not_invoiced(cursor, ledger, order, known=known, settle_seq=settle_seq))
        if with_sums
        else []
    )
    return CloseReport(
        month=order.month,
        tenants=sorted(done, key=lambda each: each.tenant_id),
        not_invoiced=left,
    )


def _tenants(ledger: Ledger, order: CloseOrder) -> tuple[dict[str, Tenant], list[Tenant]]:
    """(every tenant by id, those that are asked for)."""
    with ledger.read() as connection:
        known = {each.tenant_id: each for each in every_tenant(connection)}
    asked = [t for t in known.values() if order.tenants is None or t.tenant_id in order.tenants]
    return known, asked


def _sorted_out(
    cursor: duckdb.DuckDBPyConnection,
    ledger: Ledger,
    asked: Sequence[Tenant],
    *,
    order: CloseOrder,
    settle_seq: int,
    now: datetime,
) -> tuple[list[TenantClose], list[_Ready]]:
    """Tenants that are done or must wait, and those to close now."""
    done: list[TenantClose] = []
    ready: list[_Ready] = []
    fresh: list[tuple[Tenant, TenantScope]] = []
    with ledger.read() as connection:
        for tenant in asked:
            window = month_window(order.month, ZoneInfo(tenant.billing_zone))
            period = find_period(connection, tenant.tenant_id, month=order.month)
            begun = find_begun(connection, tenant.tenant_id, month=order.month)
            if period is not None and period.state == PeriodState.CLOSED:
                made = invoices_of(connection, tenant.tenant_id, order.month)
                done.append(_outcome(tenant, Outcome.ALREADY_CLOSED, made))
            elif now < window.end_at:
                done.append(_outcome(tenant, Outcome.NOT_ENDED))
            elif begun is not None:
                ready.append(_Ready(tenant=tenant, window=window, begun=begun))
            else:
                after = last_mark(connection, tenant.tenant_id, order.month)
                scope = TenantScope(
                    tenant_id=tenant.tenant_id, window=window, after_seq=after, mark=settle_seq
                )
                fresh.append((tenant, scope))
    blockers = _blockers(cursor, ledger, [scope for _, scope in fresh], now=now)
    for tenant, scope in fresh:
        still, accepted = order.accepted.splits(blockers[tenant.tenant_id])
        if still:
            done.append(_outcome(tenant, Outcome.BLOCKED, blockers=still))
        else:
            ready.append(_Ready(tenant=tenant, window=scope.window, begun=None, accepted=accepted))
    return done, ready


def _blockers(
    cursor: duckdb.DuckDBPyConnection,
    ledger: Ledger,
    scopes: Sequence[TenantScope],
    *,
    now: datetime,
) -> dict[str, list[Blocker]]:
    """Why each tenant has to wait, by both stores."""
    with ledger.read() as connection:
        directory = read_directory(connection, at=now)
        servers = list_servers(connection, Page(SERVERS_MAX))
        windows = {scope.window for scope in scopes}
        gaps = {window: unreported_days(connection, window) for window in windows}
    found = read_blockers(cursor, scopes, directory=directory, servers=servers)
    for scope in scopes:
        found[scope.tenant_id] += [
            Blocker(kind="unreconciled", node_id=node_id, count=days)
            for node_id, days in sorted(gaps[scope.window].items())
        ]
    return found


def _begin_all(
    ledger: Ledger, ready: Sequence[_Ready], order: CloseOrder, *, settle_seq: int, now: datetime
) -> dict[str, Begun]:
    """Step 1: from here on, usage of these months becomes an adjustment."""
    begun = {each.tenant.tenant_id: each.begun for each in ready}
    with ledger.write(actor=order.actor, at=now) as change:
        for one in ready:
            tenant_id = one.tenant.tenant_id
            period = find_period(change.connection, tenant_id, month=order.month)
            if period is not None and period.state == PeriodState.CLOSED:
                # another process was quicker; step 3 sees it and does nothing
                begun[tenant_id] = find_begun(change.connection, tenant_id, month=order.month)
                continue
            names = frozenset(each.name for each in one.accepted)
            begun[tenant_id] = begin(
                change,
                tenant_id,
                month=order.month,
                settle_mark=settle_seq,
                accepted=Acceptance(names=names, reason=order.accepted.reason if names else ""),
            )
    return {tenant_id: each for tenant_id, each in begun.items() if each is not None}


def _finish(change: Change, one: _Ready, begun: Begun, sums: Sequence[PricedSum]) -> TenantClose:
    """Step 3 of one tenant: its documents and the end of its period, in the change at hand."""
    tenant = one.tenant
    period = find_period(change.connection, tenant.tenant_id, month=begun.month)
    if period is not None and period.state == PeriodState.CLOSED:
        made = invoices_of(change.connection, tenant.tenant_id, begun.month)
        return _outcome(tenant, Outcome.ALREADY_CLOSED, made)
    currencies = {each.price.currency for each in sums}
    currencies |= currencies_to_give(change.connection, tenant.tenant_id)
    made = []
    if tenant.kind != TenantKind.TEST:
        for currency in sorted(currencies):
            own = [each for each in sums if each.price.currency == currency]
            made += _document(change, one, begun, currency=currency, sums=own)
    end_close(change, tenant.tenant_id, month=begun.month)
    return _outcome(tenant, Outcome.CLOSED, made, accepted=one.accepted)


def _document(
    change: Change, one: _Ready, begun: Begun, *, currency: str, sums: Sequence[PricedSum]
) -> list[Invoice]:
    """The document of one currency; none where nothing is to be said."""
    given = lines_to_give(change.connection, one.tenant.tenant_id, currency)
    lines = _pointed(
        change.connection, one.tenant, usage_lines(sums, begun.month, currency), currency
    )
    lines += [line for _, line in given]
    if not lines:
        return []
    digest = Digest()
    for each in sums:
        digest = digest.plus(each.digest)
    made = make_invoice(
        change,
        Contents(
            tenant=one.tenant,
            window=one.window,
            currency=currency,
            begun=begun,
            lines=lines,
            annex=annex(sums),
            digest=digest,
        ),
    )
    for dispute_id, _ in given:
        given_on(change, dispute_id, made.number)
    return [made]


def _pointed(
    connection: Connection, tenant: Tenant, lines: list[InvoiceLine], currency: str
) -> list[InvoiceLine]:
    """The lines; those of earlier months with what they correct, and why."""
    months = {line.service_month for line in lines if line.kind != LineKind.USAGE}
    if not months:
        return lines
    earlier = billed_lines(connection, tenant.tenant_id, currency=currency, months=months)
    return pointed(lines, earlier, rerate_reasons(connection, tenant.tenant_id, months))


def _not_invoiced(
    cursor: duckdb.DuckDBPyConnection,
    ledger: Ledger,
    order: CloseOrder,
    *,
    known: Mapping[str, Tenant],
    settle_seq: int,
) -> Iterator[NotInvoiced]:
    """Usage of the month that no document bills: what is missing between Σ usage and Σ invoices."""
    scopes = []
    silent: dict[str, str] = {}  # tenants without a document, and why
    with ledger.read() as connection:
        for tenant in known.values():
            begun = find_begun(connection, tenant.tenant_id, month=order.month)
            window = month_window(order.month, ZoneInfo(tenant.billing_zone))
            after = begun.adjusted_after_mark if begun else settle_seq
            mark = begun.settle_mark if begun else settle_seq
            scopes.append(
                TenantScope(tenant_id=tenant.tenant_id, window=window, after_seq=after, mark=mark)
            )
            if tenant.kind == TenantKind.TEST:
                silent[tenant.tenant_id] = "test_tenant"
            elif begun is None:
                silent[tenant.tenant_id] = "not_closed"
    for each in read_not_billed(cursor, scopes):
        yield _listed(each, each.reason)
    house = month_window(order.month, order.house_zone)
    for each in read_not_invoiced(cursor, known, house):
        yield _listed(each, each.reason)
    own = [scope for scope in scopes if scope.tenant_id in silent]
    for tenant_id, sums in read_sums(cursor, own).items():
        for currency in sorted({each.price.currency for each in sums}):
            lines = [each for each in sums if each.price.currency == currency]
            amount = exact_sum(row.amount for row in annex(lines))
            yield NotInvoiced(
                reason=silent[tenant_id],
                tenant_id=tenant_id,
                currency=currency,
                requests=sum(each.digest.requests for each in lines),
                amount_min=amount,
                amount_max=amount,
            )


def _listed(each: NotBilled, reason: str) -> NotInvoiced:
    return NotInvoiced(
        reason=reason,
        tenant_id=each.tenant_id,
        currency=each.currency,
        requests=each.requests,
        amount_min=each.amount_min,
        amount_max=each.amount_max,
    )


def _scope(one: _Ready, begun: Begun) -> TenantScope:
    return TenantScope(
        tenant_id=begun.tenant_id,
        window=one.window,
        after_seq=begun.adjusted_after_mark,
        mark=begun.settle_mark,
    )


def _outcome(
    tenant: Tenant,
    outcome: Outcome,
    made: Sequence[Invoice] = (),
    *,
    blockers: Sequence[Blocker] = (),
    accepted: Sequence[Blocker] = (),
) -> TenantClose:
    return TenantClose(
        tenant_id=tenant.tenant_id,
        kind=tenant.kind,
        outcome=outcome,
        documents=[
            MadeDocument(
                number=each.number,
                kind=each.kind,
                currency=each.currency,
                net_amount=each.net_amount,
                exact_amount=each.exact_amount,
            )
            for each in made
            if each.state != "void"
        ],
        blockers=blockers,
        accepted=accepted,
    )
