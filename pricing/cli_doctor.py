"""`tokentill doctor`: the installation and its data against what must be true."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from metering.errors import MeteringError
from metering.store.connect import open_store
from pricing.client import ApiError, ApiUnreachable, Client
from pricing.errors import PricingError
from pricing.home import own_home
from pricing.ledger.connect import Ledger
from pricing.ledger.upgrade import upgrade_ledger, upgrade_usage
from pricing.reports.doctor import Check, ledger_checks, usage_checks
from pricing.settings import Settings, load_settings

FREE_BYTES_MIN = 1 << 30


def register(app: typer.Typer) -> None:
    """Add `doctor` to `app`."""
    app.command()(doctor)


def doctor(
    config: Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check settings, stores and data; each fault comes with its remedy. Exit 1 if there is one.

    A running server is asked through the API (TOKENTILL_API_URL, TOKENTILL_API_KEY).

    Example: tokentill doctor
    """
    try:
        checks = list(_checks(load_settings(config)))
    except (PricingError, MeteringError, ApiError, ApiUnreachable) as error:
        typer.echo(f"tokentill doctor: {error}", err=True)
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps(checks))
    else:
        for check in checks:
            typer.echo(f"{'✗' if check['wrong'] else '✓'} {check['rule']}: {check['promise']}")
            if check["wrong"]:
                typer.echo(f"    {check['wrong']} wrong. {check['remedy']}")
    if any(check["wrong"] for check in checks):
        raise typer.Exit(1)


def _checks(settings: Settings) -> Iterator[dict[str, Any]]:
    if settings.api.url is not None:
        key = settings.api.key.get_secret_value() if settings.api.key else ""
        with Client(settings.api.url, key) as client:
            yield from client.get("/v1/doctor")["items"]
        return
    with own_home(settings.home):
        yield asdict(_free_space(settings.home))
        upgrade_ledger(settings.ledger_url)
        upgrade_usage(settings.usage_path)
        with closing(Ledger(settings.ledger_url)) as ledger, ledger.read() as connection:
            yield from map(asdict, ledger_checks(connection, datetime.now(UTC)))
        with closing(open_store(settings.usage_path)) as store, store.cursor() as cursor:
            yield from map(asdict, usage_checks(cursor))


def _free_space(home: Path) -> Check:
    free = shutil.disk_usage(home).free
    return Check(
        rule="disk",
        promise=f"at least {FREE_BYTES_MIN >> 30} GiB is free in {home}",
        wrong=int(free < FREE_BYTES_MIN),
        remedy="Free some, or move the home: what cannot be written is refused, not lost.",
    )
