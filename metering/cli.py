"""Commands of metering: sidecar, replay, import."""

import typer


def register(app: typer.Typer) -> None:
    """Add metering's commands to `app`."""
