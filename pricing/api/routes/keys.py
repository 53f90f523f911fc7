"""/v1/keys: credentials. A secret is in one answer, once, and nowhere else."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import Id, Listing, Shape, Shown, Text, Time
from pricing.errors import RequestInvalid
from pricing.ledger.keys import (
    ApiKey,
    NewKey,
    create_key,
    get_key,
    list_keys,
    revoke_key,
    rotate_key,
)
from pricing.scope import Role

router = APIRouter(tags=["keys"])
Reading = Annotated[Call, may("keys:read")]
Writing = Annotated[Call, may("keys:write")]
OVERLAP_SECONDS_MAX = 90 * 86_400


class KeyShown(Shown):
    """A key, without its secret."""

    key_id: str = Field(examples=["key_0f9d2f6f5f8f3c2a"])
    prefix: str = Field(examples=["tk_Yx7Qp2a"])
    name: str = Field(examples=["sidecar of p01"])
    role: Role
    tenant_id: str | None = None
    node_id: str | None = None
    scopes: list[str] | None = None
    created_at: Time
    expires_at: Time | None = None
    revoked_at: Time | None = None
    last_used_at: Time | None = None
    replaces_key_id: str | None = None


class KeyCreated(KeyShown):
    """A key with its secret, which is not kept and cannot be shown again."""

    secret: str | None = Field(
        None, description="null where an Idempotency-Key was sent before: it was shown then"
    )


class KeyAsked(Shape):
    """A key to create."""

    name: Text = Field(examples=["sidecar of p01"])
    role: Role = Field(examples=["node"])
    tenant_id: Id | None = Field(None, description="for the role tenant")
    node_id: Id | None = Field(None, description="for the role node", examples=["p01"])
    scopes: list[Text] | None = Field(
        None, max_length=50, description="permissions the key is cut down to; null: all of its role"
    )
    expires_at: Time | None = None


class Rotation(Shape):
    """How long the old key works beside its successor."""

    overlap_seconds: int = Field(86_400, ge=0, le=OVERLAP_SECONDS_MAX)


@router.get(
    "/v1/keys", summary="List keys", response_model=Listing[KeyShown], responses=LIST_CONTENT
)
def get_keys(call: Reading, paging: Paged) -> Response:
    """Keys by id, ended ones included; a tenant's key sees its tenant's."""
    scope = call.scope()
    return ledger_list(
        call, KeyShown, paging, lambda at, page: list_keys(at, scope, page), key_id=str
    )


@router.post("/v1/keys", summary="Create a key", response_model=KeyCreated, status_code=201)
def post_key(call: Writing, asked: KeyAsked) -> Response:
    """The secret is in this answer and nowhere else."""
    values = asked.model_dump()
    scopes = values.pop("scopes")
    new = NewKey(**values, scopes=None if scopes is None else tuple(scopes))
    if new.expires_at is not None and new.expires_at <= call.at:
        raise RequestInvalid("expires_at: it has passed already.")
    return call.created(lambda change: _with_secret(*create_key(change, new)), asked)


@router.get("/v1/keys/{key_id}", summary="Read a key", response_model=KeyShown)
def get_one_key(call: Reading, key_id: Id) -> Response:
    """One key, without its secret."""
    with call.ledger() as connection:
        found = get_key(connection, call.scope(), key_id)
    return one(call.request, KeyShown.model_validate(found))


@router.post(
    "/v1/keys/{key_id}/rotate",
    summary="Rotate a key",
    response_model=KeyCreated,
    status_code=201,
)
def post_rotation(call: Writing, key_id: Id, *, asked: Rotation) -> Response:
    """A successor with the same rights; the old key works for the overlap, then never again."""
    overlap = timedelta(seconds=asked.overlap_seconds)
    answer = call.created(
        lambda change: _with_secret(*rotate_key(change, key_id, overlap=overlap)), asked
    )
    call.services.changed("keys")
    return answer


@router.delete("/v1/keys/{key_id}", summary="Revoke a key", response_model=KeyShown)
def delete_key(call: Writing, key_id: Id) -> Response:
    """It opens nothing from now on; its row stays, for the audit log's sake."""
    with call.change() as change:
        found = revoke_key(change, key_id)
    call.services.changed("keys")
    return one(call.request, KeyShown.model_validate(found))


def _with_secret(key: ApiKey, secret: str) -> KeyCreated:
    shown = KeyShown.model_validate(key)
    return KeyCreated(**shown.model_dump(), secret=secret)
