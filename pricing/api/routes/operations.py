"""/v1/jobs, /v1/audit and /v1/policies: what ran, who changed what, which rules are in force."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.openapi import CREATES
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, many, one
from pricing.api.shapes import Id, Listing, Shape, Shown, Text, Time
from pricing.ledger.audit import AuditEntry, list_entries
from pricing.ledger.connect import Change
from pricing.ledger.job_runs import list_runs
from pricing.ledger.policies import check_policy, keep_policy, list_policies
from pricing.ledger.rows import Page
from pricing.reports.doctor import ledger_checks, usage_checks

router = APIRouter(tags=["operations"])
NOTHING = Shape()  # what is asked where there is nothing to choose
POLICY_EXAMPLE = 'undelivered = "bill_input"'


class JobRunShown(Shown):
    """A job's run for one period."""

    job: str = Field(examples=["export"])
    period: str = Field(examples=["2026-09"])
    state: str = Field(examples=["done"])
    claimed_by: str
    lease_until: Time
    attempts: int
    started_at: Time
    finished_at: Time | None
    duration_seconds: float | None = Field(description="null while it runs")
    outcome: dict[str, Any] | None
    error: str | None


class RetryAsked(Shape):
    """How to repeat it."""

    again: bool = Field(default=False, description="also a run that was done")


class CheckShown(Shown):
    """One rule, and how many rows break it."""

    rule: str = Field(examples=["V7"])
    promise: str = Field(examples=["what servers earned is what tenants pay, per price key"])
    wrong: int = Field(examples=[0])
    remedy: str


class BackupMade(BaseModel):
    """Where the backup is: a folder on the server's disk, or a prefix of a bucket."""

    folder: str = Field(examples=["/var/lib/tokentill/backups/20261001T120000Z"])


class AuditRow(Shown):
    """One change. Secrets are never in it."""

    audit_id: int
    at: Time
    actor: str = Field(description="key id, or the command that acted")
    request_id: str | None
    action: str = Field(examples=["update"])
    subject: str = Field(examples=["tenant"])
    subject_key: str = Field(examples=["t-alder"])
    tenant_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class AuditAsked(BaseModel):
    """Which changes."""

    subject: Text | None = Field(None, examples=["tenant"])
    tenant_id: Id | None = None


class PolicyShown(Shown):
    """A revision of the policies, in force for what settles from effective_from on."""

    revision: int
    toml_text: str = Field(examples=[POLICY_EXAMPLE])
    sha256: str
    effective_from: Time
    created_at: Time
    created_by: str


class NewPolicy(Shape):
    """Policies as TOML; keys that are left out have their defaults."""

    toml: str = Field(max_length=10_000, examples=[POLICY_EXAMPLE])
    effective_from: Time


@router.get(
    "/v1/jobs",
    summary="List runs of jobs",
    response_model=Listing[JobRunShown],
    responses=LIST_CONTENT,
)
def get_jobs(call: Annotated[Call, may("jobs:read")], paging: Paged) -> Response:
    """Runs, those started last first."""
    return ledger_list(
        call, JobRunShown, paging, list_runs, started_at=datetime, job=str, period=str
    )


@router.post("/v1/jobs/{job}/{period}/retry", summary="Run a job again", response_model=JobRunShown)
def post_retry(
    call: Annotated[Call, may("jobs:write")], job: Id, period: Id, *, asked: RetryAsked
) -> Response:
    """Run it now and show how it ended: done, or failed with its error. What it made is replaced.

    409 while it runs, or where it is done and `again` was not asked for.
    """
    run = call.services.retry_job(job, period, again=asked.again)
    return one(call.request, JobRunShown.model_validate(run))


@router.get(
    "/v1/doctor",
    summary="Check the data",
    response_model=Listing[CheckShown],
    responses=LIST_CONTENT,
)
def get_doctor(call: Annotated[Call, may("jobs:read")]) -> Response:
    """What must be true of the data, checked on the data; each fault with its remedy."""
    with call.ledger() as connection:
        checks = ledger_checks(connection, call.at)
    return many(call.request, CheckShown, checks + call.usage(usage_checks))


@router.post(
    "/v1/backups",
    summary="Back both stores up",
    response_model=BackupMade,
    openapi_extra={CREATES: True},
)
def post_backup(call: Annotated[Call, may("jobs:write")]) -> Response:
    """Copy both stores during traffic into a new folder or prefix; it is whole or not there."""
    return call.created_elsewhere(lambda: BackupMade(folder=call.services.back_up()), NOTHING)


@router.get(
    "/v1/audit",
    summary="Read the audit log",
    response_model=Listing[AuditRow],
    responses=LIST_CONTENT,
)
def get_audit(
    call: Annotated[Call, may("audit:read")],
    paging: Paged,
    *,
    asked: Annotated[AuditAsked, Query()],
) -> Response:
    """Every change of tenants, prices, keys, servers, policies and periods, the last first."""
    scope = call.scope(asked.tenant_id)

    def rows(at: Connection, page: Page) -> list[AuditEntry]:
        return list_entries(at, scope, subject=asked.subject, page=page)

    return ledger_list(call, AuditRow, paging, rows, audit_id=int)


@router.get(
    "/v1/policies",
    summary="List policies",
    response_model=Listing[PolicyShown],
    responses=LIST_CONTENT,
)
def get_policies(call: Annotated[Call, may("policies:read")], paging: Paged) -> Response:
    """Every revision; the last one whose date has come is in force."""
    return ledger_list(call, PolicyShown, paging, list_policies, revision=int)


@router.post("/v1/policies", summary="Set policies", response_model=PolicyShown, status_code=201)
def post_policy(call: Annotated[Call, may("policies:write")], new: NewPolicy) -> Response:
    """The text is checked first; docs/policies.md lists every key and value."""
    policy = check_policy(new.toml)

    def keep(change: Change) -> PolicyShown:
        kept = keep_policy(change, policy, new.toml, effective_from=new.effective_from)
        return PolicyShown.model_validate(kept)

    answer = call.created(keep, new)
    call.services.changed("policies")
    return answer
