"""The catalogue as a table of cells for the settler's join (pricing/price_grid.py)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa

from metering.windows import Window
from pricing.flags import flag_bits
from pricing.price_book import Catalogue
from pricing.price_grid import Cell, grid
from pricing.price_key import PRICE_FIELDS, PriceKey
from pricing.runs.statements import run

COUNT_UNBOUNDED: Final = 2**62  # tokens; above every count that a record may carry
CACHED_CASES_MAX: Final = 20_000
PRICE: Final = pa.decimal128(18, 9)
CELL_SCHEMA: Final = pa.schema(
    [
        ("model_id", pa.string()),
        ("contract_tenant_id", pa.string()),
        ("service_tier", pa.string()),
        ("region", pa.string()),
        ("from_at", pa.timestamp("us")),
        ("until_at", pa.timestamp("us")),
        ("input_from", pa.int64()),
        ("input_until", pa.int64()),
        ("output_from", pa.int64()),
        ("output_until", pa.int64()),
        ("price_key", pa.int64()),
        ("reason", pa.string()),
        ("flags", pa.int64()),
        ("cached_is_input", pa.bool_()),
        *((f"has_{name.removesuffix('_price')}", pa.bool_()) for name in PRICE_FIELDS),
    ]
)
KEY_SCHEMA: Final = pa.schema(
    [
        ("price_key", pa.int64()),
        *(
            (name, pa.string())
            for name in (
                "currency",
                "book",
                "book_revision",
                "entry",
                "context_tier",
                "band",
                "service_tier",
                "region",
                "contract",
            )
        ),
        *((name, PRICE) for name in PRICE_FIELDS),
    ]
)


class Case(NamedTuple):
    """What the catalogue is asked for: one kind of request within whole UTC days."""

    model_id: str
    contract_tenant_id: str | None
    service_tier: str | None
    region: str | None
    start_at: datetime
    end_at: datetime


@dataclass(slots=True)
class PriceCells:
    """Cells of one catalogue, remembered by case; a new catalogue gets a new object."""

    catalogue: Catalogue
    catalogue_id: str = ""  # names the books' revisions; another id makes open requests rated anew
    _known: dict[Case, tuple[Cell, ...]] = field(default_factory=dict)

    def register(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Make price_cell for the batch in table owned, and insert the price keys it may use."""
        insert_price_keys(cursor, self.register_cells(cursor))

    def register_cells(self, cursor: duckdb.DuckDBPyConnection) -> dict[int, PriceKey]:
        """Make price_cell for the batch in table owned; the price keys it may use, not stored."""
        cases = [_case(row) for row in run(cursor, "settle_price_cases").fetchall()]
        rows: list[dict[str, Any]] = []
        keys: dict[int, PriceKey] = {}
        for case in cases:
            for cell in self._cells(case):
                rows.append(_cell_row(case, cell))
                if cell.price is not None:
                    keys[cell.price.id] = cell.price
        cursor.register("new_price_cell", pa.Table.from_pylist(rows, schema=CELL_SCHEMA))
        run(cursor, "price_cells")
        cursor.unregister("new_price_cell")
        return keys

    def _cells(self, case: Case) -> tuple[Cell, ...]:
        if case not in self._known:
            if len(self._known) >= CACHED_CASES_MAX:
                self._known.clear()
            self._known[case] = grid(
                self.catalogue,
                model_id=case.model_id,
                tenant_id=case.contract_tenant_id,
                service_tier=case.service_tier,
                region=case.region,
                window=Window(case.start_at, case.end_at),
            )
        return self._known[case]


def insert_price_keys(cursor: duckdb.DuckDBPyConnection, keys: dict[int, PriceKey]) -> None:
    """Insert those keys that the store does not have yet; keys are immutable."""
    if not keys:
        return
    cursor.register("new_price_key", price_key_table(keys))
    run(cursor, "insert_price_keys")
    cursor.unregister("new_price_key")


def price_key_table(keys: Mapping[int, PriceKey]) -> pa.Table:
    """The keys as rows of table price_key."""
    rows = [_key_row(number, key) for number, key in keys.items()]
    return pa.Table.from_pylist(rows, schema=KEY_SCHEMA)


def _case(row: Iterable[Any]) -> Case:
    model_id, tenant_id, tier, region, first_at, last_at = row
    start = first_at.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)
    end = last_at.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=UTC)
    return Case(model_id, tenant_id, tier, region, start, end + timedelta(days=1))


def _cell_row(case: Case, cell: Cell) -> dict[str, Any]:
    price = cell.price
    has = {
        f"has_{name.removesuffix('_price')}": price is not None and getattr(price, name) is not None
        for name in PRICE_FIELDS
    }
    return {
        **case._asdict(),
        "from_at": cell.from_at.replace(tzinfo=None),
        "until_at": cell.until_at.replace(tzinfo=None),
        "input_from": cell.input_from,
        "input_until": COUNT_UNBOUNDED if cell.input_until is None else cell.input_until,
        "output_from": cell.output_from,
        "output_until": COUNT_UNBOUNDED if cell.output_until is None else cell.output_until,
        "price_key": price.id if price else None,
        "reason": cell.reason,
        "flags": flag_bits(cell.findings),
        "cached_is_input": price is not None
        and price.input_price == price.cached_price == price.cached_explicit_price,
        **has,
    }


def _key_row(number: int, key: PriceKey) -> dict[str, Any]:
    prices: dict[str, Decimal | None] = {name: getattr(key, name) for name in PRICE_FIELDS}
    texts = {f.name: getattr(key, f.name) for f in KEY_SCHEMA if f.type == pa.string()}
    return {"price_key": number, **texts, **prices}
