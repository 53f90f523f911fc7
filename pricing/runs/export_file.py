"""One export of a month as one file, of any length, inside a scope."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
from sqlalchemy import Connection

from metering.windows import Window, month_window
from pricing.errors import NotAllowed, RequestInvalid
from pricing.exports.focus import FOCUS, focus_table
from pricing.exports.invoice_tables import LINES, SUMMARY, lines_table, summary_table
from pricing.exports.month_tables import chargeback_table, servers_table
from pricing.exports.streams import BATCH_ROWS, STREAMS, write_csv_stream
from pricing.ledger.invoice_tables import InvoiceState
from pricing.ledger.invoices import Invoice, lines_of, list_invoices
from pricing.ledger.rows import Page
from pricing.reports.chargeback import chargeback_report
from pricing.reports.revenue_servers import servers_report
from pricing.runs.listed import ListPrices
from pricing.runs.statements import run
from pricing.scope import Scope

PAGE_ROWS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOrder:
    """What is exported. zone cuts the month for kinds that are not cut by tenant.

    bom: a byte order mark before CSV, which some spreadsheets need to read it as UTF-8.
    """

    kind: str
    month: date
    zone: ZoneInfo
    scope: Scope
    bom: bool = False

    @property
    def window(self) -> Window:
        """The month in UTC."""
        return month_window(self.month, self.zone)


def export_file(
    cursor: duckdb.DuckDBPyConnection,
    connection: Connection,
    order: ExportOrder,
    *,
    format_: str,
    path: Path,
    progress: Callable[[int], None] = lambda _rows: None,
) -> int:
    """Write the export to `path`; returns its rows. Raises RequestInvalid for unknown words.

    progress: told the rows written so far.
    """
    if order.kind not in KINDS:
        raise RequestInvalid(
            f"There is no export {order.kind!r}.", remedy=f"Exports are: {', '.join(KINDS)}."
        )
    if format_ not in STREAMS:
        raise RequestInvalid(
            f"There is no format {format_!r}.", remedy=f"Formats are: {', '.join(STREAMS)}."
        )
    if order.bom and format_ != "csv":
        raise RequestInvalid("Only CSV has a byte order mark.", remedy="Leave bom out.")
    rows = KINDS[order.kind](cursor, connection, order)
    counted = _counted(rows, progress)
    if order.bom:
        return write_csv_stream(path, counted, bom=True)
    return STREAMS[format_](path, counted)


def _counted(
    batches: pa.RecordBatchReader, progress: Callable[[int], None]
) -> pa.RecordBatchReader:
    def counted() -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in batches:
            yield batch
            rows += batch.num_rows
            progress(rows)

    return pa.RecordBatchReader.from_batches(batches.schema, counted())


def _chargeback(
    cursor: duckdb.DuckDBPyConnection, _: Connection, order: ExportOrder
) -> pa.RecordBatchReader:
    rows = chargeback_report(cursor, order.window, tenant_id=order.scope.tenant_id)
    return chargeback_table(f"{order.month:%Y-%m}", rows).to_reader()


def _servers(
    cursor: duckdb.DuckDBPyConnection, _: Connection, order: ExportOrder
) -> pa.RecordBatchReader:
    if not order.scope.every_tenant:
        raise NotAllowed("What servers earn is the house's own.", remedy="Export chargeback.")
    found = servers_report(cursor, order.window)
    return servers_table(f"{order.month:%Y-%m}", found).to_reader()


def _requests(
    cursor: duckdb.DuckDBPyConnection, _: Connection, order: ExportOrder
) -> pa.RecordBatchReader:
    values: dict[str, Any] = {
        "start_at": order.window.start_at.replace(tzinfo=None),
        "end_at": order.window.end_at.replace(tzinfo=None),
        "every_tenant": order.scope.every_tenant,
        "tenant_id": order.scope.tenant_id,
    }
    return run(cursor, "export_requests", values).to_arrow_reader(BATCH_ROWS)


def _invoices(
    _: duckdb.DuckDBPyConnection, connection: Connection, order: ExportOrder
) -> pa.RecordBatchReader:
    return _of_invoices(connection, order, SUMMARY, lambda found: summary_table([found]))


def _lines(
    _: duckdb.DuckDBPyConnection, connection: Connection, order: ExportOrder
) -> pa.RecordBatchReader:
    return _of_invoices(
        connection,
        order,
        LINES,
        lambda found: lines_table(found, lines_of(connection, found.number)),
    )


def _focus(
    _: duckdb.DuckDBPyConnection, connection: Connection, order: ExportOrder
) -> pa.RecordBatchReader:
    list_price = ListPrices(connection)
    return _of_invoices(
        connection,
        order,
        FOCUS,
        lambda found: focus_table(found, lines_of(connection, found.number), list_price),
    )


def _of_invoices(
    connection: Connection,
    order: ExportOrder,
    schema: pa.Schema,
    table_of: Callable[[Invoice], pa.Table],
) -> pa.RecordBatchReader:
    def batches() -> Iterator[pa.RecordBatch]:
        after: tuple[str] | None = None
        while True:
            page = Page(PAGE_ROWS, after)
            found = list_invoices(connection, order.scope, month=order.month, page=page)
            for each in found:
                if each.state != InvoiceState.VOID:
                    yield from table_of(each).to_batches(max_chunksize=BATCH_ROWS)
            if len(found) < PAGE_ROWS:
                return
            after = (found[-1].number,)

    return pa.RecordBatchReader.from_batches(schema, batches())


KINDS: Final[Mapping[str, Callable[..., pa.RecordBatchReader]]] = {
    "chargeback": _chargeback,
    "servers": _servers,
    "requests": _requests,
    "invoices": _invoices,
    "lines": _lines,
    "focus": _focus,
}
