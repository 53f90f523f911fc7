"""/v1/tenants/{tenant_id}/cost-centres, and which project is charged to which, by date."""

import secrets
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import Id, Listing, Shape, Shown, Text, Time
from pricing.ledger.cost_centres import (
    Assignment,
    CostCentre,
    add_cost_centre,
    assign,
    change_cost_centre,
    get_cost_centre,
    list_assignments,
    list_cost_centres,
)
from pricing.ledger.projects import get_project
from pricing.ledger.rows import Page

router = APIRouter(tags=["cost centres"])
Reading = Annotated[Call, may("cost_centres:read")]
Writing = Annotated[Call, may("cost_centres:write")]
CENTRES = "/v1/tenants/{tenant_id}/cost-centres"
CHARGES = "/v1/tenants/{tenant_id}/projects/{project_id}/cost-centres"


class CostCentreShown(Shown):
    """A cost centre of a tenant."""

    tenant_id: Id
    cost_centre_id: Id
    name: str = Field(examples=["Research"])
    created_at: Time
    archived_at: Time | None = None


class NewCostCentre(Shape):
    """A cost centre to register."""

    cost_centre_id: Id = Field(examples=["4711"])
    name: Text = Field(examples=["Research"])


class CostCentreChanges(Shape):
    """What to change of a cost centre."""

    name: Text | None = Field(None, examples=["Research"])
    archived_at: Time | None = None


class AssignmentShown(Shown):
    """A project is charged to a cost centre in [from_at, until_at)."""

    assignment_id: str
    tenant_id: Id
    project_id: Id
    cost_centre_id: Id
    from_at: Time
    until_at: Time | None = None


class NewAssignment(Shape):
    """From when on a project is charged to which cost centre; an open one before it ends there."""

    cost_centre_id: Id = Field(examples=["4711"])
    from_at: Time
    until_at: Time | None = Field(None, description="exclusive; null: until further notice")


@router.get(
    CENTRES,
    summary="List a tenant's cost centres",
    response_model=Listing[CostCentreShown],
    responses=LIST_CONTENT,
)
def get_cost_centres(call: Reading, tenant_id: Id, *, paging: Paged) -> Response:
    """Cost centres by id."""
    scope, key = call.scope(tenant_id), {"tenant_id": str, "cost_centre_id": str}
    return ledger_list(
        call, CostCentreShown, paging, lambda at, page: list_cost_centres(at, scope, page), **key
    )


@router.post(
    CENTRES, summary="Register a cost centre", response_model=CostCentreShown, status_code=201
)
def post_cost_centre(call: Writing, tenant_id: Id, *, new: NewCostCentre) -> Response:
    """A cost centre, unique within the tenant."""
    centre = CostCentre(tenant_id=tenant_id, **new.model_dump(), created_at=call.at)
    return call.created(
        lambda change: CostCentreShown.model_validate(add_cost_centre(change, centre)), new
    )


@router.get(
    CENTRES + "/{cost_centre_id}", summary="Read a cost centre", response_model=CostCentreShown
)
def get_one_cost_centre(call: Reading, tenant_id: Id, *, cost_centre_id: Id) -> Response:
    """One cost centre."""
    with call.ledger() as connection:
        found = get_cost_centre(connection, call.scope(tenant_id), cost_centre_id)
    return one(call.request, CostCentreShown.model_validate(found))


@router.patch(
    CENTRES + "/{cost_centre_id}", summary="Change a cost centre", response_model=CostCentreShown
)
def patch_cost_centre(
    call: Writing, tenant_id: Id, *, cost_centre_id: Id, changes: CostCentreChanges
) -> Response:
    """Rename or archive."""
    asked = changes.model_dump(exclude_unset=True)
    with call.change() as change:
        found = change_cost_centre(change, tenant_id, cost_centre_id=cost_centre_id, changes=asked)
    return one(call.request, CostCentreShown.model_validate(found))


@router.get(
    CHARGES,
    summary="List what a project is charged to",
    response_model=Listing[AssignmentShown],
    responses=LIST_CONTENT,
)
def get_assignments(call: Reading, tenant_id: Id, *, project_id: Id, paging: Paged) -> Response:
    """The project's cost centres in the order of their dates."""
    scope = call.scope(tenant_id)

    def rows(at: Connection, page: Page) -> list[Assignment]:
        get_project(at, scope, project_id)
        return list_assignments(at, scope, project_id=project_id, page=page)

    return ledger_list(call, AssignmentShown, paging, rows, from_at=datetime, assignment_id=str)


@router.post(
    CHARGES,
    summary="Charge a project to a cost centre",
    response_model=AssignmentShown,
    status_code=201,
)
def post_assignment(
    call: Writing, tenant_id: Id, *, project_id: Id, new: NewAssignment
) -> Response:
    """Requests that are settled already keep the cost centre that they were settled with."""
    assignment = Assignment(
        assignment_id="asg_" + secrets.token_hex(8),
        tenant_id=tenant_id,
        project_id=project_id,
        **new.model_dump(),
    )
    answer = call.created(
        lambda change: AssignmentShown.model_validate(assign(change, assignment)), new
    )
    call.services.changed("tenants")
    return answer
