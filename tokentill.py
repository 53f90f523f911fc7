"""The command `tokentill`, composed of the packages' cli modules."""

from importlib.util import find_spec

import typer

from metering import cli as metering_cli

app = typer.Typer(
    name="tokentill",
    help="Meter, price and account for the tokens of prefill/decode LLM clusters.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
metering_cli.register(app)
if find_spec("sqlalchemy") and find_spec("duckdb"):  # the [server] extra is installed
    from pricing import cli as pricing_cli

    pricing_cli.register(app)
if find_spec("streamlit"):  # the [dashboard] extra is installed
    from dashboard import cli as dashboard_cli

    dashboard_cli.register(app)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
