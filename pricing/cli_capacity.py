"""`tokentill capacity`: servers that a demand needs."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pricing.cli_formulas import footnote
from pricing.errors import ConfigInvalid
from pricing.estimates.capacity_sheet import capacity_report
from pricing.estimates.case_file import CASE_LENGTH_MAX


def capacity(
    sheet: Annotated[
        Path, typer.Argument(metavar="SHEET.toml", exists=True, dir_okay=False, readable=True)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print every figure as JSON.")] = False,
) -> None:
    """Prefill and decode servers in whole instances, link use, and what does not fit together."""
    try:
        with sheet.open(encoding="utf-8") as file:
            report = capacity_report(file.read(CASE_LENGTH_MAX + 1), name_of_file=sheet.name)
    except (ConfigInvalid, UnicodeDecodeError) as error:
        typer.echo(f"tokentill capacity: {error}", err=True)
        raise typer.Exit(2) from error
    if as_json:
        typer.echo(json.dumps(report, ensure_ascii=False, allow_nan=False))
        return
    for line in _lines(report):
        typer.echo(line)
    footnote("Servers at the sheet's demand, a screen", "121-servers", "124-kv-transfer")


def _lines(report: dict[str, Any]) -> list[str]:
    lines = [f"{report['name']}"]
    for name, pool in report["pools"].items():
        lines.append(
            f"{name:<8} {pool['servers']:>5} servers in {pool['instances']} instances "
            f"({pool['servers_exact']:.2f} needed at target), "
            f"{pool['equivalent_tokens_per_second']:,.1f} tok/s each, "
            f"{pool['utilization']:.1%} used"
        )
        if replaces := pool["replaces"]:
            lines.append(
                f"         worth {replaces['fast_equivalents']:.2f} of the faster servers "
                f"(one is worth {replaces['equivalence']:.1%})"
            )
    if links := report["kv_links"]:
        uses = ", ".join(
            f"{name} {links[name]['gbps_per_server']:,.1f} Gbit/s each = "
            f"{links[name]['port_use']:.1%} of the ports"
            for name in ("prefill", "decode")
        )
        lines.append(f"KV       {links['gbps']:,.1f} Gbit/s in all: {uses}")
    return lines + [f"finding  {finding}" for finding in report["findings"]]


def register(app: typer.Typer) -> None:
    """Add the command `capacity` to `app`."""
    app.command(epilog="Example: tokentill capacity sheet.toml --json")(capacity)
