"""`tokentill db`: both stores to the newest version, into a backup, and back."""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from metering.errors import MeteringError
from metering.store.connect import open_store
from pricing.backup import back_up_home, restore_home
from pricing.cli_progress import progress_bar
from pricing.client import ApiError, ApiUnreachable, Client
from pricing.errors import PricingError
from pricing.home import own_home
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.settings import Settings, load_settings

ConfigFile = Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")]
EXPECTED = (PricingError, MeteringError, ApiError, ApiUnreachable)
app = typer.Typer(no_args_is_help=True, epilog="Example: tokentill db backup")


def register(parent: typer.Typer) -> None:
    """Add `db` to `parent`."""
    parent.add_typer(app, name="db", help="The stores: upgrade, backup, restore.")


@app.command()
def upgrade(config: ConfigFile = None) -> None:
    """Bring both stores to the newest version; `serve` must be stopped, and does it by itself.

    Example: tokentill db upgrade
    """

    def run(settings: Settings) -> str:
        with own_home(settings.home):
            upgrade_ledger(settings.ledger_url)
            upgrade_usage(settings.usage_path)
        return f"Both stores in {settings.home} are of the newest version."

    typer.echo(_do(config, run), err=True)


@app.command()
def backup(config: ConfigFile = None) -> None:
    """Copy both stores into a new folder or prefix of a bucket, also while usage comes in.

    Prints where they are. TOKENTILL_JOBS_BACKUPS_FOLDER=s3://bucket/prefix sends them to a bucket.

    A running server is asked through the API (TOKENTILL_API_URL, TOKENTILL_API_KEY).

    Example: tokentill db backup
    """

    def run(settings: Settings) -> str:
        if settings.api.url is not None:
            key = settings.api.key.get_secret_value() if settings.api.key else ""
            with Client(settings.api.url, key, timeout_seconds=3600) as client:
                return str(client.post("/v1/backups", {})["folder"])
        with own_home(settings.home):
            upgrade_usage(settings.usage_path)
            store = open_store(settings.usage_path)
            try:
                return back_up_home(store, settings, now=datetime.now(UTC), progress=advance)
            finally:
                store.close()

    with progress_bar("Backing up", "steps") as advance:
        place = _do(config, run)
    typer.echo(place)


@app.command()
def restore(
    folder: Annotated[str, typer.Argument(help="What `tokentill db backup` printed.")],
    config: ConfigFile = None,
) -> None:
    """Put a backup in the place of both stores; `serve` must be stopped.

    The stores that were there stay beside it, named .before-restore. A half backup is refused.

    Example: tokentill db restore tokentill-data/backups/20261001T120000Z
    """

    def run(settings: Settings) -> str:
        with own_home(settings.home):
            return json.dumps(asdict(restore_home(folder, settings)), indent=1)

    typer.echo(_do(config, run))


def _do(config: Path | None, run: Callable[[Settings], Any]) -> Any:
    try:
        return run(load_settings(config))
    except EXPECTED as error:
        typer.echo(f"tokentill db: {error}", err=True)
        raise typer.Exit(1) from error
