"""Commands of pricing."""

import typer

from pricing import cli_capacity, cli_prices, cli_rate, cli_revenue, cli_roi


def register(app: typer.Typer) -> None:
    """Add pricing's commands to `app`."""
    cli_capacity.register(app)
    cli_prices.register(app)
    cli_rate.register(app)
    cli_revenue.register(app)
    cli_roi.register(app)
