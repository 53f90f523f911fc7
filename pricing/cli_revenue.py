"""`tokentill revenue`: what servers earn."""

import json
import re
from decimal import Decimal
from typing import Annotated, Any

import typer

from pricing.cli_attribution import attribution
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

DECIMAL_TEXT = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
DEFAULT_DAYS = Decimal(30)

revenue = typer.Typer(
    help="What servers earn, from the ledger or from the formula.",
    epilog="Example: tokentill revenue servers 2026-10",
    no_args_is_help=True,
)


revenue.command()(servers)
revenue.command()(attribution)


def decimal_amount(given: str | Decimal) -> Decimal:
    """A number of 0 or more from its decimal text, exactly as written."""
    text = str(given)  # a default arrives as the Decimal that it is
    if not DECIMAL_TEXT.fullmatch(text):
        raise typer.BadParameter(
            f"expected a decimal number of 0 or more, such as 83670.6, got {text!r}"
        )
    return Decimal(text)


def decimal_ratio(given: str | Decimal) -> Decimal:
    """A ratio in 0..1 from its decimal text."""
    ratio = decimal_amount(given)
    if ratio > 1:
        raise typer.BadParameter(f"expected a ratio from 0 to 1, such as 0.9, got '{given}'")
    return ratio


def _amount(help_text: str) -> Any:
    return typer.Option(parser=decimal_amount, metavar="NUMBER", help=help_text)


def _ratio(help_text: str) -> Any:
    return typer.Option(parser=decimal_ratio, metavar="RATIO", help=help_text)


@revenue.command(
    epilog="Example: tokentill revenue formula --throughput 83670.6 --hit-ratio 0.9 "
    "--price-input 8 --price-cached 2 --json"
)
def formula(
    *,
    throughput: Annotated[Decimal, _amount("Input tokens per second, hits and misses together.")],
    hit_ratio: Annotated[Decimal, _ratio("Token-weighted cache-hit ratio, 0 to 1.")],
    price_input: Annotated[Decimal, _amount("Price per million uncached input tokens.")],
    price_cached: Annotated[Decimal, _amount("Price per million cached input tokens.")],
    output_throughput: Annotated[Decimal, _amount("Output tokens per second.")] = Decimal(0),
    price_output: Annotated[Decimal, _amount("Price per million output tokens.")] = Decimal(0),
    utilization: Annotated[Decimal, _ratio("Billed tokens / full-load tokens.")] = Decimal(1),
    days: Annotated[Decimal, _amount("Days in service; 31 for a long month.")] = DEFAULT_DAYS,
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


def register(app: typer.Typer) -> None:
    """Add the command group `revenue` to `app`."""
    app.add_typer(revenue, name="revenue")
