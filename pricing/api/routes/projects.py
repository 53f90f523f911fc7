"""/v1/tenants/{tenant_id}/…: projects, and the key ids of its usage."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import Id, Listing, Shape, Shown, Text, Time
from pricing.ledger.projects import (
    Project,
    add_project,
    change_project,
    get_project,
    list_projects,
)
from pricing.ledger.usage_keys import UsageKey, add_usage_key, list_usage_keys

router = APIRouter(tags=["projects"])
Reading = Annotated[Call, may("projects:read")]
Writing = Annotated[Call, may("projects:write")]


class ProjectShown(Shown):
    """A project of a tenant."""

    tenant_id: Id
    project_id: Id
    name: str = Field(examples=["Search"])
    created_at: Time
    archived_at: Time | None = None


class NewProject(Shape):
    """A project to register; project_id is the id that usage carries."""

    project_id: Id = Field(examples=["search"])
    name: Text = Field(examples=["Search"])


class ProjectChanges(Shape):
    """What to change of a project."""

    name: Text | None = Field(None, examples=["Search"])
    archived_at: Time | None = None


class UsageKeyShown(Shown):
    """A key id that usage names, and whose it is."""

    tenant_id: Id
    api_key_id: Id
    project_id: Id | None = None
    created_at: Time


class NewUsageKey(Shape):
    """A key id of the tenant: its public name as the gateway or engine logs it, never the key."""

    api_key_id: Id = Field(examples=["sk-alder-1"])
    project_id: Id | None = Field(None, examples=["search"])


@router.get(
    "/v1/tenants/{tenant_id}/projects",
    summary="List a tenant's projects",
    response_model=Listing[ProjectShown],
    responses=LIST_CONTENT,
)
def get_projects(call: Reading, tenant_id: Id, *, paging: Paged) -> Response:
    """Projects by id."""
    scope, key = call.scope(tenant_id), {"tenant_id": str, "project_id": str}
    return ledger_list(
        call, ProjectShown, paging, lambda at, page: list_projects(at, scope, page), **key
    )


@router.post(
    "/v1/tenants/{tenant_id}/projects",
    summary="Register a project",
    response_model=ProjectShown,
    status_code=201,
)
def post_project(call: Writing, tenant_id: Id, *, new: NewProject) -> Response:
    """Usage that names a project before it is registered is kept under that id."""
    project = Project(tenant_id=tenant_id, **new.model_dump(), created_at=call.at)
    return call.created(
        lambda change: ProjectShown.model_validate(add_project(change, project)), new
    )


@router.get(
    "/v1/tenants/{tenant_id}/projects/{project_id}",
    summary="Read a project",
    response_model=ProjectShown,
)
def get_one_project(call: Reading, tenant_id: Id, *, project_id: Id) -> Response:
    """One project."""
    with call.ledger() as connection:
        found = get_project(connection, call.scope(tenant_id), project_id)
    return one(call.request, ProjectShown.model_validate(found))


@router.patch(
    "/v1/tenants/{tenant_id}/projects/{project_id}",
    summary="Change a project",
    response_model=ProjectShown,
)
def patch_project(
    call: Writing, tenant_id: Id, *, project_id: Id, changes: ProjectChanges
) -> Response:
    """Rename or archive; an archived project still receives usage that names it."""
    asked = changes.model_dump(exclude_unset=True)
    with call.change() as change:
        found = change_project(change, tenant_id, project_id=project_id, changes=asked)
    return one(call.request, ProjectShown.model_validate(found))


@router.get(
    "/v1/tenants/{tenant_id}/usage-keys",
    summary="List the key ids of a tenant's usage",
    response_model=Listing[UsageKeyShown],
    responses=LIST_CONTENT,
)
def get_usage_keys(call: Reading, tenant_id: Id, *, paging: Paged) -> Response:
    """Key ids that usage may name instead of a tenant."""
    scope = call.scope(tenant_id)
    return ledger_list(
        call,
        UsageKeyShown,
        paging,
        lambda at, page: list_usage_keys(at, scope, page),
        api_key_id=str,
    )


@router.post(
    "/v1/tenants/{tenant_id}/usage-keys",
    summary="Say whose a key id is",
    response_model=UsageKeyShown,
    status_code=201,
)
def post_usage_key(call: Writing, tenant_id: Id, *, new: NewUsageKey) -> Response:
    """Usage that names this key id and no tenant is billed to the tenant, from now on."""
    owned = UsageKey(tenant_id=tenant_id, **new.model_dump(), created_at=call.at)
    answer = call.created(
        lambda change: UsageKeyShown.model_validate(add_usage_key(change, owned)), new
    )
    call.services.changed("tenants")
    return answer
