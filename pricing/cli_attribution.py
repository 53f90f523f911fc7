"""`tokentill revenue attribution`: who earned it under a rule; price-line is the book of record."""

import json
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from pricing.api.attribution_rows import AttributionAsked, attribution_rows
from pricing.api.figures import EARNED
from pricing.api.known_servers import known
from pricing.api.windows import until_now
from pricing.cli_formulas import footnote
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do
from pricing.cli_window import AskedWindow, AskedZone, asked_window
from pricing.client import Client
from pricing.errors import RequestInvalid
from pricing.ledger.servers import every_server
from pricing.reports.attribution_rules import RuleName
from pricing.reports.usage_report import HOUR, check_edges

ROUTE = "/v1/economics/attribution"
OPTIONS = ", ".join(sorted({*AttributionAsked.model_fields} - {"start_at", "end_at", "rule"}))


def attribution(
    window: AskedWindow,
    zone: AskedZone = "UTC",
    *,
    rule: Annotated[RuleName, typer.Option(help="How to split.")] = RuleName.PRICE_LINE,
    option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE of the route, such as kv_share=0.5; repeatable."),
    ] = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Revenue by server and by tenant: cost, stand_alone and shapley are reports beside the book.

    Options: kv_share, first_token_to_prefill, kappa, kv_cost, discount=TENANT=AMOUNT, currency,
    decode_slowdown, prefill_speedup (docs/economics.md).

    Example: tokentill revenue attribution 2026-10 --option kv_share=0.5
    """
    span = asked_window(window, zone)
    stated: dict[str, Any] = {"rule": rule.value, **_options(option or ())}

    def by_api(client: Client) -> list[dict[str, Any]]:
        found = client.get(ROUTE, start_at=span.start_at, end_at=span.end_at, **stated)
        return list(found["items"])

    def locally(house: LocalHouse) -> list[dict[str, Any]]:
        check_edges(span, [span], HOUR)
        asked = _asked({"start_at": span.start_at, "end_at": span.end_at, **stated})
        house.settle()
        with house.ledger.read() as connection:
            facts = [known(server) for server in every_server(connection)]
        rows = attribution_rows(house.cursor, until_now(span, house.now), asked, facts)
        return [row.model_dump(mode="json") for row in rows]

    rows = do("revenue attribution", config, by_api, locally)
    if as_json:
        typer.echo(json.dumps({"rows": rows}, ensure_ascii=False, allow_nan=False))
        return
    for row in rows:
        typer.echo(_line(row))
    rule_name = rows[0]["rule"] if rows else rule.value
    footnote(f"Rule {rule_name}; money in the currency of the row", EARNED, window=span)


def _options(given: list[str] | tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE texts as parameters; discount may be given several times."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or name not in OPTIONS.split(", "):
            raise typer.BadParameter(f"{text!r}: expected NAME=VALUE with one of {OPTIONS}")
        if name == "discount":
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def _asked(stated: dict[str, Any]) -> AttributionAsked:
    try:
        return AttributionAsked.model_validate(stated)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        raise RequestInvalid(
            f"{name}: {first['msg']}.", remedy="docs/economics.md lists the options."
        ) from error


def _line(row: dict[str, Any]) -> str:
    share = "—" if row["share"] is None else f"{row['share']:.2%}"
    parts = "  ".join(f"{name} {row[name]}" for name in ("prefill", "decode", "kv_store"))
    return (
        f"{row['kind']:<9} {row['name'] or '—':<16} {row['amount']} {row['currency']}  "
        f"{share}  {parts}"
    )
