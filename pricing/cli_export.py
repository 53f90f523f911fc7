"""`tokentill export`: a month as one file."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from metering.windows import parse_month
from pricing.cli_local import ConfigFile, LocalHouse, do
from pricing.cli_progress import progress_bar
from pricing.client import Client
from pricing.exports.places import place_of
from pricing.ledger.tenants import zone as zone_named
from pricing.runs.export_file import ExportOrder, export_file
from pricing.scope import Scope


def register(app: typer.Typer) -> None:
    """Add `export` to `app`."""
    app.command()(export)


def export(
    month: Annotated[str, typer.Argument(help="YYYY-MM.")],
    *,
    kind: Annotated[
        str, typer.Option(help="chargeback, servers, requests, invoices, lines or focus.")
    ],
    out: Annotated[str, typer.Option(help="File to write, or s3://bucket/name.")],
    format_: Annotated[str, typer.Option("--format", help="csv, parquet, xlsx or jsonl.")] = "csv",
    zone: Annotated[str, typer.Option(help="Cuts what is not cut by tenant (IANA name).")] = "UTC",
    bom: Annotated[bool, typer.Option("--bom", help="A byte order mark before CSV.")] = False,
    config: ConfigFile = None,
) -> None:
    """Write a month's export; the file appears whole or not at all.

    Example: tokentill export 2026-10 --kind focus --format parquet --out focus.parquet
    """
    asked: dict[str, Any] = {"month": month, "format": format_, "zone": zone, "bom": bom}
    folder, _, name = out.rpartition("/")
    with (
        tempfile.TemporaryDirectory(prefix="tokentill-export-") as staging,
        progress_bar("Exporting", "rows") as advance,
    ):
        file = Path(staging) / "export"

        def by_api(client: Client) -> None:
            client.get_file(f"/v1/exports/{kind}", file, **asked)
            place_of(folder or ".").put(file, name)

        def locally(house: LocalHouse) -> None:
            order = ExportOrder(
                kind=kind,
                month=parse_month(month),
                zone=zone_named(zone),
                scope=Scope.house(),
                bom=bom,
            )
            with house.ledger.read() as connection:
                export_file(
                    house.cursor,
                    connection,
                    order,
                    format_=format_,
                    path=file,
                    progress=lambda rows: advance(rows, None),
                )
            place_of(folder or ".").put(file, name)

        do("export", config, by_api, locally)
    typer.echo(out)
