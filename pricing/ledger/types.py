"""Column types that hold the same value on SQLite and on PostgreSQL."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import DateTime, Dialect, Numeric, String
from sqlalchemy.types import TypeDecorator, TypeEngine


class ExactDecimal(TypeDecorator[Decimal]):
    """A Decimal that comes back digit for digit.

    SQLite's NUMERIC passes through a float (99999999999999.99 came back …984375), so it is text
    there and nothing may be summed in SQL; PostgreSQL has NUMERIC without a bound.
    """

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Text on SQLite, NUMERIC elsewhere."""
        return dialect.type_descriptor(String() if dialect.name == "sqlite" else Numeric())

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        """Plain digits, without exponent."""
        if value is not None and not isinstance(value, Decimal):
            raise TypeError(f"expected a Decimal, got {value!r}: money is never a float")
        return f"{value:f}" if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:  # noqa: ARG002
        """The Decimal that was stored."""
        return None if value is None else Decimal(value)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time; a naive one is refused (docs/architecture.md, V9)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """UTC; without its zone on SQLite, which has none."""
        if value is None:
            return None
        if value.utcoffset() is None:
            raise ValueError(f"a time needs a zone, got {value!r}")
        at = value.astimezone(UTC)
        return at.replace(tzinfo=None) if dialect.name == "sqlite" else at

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Aware UTC."""
        if value is None:
            return None
        at = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        assert at.utcoffset() == timedelta(0)  # noqa: S101 - the type's promise
        return at
