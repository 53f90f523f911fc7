"""`tokentill cache curve`: hit ratio against cache size, exactly, from a trace's block ids."""

import json
from collections.abc import Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated, Any

import typer

from metering.errors import MeteringError, SourceUnreadable
from metering.replay.traces import read_trace
from pricing.hit_curve import BYTES_PER_GIB, HitCurve, RequestBlocks, hit_curve

REQUESTS_MAX = 2_000_000
UNKNOWN = "—"
cache = typer.Typer(
    help="What a cache of another size would have hit.",
    epilog="Example: tokentill cache curve --help",
    no_args_is_help=True,
)


@cache.callback()
def _group() -> None:
    """Keeps `curve` a command of its own."""


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

    One pass gives every size. The value of a step is in /v1/economics/cache, per point of hits.

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
