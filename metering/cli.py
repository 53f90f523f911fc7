"""Commands of metering: sidecar, replay, import."""

import typer

from metering.replay import cli as replay_cli
from metering.sidecar import cli as sidecar_cli


def register(app: typer.Typer) -> None:
    """Add metering's commands to `app`."""
    sidecar_cli.register(app)
    replay_cli.register(app)
