"""`tokentill job`, `policy` and `audit`: what ran, which rules are in force, who changed what."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from metering.windows import parse_time
from pricing.api.routes.operations import AuditRow, JobRunShown, PolicyShown
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do, listed, plain, show
from pricing.client import Client
from pricing.errors import Conflict
from pricing.ledger.audit import list_entries
from pricing.ledger.job_runs import list_runs
from pricing.ledger.policies import check_policy, keep_policy, list_policies
from pricing.ledger.rows import Page
from pricing.scope import Scope

JOB = ("job", "period", "state", "attempts", "started_at", "duration_seconds", "error")
POLICY = ("revision", "effective_from", "created_by", "sha256")
AUDIT = ("at", "actor", "action", "subject", "subject_key")
LAST: int = 100
jobs = typer.Typer(no_args_is_help=True, epilog="Example: tokentill job list")
policies = typer.Typer(no_args_is_help=True, epilog="Example: tokentill policy list")


def register(parent: typer.Typer) -> None:
    """Add `job`, `policy` and `audit` to `parent`."""
    parent.add_typer(jobs, name="job", help="Runs of jobs, and running one again.")
    parent.add_typer(policies, name="policy", help="Rules by which usage becomes money.")
    parent.command()(audit)


@jobs.command("list")
def list_jobs(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List runs, the last first: state, attempts, when, and why one failed.

    Example: tokentill job list
    """
    found = listed("job list", config, path="/v1/jobs", shape=JobRunShown, read=list_runs)
    show(found, as_json=as_json, columns=JOB)


@jobs.command()
def retry(
    job: Annotated[str, typer.Argument(help="As `tokentill job list` prints it.")],
    period: Annotated[str, typer.Argument(help="Its period.")],
    *,
    again: Annotated[bool, typer.Option("--again", help="Also one that was done.")] = False,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Run a job of the running server again, now, and show how it ended.

    Example: tokentill job retry monthly_export 2026-10 --again
    """

    def by_api(client: Client) -> Any:
        path = f"/v1/jobs/{quote(job, safe='')}/{quote(period, safe='')}/retry"
        return client.post(path, {"again": again})

    def locally(_: LocalHouse) -> Any:
        raise Conflict(
            "Jobs run in a server.",
            remedy="Set TOKENTILL_API_URL and TOKENTILL_API_KEY, or use the command of the job: "
            "close, export, db backup, doctor.",
        )

    found = do("job retry", config, by_api, locally)
    show(found, as_json=as_json, columns=JOB)
    if found["state"] != "done":
        raise typer.Exit(1)


@policies.command("list")
def list_policies_(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List revisions; the last one whose date has come is in force. --json has their texts.

    Example: tokentill policy list --json
    """
    found = listed(
        "policy list", config, path="/v1/policies", shape=PolicyShown, read=list_policies
    )
    show(found, as_json=as_json, columns=POLICY)


def _time(given: str | datetime) -> datetime:
    try:
        return given if isinstance(given, datetime) else parse_time(given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


@policies.command("set")
def set_policy(
    file: Annotated[Path, typer.Argument(help="Policies as TOML.")],
    *,
    effective_from: Annotated[
        datetime, typer.Option(parser=_time, metavar="TIME", help="ISO 8601 with zone.")
    ],
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Keep a file as the next revision, in force for what settles from then on.

    Example: tokentill policy set policies.toml --effective-from 2026-11-01T00:00:00+08:00
    """
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file}: {error}") from error

    def by_api(client: Client) -> Any:
        body = {"toml": text, "effective_from": effective_from.isoformat()}
        return client.post("/v1/policies", body)

    def locally(house: LocalHouse) -> Any:
        policy = check_policy(text)
        with house.ledger.write(actor="tokentill policy", at=house.now) as change:
            kept = keep_policy(change, policy, text, effective_from=effective_from)
        return plain(PolicyShown.model_validate(kept))

    show(do("policy set", config, by_api, locally), as_json=as_json, columns=POLICY)


def audit(
    *,
    subject: Annotated[str | None, typer.Option(help="Such as invoice, api_key.")] = None,
    last: Annotated[int, typer.Option(min=1, max=1000, help="So many.")] = LAST,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Who changed what, the last change first; --json has what was before and after.

    Example: tokentill audit --subject invoice --json
    """

    def by_api(client: Client) -> Any:
        return client.get("/v1/audit", subject=subject, limit=last)["items"]

    def locally(house: LocalHouse) -> Any:
        with house.ledger.read() as connection:
            found = list_entries(connection, Scope.house(), subject=subject, page=Page(last))
        return [plain(AuditRow.model_validate(each)) for each in found]

    show(do("audit", config, by_api, locally), as_json=as_json, columns=AUDIT)
