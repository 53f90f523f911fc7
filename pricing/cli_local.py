"""Where a command finds the house: the API where its address is set, else the stores themselves."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import duckdb
import typer
from pydantic import BaseModel
from sqlalchemy import Connection

from metering.errors import MeteringError
from metering.store.connect import open_store
from pricing.client import ApiError, ApiUnreachable, Client
from pricing.errors import PricingError, ServeRunning
from pricing.home import own_home
from pricing.ledger.connect import Ledger
from pricing.ledger.rows import Page
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.runs.ledger_rules import LedgerRules
from pricing.runs.reprice import needs_repricing, reprice_open
from pricing.runs.settle import Rules, settle_due, settle_new
from pricing.settings import Settings, load_settings

ConfigFile = Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; money is decimal text.")]
EXPECTED: Final = (PricingError, MeteringError, ApiError, ApiUnreachable, ValueError)
TIMEOUT_SECONDS: Final = 3600
PAGE_ROWS: Final = 1_000
LISTED_MAX: Final = 100_000
WAIT_SECONDS: Final = 60.0  # for another command that owns the stores
PAUSE_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class LocalHouse:
    """Both stores, owned by this process."""

    settings: Settings
    ledger: Ledger
    cursor: duckdb.DuckDBPyConnection
    now: datetime

    def rules(self) -> Rules:
        """The rules in force."""
        default = self.settings.prices.default_book
        return LedgerRules(self.ledger, default_book=default).at(self.now)

    def settle(self) -> None:
        """What the settler of a server would have done by now."""
        rules = self.rules()
        if needs_repricing(self.cursor, rules):
            list(reprice_open(self.cursor, rules, now=self.now))
        while settle_new(self.cursor, rules, now=self.now).legs:
            pass
        settle_due(self.cursor, rules, now=self.now)


def do(
    command: str,
    config: Path | None,
    by_api: Callable[[Client], Any],
    locally: Callable[[LocalHouse], Any],
) -> Any:
    """The result of the one that fits; an expected failure ends the command with its remedy."""
    try:
        settings = load_settings(config)
        if settings.api.url is None:
            with local_house(settings) as house:
                return locally(house)
        key = settings.api.key.get_secret_value() if settings.api.key else ""
        with Client(settings.api.url, key, timeout_seconds=TIMEOUT_SECONDS) as client:
            return by_api(client)
    except EXPECTED as error:
        typer.echo(f"tokentill {command}: {error}", err=True)
        raise typer.Exit(1) from error


def every_page(client: Client, path: str, **asked: Any) -> list[dict[str, Any]]:
    """All rows of a list route."""
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = client.get(path, **asked, limit=PAGE_ROWS, cursor=cursor)
        rows += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return rows


def listed(
    command: str,
    config: Path | None,
    *,
    path: str,
    shape: type[BaseModel],
    read: Callable[[Connection, Page], Sequence[Any]],
) -> Any:
    """Every row of a list, as the API shows it: from the route `path`, or read from the ledger."""

    def locally(house: LocalHouse) -> Any:
        with house.ledger.read() as connection:
            found = read(connection, Page(LISTED_MAX))
        return [plain(shape.model_validate(each)) for each in found]

    return do(command, config, lambda client: every_page(client, path), locally)


def plain(value: BaseModel) -> dict[str, Any]:
    """A shape of the API as the JSON that the API would send."""
    return value.model_dump(mode="json")


def show(found: Any, *, as_json: bool, columns: Sequence[str]) -> None:
    """Print JSON, or a line a row: these columns, apart by tabs."""
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    for row in found if isinstance(found, list) else [found]:
        typer.echo("\t".join("-" if row[name] is None else str(row[name]) for name in columns))


@contextmanager
def local_house(settings: Settings) -> Iterator[LocalHouse]:
    """Own the stores; waits a minute for another command, and tells who owns them after that."""
    with ExitStack() as closing:
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                closing.enter_context(own_home(settings.home))
                break
            except ServeRunning:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(PAUSE_SECONDS)
        upgrade_ledger(settings.ledger_url)
        upgrade_usage(settings.usage_path)
        ledger = Ledger(settings.ledger_url)
        closing.callback(ledger.close)
        limits = settings.store
        store = open_store(
            settings.usage_path, memory_limit=limits.memory_limit, threads=limits.threads_alone()
        )
        closing.callback(store.close)
        yield LocalHouse(settings, ledger, store.cursor(), datetime.now(UTC))
