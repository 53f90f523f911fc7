"""`tokentill tenant`, `issuer` and `buyer`: who uses, who sells, and what documents say of both."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import typer
from pydantic import BaseModel, ValidationError

from pricing.api.routes.billing import (
    NEVER_EMPTY,
    BillingChanges,
    BillingShown,
    IssuerShown,
    PartyChanges,
    given_fields,
)
from pricing.api.routes.tenants import NewTenant, TenantChanges, TenantShown
from pricing.cli_local import AsJson, ConfigFile, LocalHouse, do, listed, plain, show
from pricing.client import Client
from pricing.ledger.connect import Change
from pricing.ledger.issuers import (
    BillingProfile,
    change_issuer,
    change_profile,
    every_issuer,
    find_profile,
)
from pricing.ledger.tables import TenantKind
from pricing.ledger.tenants import Tenant, add_tenant, change_tenant, get_tenant, list_tenants
from pricing.scope import Scope

Changes = TypeVar("Changes", bound=BaseModel)
HOUSE = Scope.house()
TENANT = ("tenant_id", "kind", "billing_zone", "currency", "name")
ISSUER = ("issuer_id", "legal_name", "tax_id", "country", "bank_account")
BUYER = ("tenant_id", "issuer_id", "legal_name", "tax_id", "country", "tax_rate", "language")
Fields = Annotated[
    list[str], typer.Argument(metavar="FIELD=VALUE…", help="What changes; FIELD= empties it.")
]
TenantId = Annotated[str, typer.Argument(help="The id that its usage carries.")]
tenants = typer.Typer(no_args_is_help=True, epilog="Example: tokentill tenant list")
issuers = typer.Typer(no_args_is_help=True, epilog="Example: tokentill issuer list")
buyers = typer.Typer(no_args_is_help=True, epilog="Example: tokentill buyer show t-alder")


def register(parent: typer.Typer) -> None:
    """Add `tenant`, `issuer` and `buyer` to `parent`."""
    parent.add_typer(tenants, name="tenant", help="Who is billed, in which zone and currency.")
    parent.add_typer(issuers, name="issuer", help="Who sells: what documents say of the seller.")
    parent.add_typer(buyers, name="buyer", help="Who buys: names, tax, language, days to pay.")


@tenants.command("list")
def list_tenants_(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List registered tenants.

    Example: tokentill tenant list
    """
    found = listed(
        "tenant list",
        config,
        path="/v1/tenants",
        shape=TenantShown,
        read=lambda connection, page: list_tenants(connection, HOUSE, page),
    )
    show(found, as_json=as_json, columns=TENANT)


