"""/v1/tenants: who is billed, in which zone and currency."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import Currency, Id, Listing, Shape, Shown, Text, Time
from pricing.ledger.tables import TenantKind
from pricing.ledger.tenants import Tenant, add_tenant, change_tenant, get_tenant, list_tenants

router = APIRouter(tags=["tenants"])
Reading = Annotated[Call, may("tenants:read")]
Writing = Annotated[Call, may("tenants:write")]
ZONE = Field(examples=["Asia/Shanghai"], description="IANA name; months and days are cut there")


class TenantShown(Shown):
    """A registered tenant."""

    tenant_id: Id
    name: str = Field(examples=["Alder Search"])
    legal_name: str | None = Field(None, examples=["Alder Search GmbH"])
    kind: TenantKind
    billing_zone: str = ZONE
    currency: Currency
    created_at: Time
    archived_at: Time | None = None


class NewTenant(Shape):
    """A tenant to register; tenant_id is the id that its usage carries."""

    tenant_id: Id
    name: Text = Field(examples=["Alder Search"])
    legal_name: Text | None = None
    kind: TenantKind = TenantKind.CUSTOMER
    billing_zone: Text = ZONE
    currency: Currency


class TenantChanges(Shape):
    """What to change of a tenant; what is left out stays."""

    name: Text | None = Field(None, examples=["Alder Search"])
    legal_name: Text | None = None
    kind: TenantKind | None = None
    billing_zone: Text | None = None
    currency: Currency | None = None
    archived_at: Time | None = None


@router.get(
    "/v1/tenants",
    summary="List tenants",
    response_model=Listing[TenantShown],
    responses=LIST_CONTENT,
)
def get_tenants(call: Reading, paging: Paged) -> Response:
    """Registered tenants by id; a tenant's key sees its own."""
    scope = call.scope()
    return ledger_list(
        call, TenantShown, paging, lambda at, page: list_tenants(at, scope, page), tenant_id=str
    )


@router.post(
    "/v1/tenants", summary="Register a tenant", response_model=TenantShown, status_code=201
)
def post_tenant(call: Writing, new: NewTenant) -> Response:
    """Usage that names the tenant before it is registered is kept, and shown as unregistered."""
    answer = call.created(
        lambda change: TenantShown.model_validate(
            add_tenant(change, Tenant(**new.model_dump(), created_at=call.at))
        ),
        new,
    )
    call.services.changed("tenants")
    return answer


@router.get("/v1/tenants/{tenant_id}", summary="Read a tenant", response_model=TenantShown)
def get_one_tenant(call: Reading, tenant_id: Id) -> Response:
    """One tenant."""
    with call.ledger() as connection:
        found = get_tenant(connection, call.scope(), tenant_id)
    return one(call.request, TenantShown.model_validate(found))


@router.patch("/v1/tenants/{tenant_id}", summary="Change a tenant", response_model=TenantShown)
def patch_tenant(call: Writing, tenant_id: Id, *, changes: TenantChanges) -> Response:
    """The zone cannot change once a month was closed in it: months would overlap."""
    asked: dict[str, Any] = changes.model_dump(exclude_unset=True)
    with call.change() as change:
        found = change_tenant(change, tenant_id, asked)
    call.services.changed("tenants")
    return one(call.request, TenantShown.model_validate(found))
