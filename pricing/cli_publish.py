"""`tokentill prices publish` and `what-if`: a book through a running server, before and after."""

import json
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from metering.windows import parse_time
from pricing.client import ApiError, ApiUnreachable, Client
from pricing.errors import ConfigInvalid, PricingError
from pricing.settings import load_settings

ConfigFile = Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")]
ApiUrl = Annotated[str | None, typer.Option(help="The server; else TOKENTILL_API_URL.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; money is text.")]
BookFile = Annotated[Path, typer.Argument(help="Price book (TOML).")]
POLL_SECONDS: Final = 0.5


class State(StrEnum):
    """Where a book stands once the command is done."""

    DRAFT = "draft"
    REVIEWED = "reviewed"
    PUBLISHED = "published"


def _time(given: str | datetime) -> datetime:
    try:
        return given if isinstance(given, datetime) else parse_time(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Time = Annotated[datetime, typer.Option(parser=_time, metavar="TIME", help="ISO 8601 with zone.")]


def add_to(prices: typer.Typer) -> None:
    """Add both commands to `prices`."""
    example = "Example: tokentill prices publish list.toml --state draft"
    prices.command(epilog=example)(publish)
    example = (
        "Example: tokentill prices what-if list.toml --start 2026-09-01T00:00:00+08:00 "
        "--end 2026-10-01T00:00:00+08:00"
    )
    prices.command("what-if", epilog=example)(what_if)


def publish(
    book: BookFile,
    *,
    state: Annotated[State, typer.Option(help="How far to move it.")] = State.PUBLISHED,
    wait_seconds: Annotated[
        float, typer.Option(min=0, help="How long to wait for what the re-rate changed.")
    ] = 60,
    api_url: ApiUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Publish a book, or keep it as a draft, or say that you have reviewed a draft.

    It is checked as a whole first. After publishing, what that changed in open months is printed by
    tenant, in money; closed months never change.
    """
    try:
        with _client(api_url, config) as client:
            kept = client.publish_prices(book.read_text("utf-8"), state=state.value)
            _warn(book, kept)
            words = f"{kept['book']} revision {kept['revision']} is {kept['state']}."
            typer.echo(words, err=True)
            if kept["state"] != State.PUBLISHED:
                typer.echo(json.dumps(_brief(kept)) if as_json else kept["state"])
                return
            effects = _effects(client, kept, wait_seconds)
    except (OSError, UnicodeDecodeError, PricingError, ApiError, ApiUnreachable) as error:
        _refuse(error, book)
    if as_json:
        typer.echo(json.dumps(effects, ensure_ascii=False))
        return
    _print_changes(effects, ("tenant_id", "currency"))
    if not effects["finished"]:
        place = f"/v1/prices/{kept['book']}/{kept['revision']}/effects"
        typer.echo(f"Open requests are still being rated anew; ask later: GET {place}", err=True)


def what_if(
    book: BookFile,
    *,
    start: Time,
    end: Time,
    api_url: ApiUrl = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Price a past window by another book: the difference by tenant, model and line.

    Nothing is touched. The book takes the place of the published one of its name, else of the
    default book. Closed months can be tried too.
    """
    try:
        with _client(api_url, config) as client:
            tried = client.what_if(book.read_text("utf-8"), start, end)
    except (OSError, UnicodeDecodeError, PricingError, ApiError, ApiUnreachable) as error:
        _refuse(error, book)
    if as_json:
        typer.echo(json.dumps(tried, ensure_ascii=False))
        return
    _print_changes(tried, ("tenant_id", "model_id", "line", "currency"))


def _client(api_url: str | None, config: Path | None) -> Client:
    api = load_settings(config).api
    url = api_url or api.url
    if url is None or api.key is None:
        raise ConfigInvalid(
            "This needs a running server and a key.",
            remedy="Set TOKENTILL_API_URL (or --api-url) and TOKENTILL_API_KEY.",
        )
    return Client(url, api.key.get_secret_value(), timeout_seconds=600)


def _effects(client: Client, kept: Mapping[str, Any], wait_seconds: float) -> dict[str, Any]:
    """What the publication changed, once all open requests are rated anew or time is up."""
    deadline = time.monotonic() + wait_seconds
    while True:
        effects = client.price_effects(kept["book"], kept["revision"])
        if effects["finished"] or time.monotonic() >= deadline:
            return effects
        time.sleep(POLL_SECONDS)


def _brief(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kept.items() if name != "toml_text"}


def _warn(book: Path, kept: Mapping[str, Any]) -> None:
    for each in kept["warnings"]:
        place = str(book) if each["line"] is None else f"{book}:{each['line']}"
        typer.echo(
            f"{place}: warning: {each['where']}: {each['message']} {each['remedy']}", err=True
        )


def _print_changes(found: Mapping[str, Any], names: Iterable[str]) -> None:
    """One line a change: what it is about, before, after, difference; then the totals."""
    amounts = ("amount_before", "amount_after", "difference")
    for row in found["items"]:
        cells = (*(row[name] for name in names), *(row[name] for name in amounts))
        typer.echo("\t".join("-" if cell is None else str(cell) for cell in cells))
    for total in found["totals"]:
        before, after, difference = (total[name] for name in amounts)
        typer.echo(
            f"{total['currency']}: {before} before, {after} after, difference {difference}.",
            err=True,
        )
    if not found["items"]:
        typer.echo("Nothing changes.", err=True)


def _refuse(error: Exception, book: Path) -> NoReturn:
    """End with the message; mistakes of the book each on a line of their own."""
    for each in error.errors if isinstance(error, ApiError) else []:
        typer.echo(f"{book}: {each['field']}: {each['reason']}", err=True)
    typer.echo(f"tokentill prices: {error}", err=True)
    raise typer.Exit(1) from error
