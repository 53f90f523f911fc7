"""Commands of pricing."""

import typer


def register(app: typer.Typer) -> None:
    """Add pricing's commands to `app`."""
