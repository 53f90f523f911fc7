"""One authorised request: the only way from a route to the stores (docs/architecture.md, V10).

A route names its permission with `may("noun:verb")` and gets a `Call`. What it reads, it reads in
`call.scope(...)`, which comes from the credential and is at most narrowed by the query.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeVar

import duckdb
from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from sqlalchemy import Connection
from starlette.responses import Response

from pricing.api.services import Services
from pricing.errors import RequestInvalid
from pricing.ledger.connect import Change
from pricing.ledger.idempotency import Answer, recall, remember
from pricing.scope import Principal, Scope

IDEMPOTENCY_KEY_LENGTH_MAX: Final = 200
Result = TypeVar("Result")
bearer = HTTPBearer(
    bearerFormat="tk_…", description="A key of tokentill.", auto_error=False
)  # for the OpenAPI file; auth.Authenticator decides


@dataclass(frozen=True, slots=True)
class Call:
    """Who asks for what, when, and the stores as far as that goes."""

    request: Request
    services: Services
    principal: Principal
    at: datetime

    def scope(self, tenant_id: str | None = None) -> Scope:
        """Whose rows this call may read, narrowed to a tenant if the query names one."""
        return self.principal.scope().narrowed(tenant_id)

    @contextmanager
    def ledger(self) -> Iterator[Connection]:
        """A read transaction of the ledger."""
        with self.services.ledger.read() as connection:
            yield connection

    @contextmanager
    def change(self) -> Iterator[Change]:
        """A write transaction of the ledger, on record under this key and request."""
        writing = self.services.ledger.write(
            actor=self.principal.key_id, at=self.at, request_id=self.request.state.request_id
        )
        with writing as change:
            yield change

    def usage(self, query: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """The result of a read of the usage store, on a reader's thread and within its time."""
        return self.services.read_usage(query)

    def created(
        self, make: Callable[[Change], BaseModel], asked: BaseModel, *, status: int = 201
    ) -> Response:
        """`status` with what `make` made; a repeat with the same Idempotency-Key makes nothing."""
        key, digest = self._idempotency_key(), self._digest(asked)
        with self.change() as change:
            known = self._recalled(change, key, digest)
            if known is None:
                known = self._kept(change, make(change), status, key=key, digest=digest)
        return Response(known.body, known.status, media_type="application/json")

    def created_elsewhere(self, make: Callable[[], BaseModel], asked: BaseModel) -> Response:
        """200 with what `make` made outside the ledger, which is not held meanwhile."""
        key, digest = self._idempotency_key(), self._digest(asked)
        with self.change() as change:
            known = self._recalled(change, key, digest)
        if known is None:
            made = make()
            with self.change() as change:
                known = self._kept(change, made, HTTPStatus.OK, key=key, digest=digest)
        return Response(known.body, known.status, media_type="application/json")

    def _idempotency_key(self) -> str | None:
        key = self.request.headers.get("idempotency-key")
        if key is not None:
            _check_key(key)
        return key

    def _recalled(self, change: Change, key: str | None, digest: str) -> Answer | None:
        if key is None:
            return None
        who = self.principal.key_id
        return recall(change.connection, who, idempotency_key=key, request_sha256=digest)

    def _kept(
        self, change: Change, made: BaseModel, status: int, *, key: str | None, digest: str
    ) -> Answer:
        if key is not None:
            kept = Answer(status, made.model_dump_json(exclude=SECRETS))
            remember(change, key, request_sha256=digest, answer=kept)
        return Answer(status, made.model_dump_json())

    def _digest(self, asked: BaseModel) -> str:
        of = f"{self.request.method} {self.request.url.path}\n{asked.model_dump_json()}"
        return hashlib.sha256(of.encode()).hexdigest()


SECRETS: Final = {"secret"}  # fields of an answer that are shown once and never kept


@dataclass(frozen=True, slots=True)
class Permitted:
    """A dependency that lets through who holds `permission`."""

    permission: str

    def __call__(self, request: Request, _: Annotated[Any, Depends(bearer)]) -> Call:
        """The call, or NotAuthenticated, NotAllowed, TooManyRequests."""
        services: Services = request.app.state.services
        principal = authenticate(request)
        principal.require(self.permission)
        return Call(request, services, principal, services.clock())


def may(permission: str) -> Any:
    """What a route's `call` depends on."""
    return Depends(Permitted(permission))


def authenticate(request: Request) -> Principal:
    """Who sent the request, whatever it wants; the ingest routes ask for no more than that."""
    services: Services = request.app.state.services
    address = request.client.host if request.client else "unknown"
    principal = services.authenticator.principal(request.headers.get("authorization"), address)
    request.state.key_id = principal.key_id
    return principal


def _check_key(key: str) -> None:
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_LENGTH_MAX or not key.isprintable():
        raise RequestInvalid(
            f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_LENGTH_MAX} printable characters.",
            remedy="A UUID does.",
        )