@tenants.command("add")
def add_tenant_(
    tenant_id: TenantId,
    *,
    name: Annotated[str, typer.Option(help="For people.")],
    zone: Annotated[str, typer.Option(help="IANA name; its months are cut there.")],
    currency: Annotated[str, typer.Option(help="ISO 4217.")],
    kind: Annotated[TenantKind, typer.Option(help="Who gets what.")] = TenantKind.CUSTOMER,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Register a tenant; usage that named it before is its own.

    Example: tokentill tenant add t-alder --name "Alder" --zone Asia/Shanghai --currency CNY
    """
    words = {"tenant_id": tenant_id, "name": name, "billing_zone": zone, "currency": currency}
    asked = _given(
        NewTenant, [f"{field}={word}" for field, word in {**words, "kind": kind}.items()]
    )

    def made(change: Change) -> BaseModel:
        new = Tenant(**asked.model_dump(), created_at=change.at)
        return TenantShown.model_validate(add_tenant(change, new))

    def by_api(client: Client) -> Any:
        return client.post("/v1/tenants", asked.model_dump(mode="json"))

    found = _changed("tenant add", config, by_api, made)
    show(found, as_json=as_json, columns=TENANT)


@tenants.command("set")
def set_tenant(
    tenant_id: TenantId, fields: Fields, as_json: AsJson = False, config: ConfigFile = None
) -> None:
    """Change fields of a tenant: name, legal_name, kind, billing_zone, currency.

    The zone stays once a month was closed in it.

    Example: tokentill tenant set t-alder kind=internal
    """
    given = _given(TenantChanges, fields)
    found = _changed(
        "tenant set",
        config,
        lambda client: client.patch(_path("tenants", tenant_id), _json(given)),
        lambda change: TenantShown.model_validate(
            change_tenant(change, tenant_id, given.model_dump(exclude_unset=True))
        ),
    )
    show(found, as_json=as_json, columns=TENANT)


@issuers.command("list")
def list_issuers(as_json: AsJson = False, config: ConfigFile = None) -> None:
    """List sellers.

    Example: tokentill issuer list
    """

    def locally(house: LocalHouse) -> Any:
        with house.ledger.read() as connection:
            return [plain(IssuerShown.model_validate(each)) for each in every_issuer(connection)]

    found = do("issuer list", config, lambda client: client.get("/v1/issuers")["items"], locally)
    show(found, as_json=as_json, columns=ISSUER)


@issuers.command("set")
def set_issuer(
    issuer_id: Annotated[str, typer.Argument(help="house: of all tenants without another.")],
    fields: Fields,
    as_json: AsJson = False,
    config: ConfigFile = None,
) -> None:
    """Set fields of a seller; a new one is registered. Documents made before keep what they said.

    Fields: legal_name, tax_id, address, phone, email, bank_name, bank_account, country.

    Example: tokentill issuer set house legal_name=云算科技有限公司 tax_id=91310000MA1FL0XXXX
    """
    given = _given(PartyChanges, fields)
    found = _changed(
        "issuer set",
        config,
        lambda client: client.patch(_path("issuers", issuer_id), _json(given)),
        lambda change: IssuerShown.model_validate(
            change_issuer(change, issuer_id, given_fields(given, {"legal_name"}))
        ),
    )
    show(found, as_json=as_json, columns=ISSUER)


@buyers.command("show")
def show_buyer(tenant_id: TenantId, as_json: AsJson = False, config: ConfigFile = None) -> None:
    """Show how a tenant is invoiced.

    Example: tokentill buyer show t-alder
    """
    path = f"{_path('tenants', tenant_id)}/billing"

    def locally(house: LocalHouse) -> Any:
        with house.ledger.read() as connection:
            get_tenant(connection, HOUSE, tenant_id)
            found = find_profile(connection, tenant_id) or BillingProfile(tenant_id=tenant_id)
        return plain(BillingShown.model_validate(found))

    found = do("buyer show", config, lambda client: client.get(path), locally)
    show(found, as_json=as_json, columns=BUYER)


@buyers.command("set")
def set_buyer(
    tenant_id: TenantId, fields: Fields, as_json: AsJson = False, config: ConfigFile = None
) -> None:
    """Set how a tenant is invoiced, for documents made from now on.

    Fields: those of an issuer, and issuer_id, tax_rate (0.06 for 6 %), tax_place,
    language (en, zh), payment_days.

    Example: tokentill buyer set t-alder tax_rate=0.06 tax_place=Shanghai language=zh
    """
    given = _given(BillingChanges, fields)
    found = _changed(
        "buyer set",
        config,
        lambda client: client.patch(f"{_path('tenants', tenant_id)}/billing", _json(given)),
        lambda change: BillingShown.model_validate(
            change_profile(change, tenant_id, given_fields(given, NEVER_EMPTY))
        ),
    )
    show(found, as_json=as_json, columns=BUYER)


def _changed(
    command: str,
    config: Path | None,
    by_api: Callable[[Client], Any],
    make: Callable[[Change], BaseModel],
) -> Any:
    """What a change made, through the API or in the ledger."""

    def locally(house: LocalHouse) -> Any:
        with house.ledger.write(actor=f"tokentill {command}", at=house.now) as change:
            return plain(make(change))

    return do(command, config, by_api, locally)


def _given(shape: type[Changes], fields: Sequence[str]) -> Changes:
    """FIELD=VALUE words as the change that the API would take."""
    words = [field.partition("=") for field in fields]
    if wrong := [name for name, equals, _ in words if not equals]:
        raise typer.BadParameter(f"{wrong[0]!r} is not FIELD=VALUE")
    try:
        return shape.model_validate({name: value or None for name, _, value in words})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(map(str, first["loc"]))
        known = ", ".join(shape.model_fields)
        raise typer.BadParameter(f"{name}: {first['msg']}. Fields: {known}") from error


def _json(given: BaseModel) -> dict[str, Any]:
    return given.model_dump(mode="json", exclude_unset=True)


def _path(noun: str, name: str) -> str:
    return f"/v1/{noun}/{quote(name, safe='')}"
