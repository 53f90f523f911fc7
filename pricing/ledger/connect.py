"""The ledger's transactions: reads see one moment, writes take turns and are all on record."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from pricing.errors import AlreadyExists, NotFound, RequestInvalid, StoreUnavailable
from pricing.ledger.tables import audit_entry

BUSY_TIMEOUT_MILLISECONDS = 10_000
TURN = 0x746F6B656E74696C  # PostgreSQL advisory lock of the ledger's writers ("tokentil")


@dataclass(frozen=True, slots=True)
class Change:
    """One write transaction. Every row that it inserts or updates gets an audit entry.

    at: aware UTC time of the change, passed in. actor: key id, or the command that acts.
    """

    connection: Connection
    at: datetime
    actor: str
    request_id: str | None = None

    def insert(self, table: Table, row: Mapping[str, Any]) -> None:
        """Insert one row. Raises AlreadyExists where its id is taken."""
        key = _key(table, row)
        if self._row(table, key) is not None:  # true until the commit: writers take turns
            raise AlreadyExists(f"There is a {_words(table)} {_label(key)} already.")
        with _rules_kept():
            self.connection.execute(insert(table).values(**row))
        self._record("insert", table, key, before=None, after=row)

    def update(
        self, table: Table, key: Mapping[str, Any], changes: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Change the row of `key` and return it as it is now.

        Raises NotFound, and RequestInvalid where a value breaks a rule of the table.
        """
        before = self._row(table, key)
        if before is None:
            raise NotFound(f"There is no {_words(table)} {_label(key)}.")
        after = {**before, **changes}
        if after == before:
            return after
        for name, value in changes.items():
            if value is None and not table.c[name].nullable:
                raise RequestInvalid(f"{name} of a {_words(table)} cannot be empty.")
        statement = update(table).where(*(table.c[name] == key[name] for name in key))
        with _rules_kept():
            self.connection.execute(statement.values(**changes))
        changed = [name for name in after if after[name] != before[name]]
        self._record(
            "update",
            table,
            key,
            before={name: before[name] for name in changed},
            after={name: after[name] for name in changed},
            tenant_id=after.get("tenant_id"),
        )
        return after

    def _row(self, table: Table, key: Mapping[str, Any]) -> dict[str, Any] | None:
        query = select(table).where(*(table.c[name] == key[name] for name in key))
        row = self.connection.execute(query).mappings().one_or_none()
        return None if row is None else dict(row)

    def _record(
        self,
        action: str,
        table: Table,
        key: Mapping[str, Any],
        *,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any],
        tenant_id: str | None = None,
    ) -> None:
        self.connection.execute(
            insert(audit_entry).values(
                at=self.at,
                actor=self.actor,
                request_id=self.request_id,
                action=action,
                subject=table.name,
                subject_key=_label(key),
                tenant_id=tenant_id or after.get("tenant_id"),
                before=None if before is None else _shown(table, before),
                after=_shown(table, after),
            )
        )


class Ledger:
    """The ledger's engine. Writers take turns, across processes and on both databases alike."""

    def __init__(self, url: str) -> None:
        self.engine = ledger_engine(url)
        self._turn = threading.Lock()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: everything read in it is of one moment."""
        with available(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self, *, actor: str, at: datetime, request_id: str | None = None) -> Iterator[Change]:
        """A write transaction at the UTC time `at`; commits at the end, or nothing on an error.

        What it has read stays true until it commits, since no other writer runs beside it.
        """
        with available(), self._turn, writing(self.engine) as connection:
            yield Change(connection, at, actor, request_id)

    def close(self) -> None:
        """Give every connection back."""
        self.engine.dispose()


def ledger_engine(url: str, *, foreign_keys: bool = True) -> Engine:
    """An engine whose transactions mean the same on SQLite and on PostgreSQL.

    foreign_keys: off only for migrations, which rebuild SQLite's tables and would cascade.
    """
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", partial(_prepare_sqlite, foreign_keys=foreign_keys))
        event.listen(engine, "begin", _begin_sqlite)
    elif engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="REPEATABLE READ")
    return engine


def _prepare_sqlite(connection: Any, _record: object, *, foreign_keys: bool) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late and is deferred
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MILLISECONDS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        f"foreign_keys = {foreign_keys}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # a deferred BEGIN that has read and then writes after another writer's commit fails at once
    write = connection.get_execution_options().get("tokentill_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that no other writer of the ledger runs beside, in any process."""
    with engine.connect() as connection:
        connection.execution_options(tokentill_write=True)
        if engine.dialect.name == "postgresql":
            # each statement must see what the writer before committed while this one waited
            connection.execution_options(isolation_level="READ COMMITTED")
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:turn)"), {"turn": TURN})
            yield connection


@contextmanager
def available() -> Iterator[None]:
    """A database that cannot be reached or written is a StoreUnavailable, not a crash."""
    try:
        yield
    except OperationalError as error:
        raise StoreUnavailable(f"The ledger cannot be used: {error.orig}.") from error


@contextmanager
def _rules_kept() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        # the rule's name alone: PostgreSQL's message would show the whole row
        diagnosis = getattr(error.orig, "diag", None)
        rule = diagnosis.constraint_name if diagnosis else str(error.orig).rpartition(": ")[2]
        raise RequestInvalid(
            f"The values break the rule {rule} of the ledger.",
            remedy="Make them agree with each other; docs/api/errors.md explains the rules.",
        ) from error


def _key(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    return {column.name: row[column.name] for column in table.primary_key if column.name in row}


def _label(key: Mapping[str, Any]) -> str:
    return "/".join(str(value) for value in key.values())


def _words(table: Table) -> str:
    return table.name.replace("_", " ")


def _shown(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as JSON, without secrets."""
    return {
        name: _plain(value) for name, value in row.items() if not table.c[name].info.get("secret")
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    return f"{value:f}" if isinstance(value, Decimal) else value
