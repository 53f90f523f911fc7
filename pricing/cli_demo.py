"""`tokentill demo`: everything on a temporary store, from engine files to money."""

import json
import signal
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from pricing.demo.answers import demo_json
from pricing.demo.children import ENDING, ChildFailed
from pricing.demo.page import print_page
from pricing.demo.plan import Prices
from pricing.demo.run import Demo, Options
from pricing.money import decimal_from_text

HISTORY_DAYS = 92  # three months: two of them closed or ready to close, one open
INTERRUPTED = 128 + signal.SIGINT  # exit status of a run that was ended before its tables
TABLE_COLUMNS = 110
EXAMPLE = "Example: tokentill demo --once --json --prefill 2 --decode 4"


def register(app: typer.Typer) -> None:
    """Add `demo` to `app`."""
    app.command(epilog=EXAMPLE)(demo)


def _interrupt(*_: object) -> None:
    """End as Ctrl-C does. The way out takes seconds: a second signal must not cut it short."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _price(text: str) -> str:
    try:
        decimal_from_text(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return text


Price = Annotated[str, typer.Option(callback=_price, help="CNY per million tokens.")]


def demo(
    *,
    once: Annotated[bool, typer.Option("--once", help="End after the tables.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; money is text.")] = False,
    trace: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Trace to replay.")
    ] = None,
    prefill: Annotated[int, typer.Option(min=1, max=64, help="Prefill servers.")] = 2,
    decode: Annotated[int, typer.Option(min=1, max=64, help="Decode servers.")] = 4,
    cache: Annotated[
        Literal["shared", "per-node"], typer.Option(help="Prefix cache of the prefill servers.")
    ] = "shared",
    price_input: Price = "8",
    price_cached: Price = "2",
    price_output: Price = "28",
    kill_seed: Annotated[
        int | None, typer.Option(help="SIGKILL and restart the processes at random moments.")
    ] = None,
    requests: Annotated[int | None, typer.Option(min=1, help="Only the first N requests.")] = None,
) -> None:
    """Meter a replayed prefill/decode cluster, price every token, show what each server earned."""
    with tempfile.TemporaryDirectory(prefix="tokentill-demo-") as folder:
        options = Options(
            folder=Path(folder),
            prices=Prices(input=price_input, cached=price_cached, output=price_output),
            trace=trace,
            prefill=prefill,
            decode=decode,
            cache=cache,
            kill_seed=kill_seed,
            requests=requests,
            history_days=None if once or trace else HISTORY_DAYS,
            say=lambda text: print(text, file=sys.stderr, flush=True),
            clock=lambda: datetime.now(UTC),
        )
        _run(Demo(options), once=once, as_json=as_json)


def _run(demo: Demo, *, once: bool, as_json: bool) -> None:
    """Show the tables, stay if wanted; whatever ends it, no process is left."""
    console = Console(stderr=as_json)
    console.width = max(console.width, TABLE_COLUMNS)  # an amount is shown with all of its digits
    for each in ENDING:
        signal.signal(each, _interrupt)
    answers = None
    try:
        with demo.running() as running:
            answers = running.meter()
            if as_json:
                print(json.dumps(demo_json(answers)), flush=True)
            else:
                print_page(console, answers)
            if not once:
                running.stay()
    except ChildFailed as error:
        typer.echo(f"tokentill demo: {error}", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
        if answers is None:
            raise typer.Exit(INTERRUPTED) from None
