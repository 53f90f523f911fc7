"""`tokentill serve`: collector, settler, API and jobs in one process."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from metering.errors import MeteringError
from pricing.errors import PricingError
from pricing.logs import configure_logs
from pricing.serve import serve
from pricing.settings import Settings, load_settings

ConfigFile = Annotated[Path | None, typer.Option("--config", help="tokentill.toml to read.")]


def register(app: typer.Typer) -> None:
    """Add `serve` to `app`."""
    app.command("serve")(run_serve)


def run_serve(
    config: ConfigFile = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on (loopback).")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the API (8080).")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Always 1: one owner of the store.")] = None,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Start it as well.")] = False,
) -> None:
    """Take usage in, settle it, answer the API and run the jobs, until Ctrl-C or SIGTERM.

    The first start prints one operator key on stdout; it is not shown again.

    Example: tokentill serve --dashboard
    """
    asked = {"host": host, "port": port, "workers": workers}
    try:
        settings = load_settings(
            config, server={name: value for name, value in asked.items() if value is not None}
        )
        configure_logs(settings.log)
        with _dashboard(settings) if dashboard else nullcontext():
            serve(settings, clock=_now, announce=_announce)
    except (PricingError, MeteringError) as error:
        typer.echo(f"tokentill serve: {error}", err=True)
        raise typer.Exit(1) from error


def _now() -> datetime:
    return datetime.now(UTC)


def _announce(secret: str) -> None:
    typer.echo(f"operator key: {secret}")
    typer.echo("Keep it: it is shown once. More keys: tokentill keys create --help", err=True)
    sys.stdout.flush()


@contextmanager
def _dashboard(settings: Settings) -> Iterator[None]:
    """The dashboard as a child process, ended with this one."""
    command = [sys.executable, "-m", "tokentill", "dashboard"]
    command += ["--host", settings.dashboard.host, "--port", str(settings.dashboard.port)]
    scheme = "http" if settings.server.tls_certificate is None else "https"
    command += ["--api-url", f"{scheme}://{settings.server.host}:{settings.server.port}"]
    child = subprocess.Popen(command)  # noqa: S603 - our own command
    try:
        yield
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()
