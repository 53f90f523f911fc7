"""Commands of pricing."""

import typer

from pricing import (
    cli_capacity,
    cli_db,
    cli_demo,
    cli_doctor,
    cli_keys,
    cli_prices,
    cli_rate,
    cli_reconcile,
    cli_revenue,
    cli_roi,
    cli_serve,
)

COMMANDS = (
    cli_demo,
    cli_serve,
    cli_rate,
    cli_prices,
    cli_revenue,
    cli_roi,
    cli_capacity,
    cli_reconcile,
    cli_keys,
    cli_db,
    cli_doctor,
)


def register(app: typer.Typer) -> None:
    """Add pricing's commands to `app`."""
    for module in COMMANDS:
        module.register(app)
