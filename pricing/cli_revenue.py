"""`tokentill revenue`: what servers earn."""

import json
from decimal import Decimal
from typing import Annotated

import typer

from pricing.cli_attribution import attribution
from pricing.cli_formulas import footnote
from pricing.cli_numbers import amount_option, ratio_option
from pricing.cli_revenue_servers import servers
from pricing.formula import (
    SECONDS_PER_DAY,
    Throughput,
    TokenPrices,
    blended_input_price,
    plain_text,
    service_factor,
    window_revenue,
)

DEFAULT_DAYS = Decimal(30)

revenue = typer.Typer(
    help="What servers earn, from the ledger or from the formula.",
    epilog="Example: tokentill revenue servers 2026-10",
    no_args_is_help=True,
)


revenue.command()(servers)
revenue.command()(attribution)


@revenue.command(
    epilog="Example: tokentill revenue formula --throughput 83670.6 --hit-ratio 0.9 "
    "--price-input 8 --price-cached 2 --json"
)
def formula(
    *,
    throughput: Annotated[
        Decimal, amount_option("Input tokens per second, hits and misses together.")
    ],
    hit_ratio: Annotated[Decimal, ratio_option("Token-weighted cache-hit ratio, 0 to 1.")],
    price_input: Annotated[Decimal, amount_option("Price per million uncached input tokens.")],
    price_cached: Annotated[Decimal, amount_option("Price per million cached input tokens.")],
    output_throughput: Annotated[Decimal, amount_option("Output tokens per second.")] = Decimal(0),
    price_output: Annotated[Decimal, amount_option("Price per million output tokens.")] = Decimal(
        0
    ),
    utilization: Annotated[Decimal, ratio_option("Billed tokens / full-load tokens.")] = Decimal(1),
    days: Annotated[Decimal, amount_option("Days in service; 31 for a long month.")] = DEFAULT_DAYS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Revenue of one server: R = K·T·[(1−r)·p_m + r·p_h], K = seconds / 10⁶, exact."""
    prices = TokenPrices(
        input_price=price_input, cached_price=price_cached, output_price=price_output
    )
    full_load = Throughput(
        input_tokens_per_second=throughput,
        hit_ratio=hit_ratio,
        output_tokens_per_second=output_throughput,
    )
    seconds = days * SECONDS_PER_DAY
    earned = window_revenue(seconds, full_load, prices=prices, utilization=utilization)
    figures = {
        "revenue": plain_text(earned.total),
        "uncached_revenue": plain_text(earned.uncached),
        "cached_revenue": plain_text(earned.cached),
        "output_revenue": plain_text(earned.output),
        "service_factor": plain_text(service_factor(seconds)),
        "blended_input_price": plain_text(blended_input_price(hit_ratio, prices)),
    }
    if as_json:
        typer.echo(json.dumps(figures))
        return
    for name, text in figures.items():
        typer.echo(f"{name.replace('_', ' '):<20} {text}")
    footnote(f"Currency of the prices, for {plain_text(days)} days in service", "11-one-server")


def register(app: typer.Typer) -> None:
    """Add the command group `revenue` to `app`."""
    app.add_typer(revenue, name="revenue")
