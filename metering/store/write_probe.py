"""Whether the store can be written, without writing anything that stays."""

import duckdb

from metering.store.connect import transaction
from metering.store.sql_text import read_sql


def prove_writable(cursor: duckdb.DuckDBPyConnection) -> None:
    """Commit a change to the log. Raises what a disk in trouble raises.

    The caller holds `Store.write_lock`.
    """
    with transaction(cursor):
        cursor.execute(read_sql("metering.store", "write_probe"))
        cursor.execute(read_sql("metering.store", "write_probe_end"))
