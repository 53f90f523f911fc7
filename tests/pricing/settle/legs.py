"""A store, rules and legs in a line; a test changes only what it is about."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.store.connect import Store, open_store
from metering.usage import event_id
from metering.wire import to_batch
from pricing.directory import Directory
from pricing.flags import flag_names
from pricing.policy import Policy
from pricing.price_book import Catalogue
from pricing.runs.price_cells import PriceCells
from pricing.runs.settle import Rules, settle_due, settle_new
from tests.pricing.price_rows import book, entry

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
START = datetime(2026, 6, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """A UTC time so many seconds after START."""
    return START + timedelta(seconds=seconds)


def leg(name: str, **change: Any) -> dict[str, Any]:
    """A valid unified leg: 1,000 input tokens, 400 of them cached, 50 output tokens."""
    base: dict[str, Any] = {
        "event_id": event_id("test", name.encode()),
        "stage": "unified",
        "status": "ok",
        "model_id": "m-river",
        "tenant_id": "t-alder",
        "node_id": "u1",
        "started_at": at(0),
        "finished_at": at(9),
        "input_tokens": 1000,
        "cached_input_tokens": 400,
        "output_tokens": 50,
    }
    return base | change


def prefill(name: str, **change: Any) -> dict[str, Any]:
    """The prefill leg of key k1, finished after one second, with its one internal token."""
    own = {"stage": "prefill", "node_id": "p1", "join_key": "k1", "finished_at": at(1)}
    return leg(name, **(own | {"output_tokens": 1} | change))


def decode(name: str, **change: Any) -> dict[str, Any]:
    """The decode leg of key k1, finished after nine seconds."""
    return leg(name, **({"stage": "decode", "node_id": "d1", "join_key": "k1"} | change))


def rules(
    catalogue: Catalogue | None = None, directory: Directory | None = None, **policy: Any
) -> Rules:
    """Case C01's prices (2.00 / 0.20 / 8.00 CNY) and the default policies, changed by name."""
    listed = catalogue or Catalogue([book(entry())], "list")
    return Rules(
        prices=PriceCells(listed),
        policy=Policy(**policy),
        directory=directory or Directory(),
    )


class Till:
    """A store in memory that is fed and settled."""

    def __init__(self, used: Rules | None = None) -> None:
        self.rules = used or rules()
        self.store: Store = open_store(None)
        self.cursor: duckdb.DuckDBPyConnection = self.store.cursor()

    def feed(self, *legs: dict[str, Any], now: datetime = NOW) -> None:
        """Append the legs as one batch and settle them."""
        table = pa.Table.from_batches([to_batch(legs)])
        append_legs(self.cursor, [LegBatch(table=table, sender="test")], now)
        self.settle(now)

    def settle(self, now: datetime = NOW) -> None:
        """Settle what was appended."""
        settle_new(self.cursor, self.rules, now=now)

    def give_up(self, now: datetime = NOW + timedelta(days=4)) -> None:
        """Let every orphan time pass."""
        settle_due(self.cursor, self.rules, now=now)

    def rows(self, columns: str, source: str, *, where: str = "true") -> list[tuple[Any, ...]]:
        """Rows of a table or view of the store, in order."""
        query = f"SELECT {columns} FROM {source} WHERE {where} ORDER BY ALL"  # noqa: S608
        return self.cursor.execute(query).fetchall()

    def requests(self) -> dict[str, tuple[Any, ...]]:
        """Current requests: disposition, reason, amount, flags by the id of their leg."""
        columns = "request_id::VARCHAR, disposition, reason, sum(sign * amount), flags"
        query = (
            f"SELECT {columns} FROM request_money GROUP BY request_id, disposition, reason, flags "  # noqa: S608
            "HAVING sum(sign) > 0"
        )
        return {
            row[0].replace("-", ""): (row[1], row[2], row[3], flag_names(row[4]))
            for row in self.cursor.execute(query).fetchall()
        }

    def amount(self, view: str = "usage_money") -> Decimal:
        """Billed amount by one of the views; V7 says that all three agree."""
        weight = "sign * amount" if view == "request_money" else "amount"
        rows = self.rows(f"coalesce(sum({weight}), 0)", view, where="disposition = 'billed'")
        return rows[0][0].normalize()


def fed(*legs: dict[str, Any], used: Rules | None = None) -> Till:
    """A till that got the legs one by one."""
    till = Till(used)
    for one in legs:
        till.feed(one)
    return till


def shuffled(items: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """`items` in another order."""
    return [items[i] for i in order]
