"""`tokentill prices`: import, check, explain and compare price books, without a server."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from metering.windows import parse_time
from pricing import cli_publish
from pricing.books.book_diff import changes, draft
from pricing.books.genai_prices import import_genai_prices
from pricing.books.imported import THE_BEGINNING, ImportOptions
from pricing.books.litellm import import_litellm
from pricing.books.toml_book import parse_book, read_book, write_book
from pricing.books.validate import findings
from pricing.errors import BookInvalid
from pricing.money import exact_sum, minor_unit, plain, token_charge
from pricing.price_book import Catalogue, PriceQuery, Quote
from pricing.price_entry import resolved
from pricing.price_key import PriceKey

UNREADABLE = 2
IMPORTERS = {"litellm": import_litellm, "genai-prices": import_genai_prices}

prices = typer.Typer(
    help="Price books: import, check, explain, compare, try, publish.",
    epilog="Example: tokentill prices check list.toml",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add `prices` to `app`."""
    app.add_typer(prices, name="prices")


class Source(StrEnum):
    """Price lists that can be imported."""

    LITELLM = "litellm"
    GENAI_PRICES = "genai-prices"


def _time(given: str | datetime) -> datetime:
    """A UTC time from ISO 8601 with its offset."""
    try:
        return given if isinstance(given, datetime) else parse_time(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _currency(given: str) -> str:
    try:
        minor_unit(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return given


Time = Annotated[datetime, typer.Option(parser=_time, metavar="TIME", help="ISO 8601 with offset.")]
BookFile = Annotated[Path, typer.Argument(help="Price book (TOML).")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON; money is text.")]


@prices.command(
    "import",
    epilog="Example: tokentill prices import litellm model_prices.json --provider deepseek "
    "--currency USD --out deepseek.toml",
)
def import_(
    source: Annotated[Source, typer.Argument(help="Whose price list.")],
    file: Annotated[Path, typer.Argument(help="The list, as JSON.")],
    *,
    provider: Annotated[str, typer.Option(help="Whose prices to take, as the list names it.")],
    currency: Annotated[
        str, typer.Option(parser=_currency, metavar="CODE", help="What the numbers are in.")
    ],
    out: Annotated[Path, typer.Option(help="Where to write the book.")],
    effective_from: Annotated[
        datetime, typer.Option(parser=_time, metavar="TIME", help="Start of undated prices.")
    ] = THE_BEGINNING,
    as_json: AsJson = False,
) -> None:
    """Make a book of one provider's prices, and list whatever a book cannot say.

    The list on stdout: kind (model: not imported; part, name: imported without it; rounded), model,
    what, reason.
    """
    options = ImportOptions(provider=provider, currency=currency, effective_from=effective_from)
    try:
        imported = IMPORTERS[source](file.read_text("utf-8"), options)
        out.write_text(write_book(imported.book), "utf-8")
    except (OSError, UnicodeDecodeError, BookInvalid) as error:
        _refuse(error)
    rows = [asdict(item) for item in imported.unsaid]
    _print_rows(rows, as_json=as_json)
    typer.echo(
        f"{imported.models} models imported into {out} ({len(imported.book.entries)} entries, "
        f"{currency} without conversion); {len(rows)} things listed.\n"
        f"Next: tokentill prices check {out}",
        err=True,
    )


@prices.command(epilog="Example: tokentill prices check list.toml")
def check(
    book: BookFile,
    *,
    errors_only: Annotated[
        bool, typer.Option("--errors-only", help="Exit 0 if there are only warnings.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a book as a whole; exit 1 if anything must be corrected or looks wrong."""
    try:
        read, found = parse_book(book.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        _refuse(error)
    if read is not None:
        found = findings(read)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in found], ensure_ascii=False))
    else:
        for finding in found:
            typer.echo(finding.text(str(book)))
    errors = sum(finding.severity == "error" for finding in found)
    typer.echo(f"{book}: {errors} errors, {len(found) - errors} warnings.", err=True)
    if errors or (found and not errors_only):
        raise typer.Exit(1)


@prices.command(
    epilog="Example: tokentill prices show --book list.toml --model glm-5.2 "
    "--at 2026-08-20T09:00:00+08:00 --input-tokens 250000 --output-tokens 800"
)
def show(
    *,
    book: Annotated[
        list[Path], typer.Option(help="Price book; again for books that contracts name.")
    ],
    model: Annotated[str, typer.Option(help="Model as a request names it.")],
    at: Time,
    tenant: Annotated[str | None, typer.Option(help="Tenant, for its contract.")] = None,
    input_tokens: Annotated[int, typer.Option(min=0, help="Total input tokens.")] = 0,
    cached_tokens: Annotated[int, typer.Option(min=0, help="Part of them from cache.")] = 0,
    output_tokens: Annotated[int, typer.Option(min=0, help="Output tokens.")] = 0,
    service_tier: Annotated[str | None, typer.Option(help="Service tier asked for.")] = None,
    region: Annotated[str | None, typer.Option(help="Region that served it.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a request would pay under a book, and why: every rule that applied, in order."""
    if cached_tokens > input_tokens:
        raise typer.BadParameter("--cached-tokens is a part of --input-tokens and cannot exceed it")
    query = PriceQuery(
        model_id=model,
        at=at,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        service_tier=service_tier,
        region=region,
        tenant_id=tenant,
    )
    try:
        books = [read_book(path.read_text("utf-8"), name_of_file=str(path)) for path in book]
        quote = Catalogue(books, books[0].name).quote(query)
    except (OSError, UnicodeDecodeError, BookInvalid) as error:
        _refuse(error)
    if quote.price is None:
        typer.echo(
            f"unpriced ({quote.reason}): {quote.detail}. "
            "Add an entry, an alias or a match that names it.",
            err=True,
        )
        raise typer.Exit(1)
    counts = (input_tokens - cached_tokens, cached_tokens, output_tokens)
    shown = _explained(quote, quote.price, counts)
    typer.echo(json.dumps(shown, ensure_ascii=False) if as_json else _explanation(shown))


@prices.command(
    epilog="Example: tokentill prices diff list.toml list-new.toml "
    "--effective-from 2026-10-01T00:00:00+08:00 --out draft.toml"
)
def diff(
    old: BookFile,
    new: BookFile,
    *,
    effective_from: Annotated[
        datetime | None, typer.Option(parser=_time, metavar="TIME", help="Start of the draft.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the draft here.")] = None,
    as_json: AsJson = False,
) -> None:
    """What NEW changes against OLD; with --effective-from and --out, as a draft.

    The draft is OLD with a dated entry for each model whose prices differ; nothing before that
    time is touched.
    """
    if (effective_from is None) != (out is None):
        raise typer.BadParameter("--effective-from and --out belong together: give both")
    try:
        before, after = (
            read_book(path.read_text("utf-8"), name_of_file=str(path)) for path in (old, new)
        )
        if effective_from is not None and out is not None:
            out.write_text(write_book(draft(before, after, effective_from)), "utf-8")
    except (OSError, UnicodeDecodeError, BookInvalid) as error:
        _refuse(error)
    rows = [asdict(change) for change in changes(before, after)]
    _print_rows(rows, as_json=as_json)
    typer.echo(f"{len(rows)} differences.", err=True)


def _explained(quote: Quote, price: PriceKey, counts: tuple[int, int, int]) -> dict[str, Any]:
    """The quote with amounts of uncached, cached and output tokens; money as text."""
    names = ("input", "cached_input", "output")
    unit_prices = (price.input_price, price.cached_price, price.output_price)
    lines = tuple(zip(names, counts, unit_prices, strict=True))
    amounts = {n: token_charge(t, p) for n, t, p in lines if p is not None}
    return {
        "currency": price.currency,
        "book": price.book,
        "steps": [
            {"rule": step.rule, "name": step.name, "prices": _texts(resolved(step.prices))}
            for step in quote.steps
        ],
        "findings": sorted(quote.findings),
        "lines": [
            {"line": n, "tokens": t, "unit_price": _text(p), "amount": _text(amounts.get(n))}
            for n, t, p in lines
        ],
        "total": plain(exact_sum(amounts.values())),
    }


def _explanation(shown: dict[str, Any]) -> str:
    """The same for a reader: one rule a line, then one line of money a line."""
    lines = [f"book {shown['book']}, {shown['currency']} per million tokens"]
    for step in shown["steps"]:
        named = ", ".join(f"{name} {price}" for name, price in step["prices"].items() if price)
        lines.append(f"{step['rule']:<13} {step['name']}: {named}")
    lines += [f"finding       {finding}" for finding in shown["findings"]]
    for line in shown["lines"]:
        if line["tokens"]:
            amount = line["amount"] or "unpriced: the book has no such price"
            lines.append(f"{line['line']:<13} {line['tokens']} × {line['unit_price']} = {amount}")
    lines.append(f"total         {shown['total']} {shown['currency']}")
    return "\n".join(lines)


def _text(price: Decimal | None) -> str | None:
    return None if price is None else plain(price)


def _texts(by_name: dict[str, Decimal | None]) -> dict[str, str | None]:
    return {name: _text(price) for name, price in by_name.items()}


def _print_rows(rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Rows as a JSON list, or as lines of columns with tabs between."""
    if as_json:
        typer.echo(json.dumps(list(rows), ensure_ascii=False))
        return
    for row in rows:
        typer.echo("\t".join("-" if value is None else str(value) for value in row.values()))


def _refuse(error: Exception) -> NoReturn:
    """End with the message of an unreadable file or an unusable book."""
    typer.echo(f"tokentill prices: {error}", err=True)
    raise typer.Exit(UNREADABLE) from error


cli_publish.add_to(prices)
