"""`tokentill keys`: credentials, through the API where its address is set, else in the ledger."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from pricing.client import ApiError, ApiUnreachable, Client
from pricing.errors import ConfigInvalid, PricingError
from pricing.ledger.connect import Change, Ledger
from pricing.ledger.keys import ApiKey, NewKey, create_key, list_keys, revoke_key, rotate_key
from pricing.ledger.rows import Page
from pricing.ledger.upgrade import upgrade_ledger
from pricing.scope import Role, Scope
from pricing.settings import Settings, load_settings

ConfigFile = Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ACTOR = "tokentill keys"
LISTED_MAX = 100_000
app = typer.Typer(no_args_is_help=True, epilog="Example: tokentill keys list")


def register(parent: typer.Typer) -> None:
    """Add `keys` to `parent`."""
    parent.add_typer(app, name="keys", help="Credentials: create, list, rotate, revoke.")


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    *,
    role: Annotated[Role, typer.Option(help="What it may do.")],
    tenant: Annotated[str | None, typer.Option(help="For --role tenant.")] = None,
    node: Annotated[str | None, typer.Option(help="For --role node.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="Cut down to a permission.")] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Ends after so many days.")] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Create a key; its secret is printed on stdout and nowhere else.

    Example: tokentill keys create "sidecar of p01" --role node --node p01
    """
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    asked: dict[str, Any] = {"name": name, "role": role, "tenant_id": tenant, "node_id": node}
    body = asked | {"scopes": scope or None, "expires_at": expires_at and expires_at.isoformat()}

    def in_ledger(change: Change) -> dict[str, Any]:
        scopes = tuple(scope) if scope else None
        return _created(*create_key(change, NewKey(**asked, scopes=scopes, expires_at=expires_at)))

    made = _do(config, lambda client: client.post("/v1/keys", body), in_ledger)
    typer.echo(json.dumps(made) if as_json else made["secret"])
    typer.echo(f"{made['key_id']} ({made['role']}): shown once, keep it.", err=True)


@app.command("list")
def list_(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List keys, without their secrets.

    Example: tokentill keys list
    """
    keys = _do(config, _listed_by_api, _listed)
    if as_json:
        typer.echo(json.dumps(keys))
        return
    for key in keys:
        of = key["tenant_id"] or key["node_id"] or ""
        ended = key["revoked_at"] or key["expires_at"] or ""
        words = (key["key_id"], key["prefix"] + "…", key["role"], of, ended, key["name"])
        typer.echo("  ".join(words))


@app.command()
def rotate(
    key_id: Annotated[str, typer.Argument(help="The key to replace.")],
    overlap_hours: Annotated[int, typer.Option(min=0, help="How long the old one works.")] = 24,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Create a successor with the same rights; the old key works for the overlap.

    Example: tokentill keys rotate key_0f9d2f6f5f8f3c2a --overlap-hours 48
    """
    overlap = timedelta(hours=overlap_hours)
    body = {"overlap_seconds": int(overlap.total_seconds())}
    made = _do(
        config,
        lambda client: client.post(f"/v1/keys/{key_id}/rotate", body),
        lambda change: _created(*rotate_key(change, key_id, overlap=overlap)),
    )
    typer.echo(json.dumps(made) if as_json else made["secret"])
    typer.echo(f"{made['key_id']} replaces {key_id}: shown once, keep it.", err=True)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The key to end.")], config: ConfigFile = None
) -> None:
    """End a key now.

    Example: tokentill keys revoke key_0f9d2f6f5f8f3c2a
    """
    _do(
        config,
        lambda client: client.delete(f"/v1/keys/{key_id}"),
        lambda change: revoke_key(change, key_id),
    )
    typer.echo(f"{key_id} opens nothing any more.", err=True)


def _do(
    config: Path | None, by_api: Callable[[Client], Any], in_ledger: Callable[[Change], Any]
) -> Any:
    """Ask the API if its address is set; else change the ledger, also beside a running server."""
    try:
        settings = load_settings(config)
        if settings.api.url is not None:
            with _client(settings) as client:
                return by_api(client)
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        upgrade_ledger(settings.ledger_url)
        ledger = Ledger(settings.ledger_url)
        try:
            with ledger.write(actor=ACTOR, at=datetime.now(UTC)) as change:
                return in_ledger(change)
        finally:
            ledger.close()
    except (PricingError, ApiError, ApiUnreachable) as error:
        typer.echo(f"tokentill keys: {error}", err=True)
        raise typer.Exit(1) from error


def _client(settings: Settings) -> Client:
    if settings.api.url is None or settings.api.key is None:
        raise ConfigInvalid("api.url is set and api.key is not.", remedy="Set TOKENTILL_API_KEY.")
    return Client(settings.api.url, settings.api.key.get_secret_value())


def _listed_by_api(client: Client) -> list[dict[str, Any]]:
    return [_plain(row) for row in client.api_keys()]


def _listed(change: Change) -> list[dict[str, Any]]:
    keys = list_keys(change.connection, Scope.house(), Page(LISTED_MAX))
    return [_plain(asdict(key)) for key in keys]


def _created(key: ApiKey, secret: str) -> dict[str, Any]:
    return _plain(asdict(key)) | {"secret": secret}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
