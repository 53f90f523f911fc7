"""`tokentill rate`: what a usage file costs under a price book."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pricing.books.toml_book import read_book
from pricing.errors import BookInvalid
from pricing.exports.rated_json import LISTS, rated_json
from pricing.policy import Policy, PolicyInvalid
from pricing.runs.rate_file import rate_file

UNREADABLE = 2


def register(app: typer.Typer) -> None:
    """Add `rate` to `app`."""
    app.command()(rate)


def rate(
    book: Annotated[Path, typer.Option(help="Price book (TOML).")],
    usage: Annotated[Path, typer.Option(help="Usage file: one leg per line (NDJSON).")],
    policy: Annotated[Path | None, typer.Option(help="Policies (TOML).")] = None,
    totals: Annotated[bool, typer.Option("--totals", help="Leave the requests out.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 if anything could not be billed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; money is text.")] = False,
) -> None:
    """Price a usage file offline, by the same rules that settle live usage.

    Example: tokentill rate --book list.toml --usage june.ndjson --json
    """
    try:
        chosen = Policy.from_toml(policy.read_text("utf-8")) if policy else Policy()
        listed = read_book(book.read_text("utf-8"), name_of_file=str(book))
        with usage.open("rb") as lines:
            rated = rate_file(lines, listed, policy=chosen, name_of_file=usage.name, totals=totals)
    except OSError as error:
        why = f"Cannot read {error.filename}: {error.strerror}. Name a file that may be read."
        typer.echo(f"tokentill rate: {why}", err=True)
        raise typer.Exit(UNREADABLE) from error
    except (UnicodeDecodeError, BookInvalid, PolicyInvalid) as error:
        typer.echo(f"tokentill rate: {error}", err=True)
        raise typer.Exit(UNREADABLE) from error
    answer = rated_json(rated, totals=totals)
    typer.echo(json.dumps(answer, ensure_ascii=False) if as_json else _summary(answer))
    if strict and any(answer[name] for name in LISTS):
        raise typer.Exit(1)


def _summary(answer: dict[str, Any]) -> str:
    """The totals and, for each list that is not empty, how much is in it and why."""
    lines = [f"total  {answer['total']} {answer['currency']}"]
    for title, key in (("tenant", "by_tenant"), ("node", "by_node")):
        lines += [f"{title}  {name}  {amount}" for name, amount in answer[key].items()]
    for name in (*LISTS, "cost", "reattributed"):
        reasons: dict[str, int] = {}
        for item in answer[name]:
            reasons[item["reason"]] = reasons.get(item["reason"], 0) + 1
        lines += [f"{name}  {count} × {reason}" for reason, count in reasons.items()]
    return "\n".join(lines)
