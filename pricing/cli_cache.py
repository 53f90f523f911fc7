"""`tokentill cache`: hit ratio against cache size, from a trace's block ids, and its value."""

import json
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated, Any

import typer

from metering.errors import MeteringError, SourceUnreadable
from metering.replay.traces import read_trace
from pricing.cache_economics import CacheStep, value_of_gib
from pricing.cli_formulas import PAGE, footnote
from pricing.cli_numbers import amount_option, ratio_option
from pricing.costs import to_quantum
from pricing.formula import TokenPrices
from pricing.hit_curve import BYTES_PER_GIB, HitCurve, RequestBlocks, hit_curve
from pricing.money import plain

REQUESTS_MAX = 2_000_000
UNKNOWN = "—"
CURVE = "94-hit-ratio-against-cache-size"
cache = typer.Typer(
    help="What a cache of another size would have hit.",
    epilog="Example: tokentill cache curve --help",
    no_args_is_help=True,
)


@cache.command()
def curve(
    *,
    trace: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Mooncake or agentic.")],
    gib: Annotated[list[int] | None, typer.Option(min=1, help="A size in GiB; repeatable.")] = None,
    kv_bytes_per_token: Annotated[
        int | None, typer.Option(min=1, help="KV cache of a token, for sizes in GiB.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Token-weighted hit ratio of a cache of any size that evicts the least recently used block.

    One pass gives every size. `tokentill cache gib` says what the next GiB is worth.

    Example: tokentill cache curve --trace mooncake_conversation.parquet --kv-bytes-per-token 51168
    """
    if gib and kv_bytes_per_token is None:
        raise typer.BadParameter("sizes in GiB need --kv-bytes-per-token")
    try:
        found = trace_curve(trace)
    except MeteringError as error:
        typer.echo(f"tokentill cache curve: {error}", err=True)
        raise typer.Exit(1) from error
    points = [
        _point(found, blocks, kv_bytes_per_token)
        for blocks in _sizes(found, gib or (), kv_bytes_per_token or 1)
    ]
    if as_json:
        head = {"block_tokens": found.block_tokens, "input_tokens": found.input_tokens}
        typer.echo(json.dumps(head | {"points": points}))
        return
    typer.echo(f"{'blocks':>12}{'tokens':>16}{'GiB':>12}{'hit ratio':>12}")
    for point in points:
        size = UNKNOWN if point["gib"] is None else f"{point['gib']:,.2f}"
        counts = f"{point['blocks']:>12,}{point['tokens']:>16,}"
        typer.echo(f"{counts}{size:>12}{point['hit_ratio']:>12.4f}")
    footnote(f"Hit ratio of the trace's {found.input_tokens:,} input tokens", CURVE)


@cache.command(
    epilog="Example: tokentill cache gib --trace mooncake_conversation.parquet "
    "--kv-bytes-per-token 51168 --gib 100 --price-input 8 --price-cached 2 --kappa 0.02"
)
def gib(
    *,
    trace: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="Mooncake or agentic.")],
    kv_bytes_per_token: Annotated[int, typer.Option(min=1, help="KV cache of a token.")],
    size: Annotated[int, typer.Option("--gib", min=0, help="The cache as it is, in GiB.")],
    price_input: Annotated[Decimal, amount_option("Per million uncached input tokens.")],
    price_cached: Annotated[Decimal, amount_option("Per million cached input tokens.")],
    kappa: Annotated[Decimal, ratio_option("Server time of a cached / an uncached token.")],
    cost_per_million_uncached: Annotated[
        Decimal | None, amount_option("Of servers that are freed and sold or switched off.")
    ] = None,
    input_tokens: Annotated[
        int | None, typer.Option(min=1, help="Traffic, such as a month's; default: the trace's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What one more GiB of KV cache is worth: with compute fixed, and with traffic fixed."""
    try:
        curve = trace_curve(trace)
    except MeteringError as error:
        typer.echo(f"tokentill cache gib: {error}", err=True)
        raise typer.Exit(1) from error
    ratios = [
        curve.hit_ratio(curve.blocks_in(each, kv_bytes_per_token)) or Fraction(0)
        for each in (size, size + 1)
    ]
    tokens = input_tokens or curve.input_tokens
    found = value_of_gib(
        tokens,
        TokenPrices(input_price=price_input, cached_price=price_cached),
        kappa=kappa,
        hit_ratios=(ratios[0], ratios[1]),
        cost_per_million_uncached=cost_per_million_uncached or 0,
    )
    figures = {
        "gib": size,
        "input_tokens": tokens,
        "hit_ratio": float(ratios[0]),
        **_worth(found, costed=cost_per_million_uncached is not None),
        "unit": f"currency of the prices, per GiB and {tokens:,} input tokens",
        "formula": f"{PAGE}#{CURVE}",
    }
    if as_json:
        typer.echo(json.dumps(figures))
        return
    for name, value in figures.items():
        typer.echo(f"{name.replace('_', ' '):<16} {UNKNOWN if value is None else value}")


def _worth(found: CacheStep | None, *, costed: bool) -> dict[str, Any]:
    """The step's figures; what is saved is not known without the cost of uncached tokens."""
    return {
        "hit_ratio_gain": None if found is None else float(found.hit_ratio_gain),
        "compute_fixed": _rounded(None if found is None else found.compute_fixed_per_gib),
        "traffic_fixed": _rounded(found.traffic_fixed_per_gib if found and costed else None),
    }


def _rounded(value: Fraction | None) -> str | None:
    """Money as decimal text, to 10⁻¹⁵ for reading."""
    return None if value is None else plain(to_quantum(value))


def trace_curve(path: Path) -> HitCurve:
    """The curve of the requests of a trace file, in order of arrival.

    Raises SourceUnreadable for a file that is no trace, or one that names no blocks.
    """
    requests = list(islice(read_trace(path), REQUESTS_MAX + 1))
    if len(requests) > REQUESTS_MAX:
        raise SourceUnreadable(
            f"{path}: more than {REQUESTS_MAX:,} requests; take a part of the trace."
        )
    sizes = {request.block_tokens for request in requests if request.block_runs}
    if len(sizes) != 1:
        raise SourceUnreadable(
            f"{path}: names no blocks of prompts, or blocks of several sizes; expected a Mooncake "
            f"or agentic trace, whose blocks say which prefixes are equal."
        )
    requests.sort(key=lambda request: request.arrival_seconds)
    blocks = [
        RequestBlocks(request.cache_scope, request.block_runs, request.input_tokens)
        for request in requests
    ]
    return hit_curve(blocks, block_tokens=sizes.pop())


def _sizes(found: HitCurve, gib: Sequence[int], kv_bytes_per_token: int) -> list[int]:
    """The asked sizes in blocks; else powers of two up to what an unbounded cache would use."""
    if gib:
        return [found.blocks_in(size, kv_bytes_per_token) for size in gib]
    needed = found.blocks_needed()
    return [*takewhile(lambda blocks: blocks < needed, (2**n for n in range(64))), needed]


def _point(found: HitCurve, blocks: int, kv_bytes_per_token: int | None) -> dict[str, Any]:
    tokens = blocks * found.block_tokens
    return {
        "blocks": blocks,
        "tokens": tokens,
        "gib": None if kv_bytes_per_token is None else tokens * kv_bytes_per_token / BYTES_PER_GIB,
        "hit_tokens": found.hit_tokens(blocks),
        "hit_ratio": float(found.hit_ratio(blocks) or 0),
    }


def register(app: typer.Typer) -> None:
    """Add the command group `cache` to `app`."""
    app.add_typer(cache, name="cache")
