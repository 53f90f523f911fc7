"""What the publication of a price book changed, read from the reversals that its re-rate wrote."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb

from pricing.money import exact_arithmetic
from pricing.reports.rows import read_rows
from pricing.runs.statements import run


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceEffect:
    """One tenant's requests that a re-rate wrote anew, and their exact amounts, in `currency`.

    unpriced: those of them that the books now have no price for. currency None: they never had one.
    """

    tenant_id: str | None
    currency: str | None
    requests: int
    unpriced: int
    amount_before: Decimal
    amount_after: Decimal

    @property
    def difference(self) -> Decimal:
        """What the tenant pays more."""
        with exact_arithmetic():
            return self.amount_after - self.amount_before


def price_effects(
    cursor: duckdb.DuckDBPyConnection, *, since: datetime, until: datetime | None
) -> list[PriceEffect]:
    """What was re-rated between the UTC times since (inclusive) and until (exclusive)."""
    rows = read_rows(
        cursor, "price_effects", start_at=_naive(since), end_at=until and _naive(until)
    )
    return [PriceEffect(**row) for row in rows]


def rerate_effects(
    cursor: duckdb.DuckDBPyConnection, month: date, *, since: datetime, until: datetime | None
) -> list[PriceEffect]:
    """What re-rating the closed month changed between the UTC times since and until."""
    rows = read_rows(
        cursor,
        "rerate_effects",
        month=month,
        start_at=_naive(since),
        end_at=until and _naive(until),
    )
    return [PriceEffect(**row) for row in rows]


def rated_by(cursor: duckdb.DuckDBPyConnection) -> str | None:
    """The id of the catalogue by which every open request is rated; None before the first."""
    row = run(cursor, "reprice_catalogue").fetchone()
    return row[0] if row else None


def _naive(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(tzinfo=None)
