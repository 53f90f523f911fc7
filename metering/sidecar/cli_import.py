"""`tokentill import`: usage from finished files, by the sidecar's own way to the collector."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from metering.errors import ConfigInvalid, MeteringError
from metering.sidecar.arrow_alone import use_arrow_alone
from metering.sidecar.clock import Clock
from metering.sidecar.config import LimitsConfig
from metering.sidecar.import_source import REJECTED, ImportSource
from metering.sidecar.lane import Lane, Pace
from metering.sidecar.rejected import RejectedFolder
from metering.sidecar.service import configure_logging
from metering.sidecar.ship import Shipper
from metering.sources import (
    PARSERS,
    dynamo_trace,
    envoy_ai_gateway,
    litellm,
    openai_usage,
    usage_ndjson,
)
from metering.sources.record import NodeIdentity
from metering.usage import Stage

SELF_TELLING = frozenset(
    {
        REJECTED,
        dynamo_trace.FORMAT,
        envoy_ai_gateway.FORMAT,
        litellm.FORMAT,
        openai_usage.FORMAT,
        usage_ndjson.FORMAT,
    }
)
FORMATS = (*sorted(PARSERS), REJECTED)


def register(app: typer.Typer) -> None:
    """Add `import` to `app`."""
    app.command(
        name="import",
        epilog="Example: tokentill import sglang_export /var/log/sglang/*.log --node p1 "
        "--stage prefill --model glm-5.2 --url http://127.0.0.1:8080",
    )(import_command)


def import_command(
    source_format: Annotated[str, typer.Argument(metavar="FORMAT", help=", ".join(FORMATS))],
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="'-': standard input.")],
    *,
    url: Annotated[
        str, typer.Option(envvar="TOKENTILL_API_URL", help="The collector.")
    ] = "http://127.0.0.1:8080",
    key: Annotated[
        str, typer.Option(envvar="TOKENTILL_API_KEY", help="A key that may ingest.")
    ] = "",
    node: Annotated[str, typer.Option(help="The server that did the work.")] = "",
    stage: Annotated[Stage, typer.Option(help="What that server does.")] = Stage.UNIFIED,
    model: Annotated[str, typer.Option(help="The model it serves.")] = "",
    pool: Annotated[str | None, typer.Option(help="The servers that serve together.")] = None,
    region: Annotated[str | None, typer.Option(help="Where it stands.")] = None,
    patience_seconds: Annotated[float, typer.Option(help="Longest wait for the collector.")] = 300,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Send the usage in finished files; importing a file again changes nothing."""
    use_arrow_alone()
    configure_logging()
    try:
        identity = _identity(source_format, node, stage, model, pool=pool, region=region)
        source = ImportSource(source_format, files, identity, LimitsConfig())
        _deliver(source, url, _checked_key(key), patience_seconds)
    except MeteringError as error:
        print(f"tokentill: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    if as_json:
        print(json.dumps(source.totals))
    else:
        print("\n".join(f"{name:<14}{count:>14,}" for name, count in source.totals.items()))
    if source.totals.get("set_aside"):
        raise typer.Exit(1)


def _identity(
    source_format: str, node: str, stage: Stage, model: str, *, pool: str | None, region: str | None
) -> NodeIdentity:
    if source_format not in FORMATS:
        raise typer.BadParameter(f"{source_format!r}; expected one of {', '.join(FORMATS)}")
    if source_format not in SELF_TELLING and not (node and model):
        raise typer.BadParameter(
            f"lines of {source_format} name neither server nor model: add --node and --model"
        )
    return NodeIdentity(
        node_id=node or "import", stage=stage.value, model_id=model, pool=pool, region=region
    )


def _checked_key(key: str) -> str:
    if not key:
        raise ConfigInvalid("no key: set TOKENTILL_API_KEY, or make one with tokentill keys create")
    return key


def _deliver(source: ImportSource, url: str, key: str, patience_seconds: float) -> None:
    """Send everything. Raises ConfigInvalid if the collector does not take it for so long."""
    limits, clock = LimitsConfig(), Clock()
    shipper = Shipper((url,), lambda: key, ca_file="", clock=clock)
    lane = Lane(
        source,
        shipper,
        RejectedFolder(Path("tokentill-rejected"), limits.rejected_bytes),
        Pace(limits.retry_seconds, 10.0, 10.0),
        clock,
        lambda _through, _lane: {"Tokentill-Import": "true"},
    )
    progress_at = clock.monotonic()
    try:
        while lane.step() or lane.is_waiting:
            if not lane.failures:
                progress_at = clock.monotonic()
            elif clock.monotonic() - progress_at > patience_seconds:
                raise ConfigInvalid(
                    f"{url} did not take the batch: {lane.last_failure}. Import the files again "
                    f"when it does; what has arrived is not counted twice."
                )
            else:
                time.sleep(max(0.0, min(1.0, lane.retry_at - clock.monotonic())))
    finally:
        shipper.close()
