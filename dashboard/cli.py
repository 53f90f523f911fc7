"""`tokentill dashboard`: Streamlit on loopback, speaking to one API."""

import ipaddress
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Final

import typer

APP: Final = Path(__file__).with_name("app.py")
AUTH: Final = (  # of the table auth; the token is what the API is asked with
    "redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url",
    "expose_tokens",
)  # fmt: skip
# each click runs in a thread of its own, and glibc would give threads heaps of their own, eight a
# core, whose holes add up over a day
ALLOCATOR: Final = {"MALLOC_ARENA_MAX": "2"}
EXAMPLE: Final = "Example: tokentill dashboard --api-url http://127.0.0.1:8080 --port 8501"

Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[
    int, typer.Option(min=1, max=65_535, envvar="TOKENTILL_DASHBOARD_PORT", help="Port.")
]
SignIn = Annotated[
    Path | None,
    typer.Option(
        envvar="TOKENTILL_DASHBOARD_SIGN_IN",
        exists=True,
        dir_okay=False,
        help="TOML file with the table auth: sign-in by an OpenID Connect provider.",
    ),
]
Url = Annotated[str, typer.Option(envvar="TOKENTILL_API_URL", help="Where the API answers.")]


def dashboard(
    *,
    host: Host = "127.0.0.1",
    port: Port = 8501,
    api_url: Url = "http://127.0.0.1:8080",
    sign_in: SignIn = None,
) -> None:
    """Show what the API knows, in a browser, until Ctrl-C.

    With TOKENTILL_API_KEY in the environment everybody who reaches the page sees what that key
    sees; without it each visitor signs in with a key, or through the provider of --sign-in.
    """
    if os.environ.get("TOKENTILL_API_KEY") and not _is_loopback(host):
        raise typer.BadParameter(
            f"TOKENTILL_API_KEY is set and {host} is open to other machines: whoever reaches the "
            "page would act with that key. Unset it, so that each visitor signs in."
        )
    if sign_in is not None and (missing := _missing(sign_in)):
        raise typer.BadParameter(
            f"{sign_in} lacks {', '.join(missing)} in its table auth; docs/dashboard.md shows one."
        )
    child = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "streamlit", "run", str(APP), *_flags(host, port, sign_in)],
        env={**ALLOCATOR, **os.environ, "TOKENTILL_API_URL": api_url},
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        code = child.wait()
    except KeyboardInterrupt:
        child.terminate()
        code = child.wait()
    if code > 0:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add `dashboard` to `app`."""
    app.command(epilog=EXAMPLE)(dashboard)


def _missing(file: Path) -> list[str]:
    """What the provider's file must say and does not."""
    said = tomllib.loads(file.read_text(encoding="utf-8")).get("auth", {})
    return [name for name in AUTH if not said.get(name)]


def _flags(host: str, port: int, sign_in: Path | None) -> list[str]:
    """What no configuration file of the visitor's folder may change."""
    return [
        f"--server.address={host}",
        f"--server.port={port}",
        *([f"--secrets.files={sign_in}"] if sign_in else []),
        "--server.headless=true",
        "--server.enableXsrfProtection=true",
        "--server.fileWatcherType=none",
        "--browser.gatherUsageStats=false",
        "--client.toolbarMode=minimal",
        "--client.disableDataExport=true",  # its files are rounded as shown; ours are exact
        "--client.showErrorDetails=none",
    ]


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
