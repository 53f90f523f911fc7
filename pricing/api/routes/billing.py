"""/v1/issuers and /v1/tenants/{id}/billing: who sells, who buys, and how it is invoiced."""

from collections.abc import Collection
from typing import Annotated, Any, Final

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.representation import LIST_CONTENT, many, one
from pricing.api.shapes import Amount, DecimalText, Id, Listing, Shape, Shown, Text
from pricing.errors import RequestInvalid
from pricing.ledger.issuers import (
    BillingProfile,
    change_issuer,
    change_profile,
    every_issuer,
    find_profile,
)
from pricing.ledger.tenants import get_tenant

router = APIRouter(tags=["invoices"])
NEVER_EMPTY: Final = frozenset({"issuer_id", "tax_rate", "language", "payment_days"})
Reading = Annotated[Call, may("invoices:read")]
Writing = Annotated[Call, may("invoices:write")]


class PartyChanges(Shape):
    """What a 发票 or an EU invoice says of a party; what is left out stays."""

    legal_name: Text | None = Field(None, examples=["Alder Search GmbH"])
    tax_id: Text | None = Field(None, examples=["DE123456789"])
    address: Text | None = None
    phone: Text | None = None
    email: Text | None = None
    bank_name: Text | None = None
    bank_account: Text | None = None
    country: str | None = Field(None, pattern="^[A-Z]{2}$", examples=["CN"])


class BillingChanges(PartyChanges):
    """How a tenant is invoiced; what is left out stays."""

    issuer_id: Id | None = None
    tax_rate: DecimalText | None = Field(None, examples=["0.06"])
    tax_place: Text | None = Field(None, examples=["Shanghai"])
    language: str | None = Field(None, pattern="^(en|zh)$", examples=["zh"])
    payment_days: int | None = Field(None, ge=0, le=3650)


class PartyShown(Shown):
    """A party as documents will name it."""

    legal_name: str | None
    tax_id: str | None
    address: str | None
    phone: str | None
    email: str | None
    bank_name: str | None
    bank_account: str | None
    country: str | None


class IssuerShown(PartyShown):
    """A seller."""

    issuer_id: Id


class BillingShown(PartyShown):
    """A buyer. tax_rate: a fraction of the net amount."""

    tenant_id: Id
    issuer_id: Id
    tax_rate: Amount
    tax_place: str | None
    language: str
    payment_days: int


@router.get(
    "/v1/issuers",
    summary="List issuers",
    response_model=Listing[IssuerShown],
    responses=LIST_CONTENT,
)
def get_issuers(call: Annotated[Call, may("tenants:read")]) -> Response:
    """Sellers; the house's own is there after the first close."""
    with call.ledger() as connection:
        found = every_issuer(connection)
    return many(call.request, IssuerShown, found)


@router.patch("/v1/issuers/{issuer_id}", summary="Set an issuer", response_model=IssuerShown)
def patch_issuer(call: Writing, issuer_id: Id, *, changes: PartyChanges) -> Response:
    """Registers it if it is new. Documents that were made before keep what they said."""
    with call.change() as change:
        found = change_issuer(change, issuer_id, given_fields(changes, {"legal_name"}))
    return one(call.request, IssuerShown.model_validate(found))


@router.get(
    "/v1/tenants/{tenant_id}/billing",
    summary="Read how a tenant is invoiced",
    response_model=BillingShown,
)
def get_billing(call: Reading, tenant_id: Id) -> Response:
    """Its name on documents, its tax, its language."""
    with call.ledger() as connection:
        get_tenant(connection, call.scope(), tenant_id)
        found = find_profile(connection, tenant_id) or BillingProfile(tenant_id=tenant_id)
    return one(call.request, BillingShown.model_validate(found))


@router.patch(
    "/v1/tenants/{tenant_id}/billing",
    summary="Set how a tenant is invoiced",
    response_model=BillingShown,
)
def patch_billing(call: Writing, tenant_id: Id, *, changes: BillingChanges) -> Response:
    """Decides documents made from now on; void a draft with `again` to make it anew."""
    with call.change() as change:
        found = change_profile(change, tenant_id, given_fields(changes, NEVER_EMPTY))
    return one(call.request, BillingShown.model_validate(found))


def given_fields(changes: PartyChanges, never_empty: Collection[str]) -> dict[str, Any]:
    """The fields that were given. Raises RequestInvalid for null where a value is needed."""
    given = changes.model_dump(exclude_unset=True)
    for name in never_empty:
        if name in given and given[name] is None:
            raise RequestInvalid(f"{name} cannot be null.", remedy="Leave it out to keep it.")
    return given
