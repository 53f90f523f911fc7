"""Commands of the sidecar: run, check, status."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from metering.errors import MeteringError
from metering.sidecar.arrow_alone import use_arrow_alone
from metering.sidecar.check import check
from metering.sidecar.clock import Clock
from metering.sidecar.config import read_config
from metering.sidecar.service import Service, configure_logging
from metering.sidecar.status import status
from metering.sidecar.wake import Wake

ConfigOption = Annotated[
    Path,
    typer.Option("--config", envvar="TOKENTILL_SIDECAR_CONFIG", help="The sidecar's TOML file."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DEFAULT_CONFIG = Path("/etc/tokentill/sidecar.toml")

sidecar = typer.Typer(
    help="Beside an engine: read what it finished, send it to the collector.",
    epilog="Example: tokentill sidecar check --config sidecar.toml",
    no_args_is_help=True,
)


@contextmanager
def told_errors() -> Iterator[None]:
    """Expected failures become one message on stderr and exit code 1."""
    try:
        yield
    except MeteringError as error:
        print(f"tokentill: {error}", file=sys.stderr)
        raise typer.Exit(1) from error


def register(app: typer.Typer) -> None:
    """Add `sidecar` to `app`."""
    app.add_typer(sidecar, name="sidecar")


@sidecar.command(
    epilog="Example: tokentill sidecar run --config /etc/tokentill/sidecar.toml",
)
def run(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Read, send, repeat, until SIGTERM; SIGHUP or a change of the file reloads it."""
    use_arrow_alone()
    configure_logging()
    wake = Wake()
    wake.install()
    with told_errors():
        service = Service(config, os.environ, clock=Clock(), wake=wake)
    service.run()


@sidecar.command(
    name="check",
    epilog="Example: tokentill sidecar check --config /etc/tokentill/sidecar.toml --json",
)
def check_command(config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """Say what can be read here, what the engine leaves out and what that costs; change nothing."""
    use_arrow_alone()
    with told_errors():
        findings = check(read_config(config, os.environ), Clock())
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False))
    else:
        for finding in findings:
            print(f"{finding.level:<8}{finding.subject}: {finding.text}")
            for label, text in (("cost", finding.cost), ("remedy", finding.remedy)):
                if text:
                    print(f"{'':<8}{label}: {text}")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


@sidecar.command(
    name="status",
    epilog="Example: tokentill sidecar status --config /etc/tokentill/sidecar.toml --json",
)
def status_command(config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """Cursor, lag, last success and rejects of each source, whether the sidecar runs or not."""
    with told_errors():
        state = status(read_config(config, os.environ), datetime.now(UTC))
    if as_json:
        print(json.dumps(state, ensure_ascii=False))
        return
    for name, value in state.items():
        if name != "sources":
            print(f"{name:<20}{'-' if value in (None, []) else value}")
    for source in state["sources"]:
        print(f"\n{source.pop('name')} ({source.pop('kind')})")
        for name, value in source.items():
            print(f"  {name:<18}{'-' if value in (None, '', [], {}) else value}")
