"""The command `tokentill`, composed of the packages' commands.

Only the module of the command that was asked for is loaded: a sidecar does not pay for the server.
"""

import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import typer

from metering.cli import COMMANDS as METERING
from pricing.cli import COMMANDS as PRICING

INTERRUPTED: Final = 128 + signal.SIGINT
DASHBOARD: Final = {"dashboard": "dashboard.cli"}


def installed() -> dict[str, str]:
    """Commands by name → module, of the extras that are installed here."""
    found = dict(METERING)
    if find_spec("sqlalchemy") and find_spec("duckdb"):  # the [server] extra
        found |= PRICING
    if find_spec("streamlit"):  # the [dashboard] extra
        found |= DASHBOARD
    return found


def command_line(asked: str | None = None) -> typer.Typer:
    """The command line; with the module of `asked` alone, if that is the name of a command."""
    app = typer.Typer(
        name="tokentill",
        help="Meter, price and account for the tokens of prefill/decode LLM clusters.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        epilog="Example: tokentill demo",
    )
    app.callback()(lambda: None)  # a group, even of one command
    modules = installed()
    wanted = [modules[asked]] if asked in modules else dict.fromkeys(modules.values())
    for module in wanted:
        import_module(module).register(app)
    return app


def main() -> None:
    """Run the command line."""
    try:
        command_line(*sys.argv[1:2])()
    except KeyboardInterrupt:  # while a module is loaded
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
