"""Who writes documents and for whom: sellers, buyers, numbers without gap, and the chain."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from pricing.errors import NotFound, RequestInvalid
from pricing.hash_chain import Link, next_link
from pricing.ledger.connect import Change
from pricing.ledger.invoice_tables import (
    DocumentKind,
    billing_profile,
    chain_link,
    issuer,
    number_series,
)
from pricing.ledger.rows import all_of, fetch_all
from pricing.ledger.tables import tenant
from pricing.scope import Scope

HOUSE: Final = "house"  # the issuer of tenants without a profile
PREFIXES: Final[Mapping[str, str]] = {
    DocumentKind.INVOICE: "INV-",
    DocumentKind.STATEMENT: "ST-",
    DocumentKind.CREDIT_NOTE: "CN-",
}
NUMBER_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """A seller, with what a 发票 or an EU invoice must say of it."""

    issuer_id: str
    legal_name: str
    tax_id: str | None = None
    address: str | None = None
    phone: str | None = None
    email: str | None = None
    bank_name: str | None = None
    bank_account: str | None = None
    country: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingProfile:
    """A buyer. tax_rate: a fraction of the net amount. payment_days: from the day of issue."""

    tenant_id: str
    issuer_id: str = HOUSE
    legal_name: str | None = None
    tax_id: str | None = None
    address: str | None = None
    phone: str | None = None
    email: str | None = None
    bank_name: str | None = None
    bank_account: str | None = None
    country: str | None = None
    tax_rate: Decimal = Decimal(0)
    tax_place: str | None = None
    language: str = "en"
    payment_days: int = 30

    def __post_init__(self) -> None:
        if not 0 <= self.tax_rate < 1:
            raise RequestInvalid(
                f"tax_rate is {self.tax_rate}: expected a fraction such as 0.06 for 6 %."
            )
        if not 0 <= self.payment_days <= 3650:  # noqa: PLR2004 - ten years
            raise RequestInvalid("payment_days must lie in 0..3650.")


def put_issuer(change: Change, new: Issuer) -> Issuer:
    """Register an issuer, or change one; documents made before keep what they said."""
    key = {"issuer_id": new.issuer_id}
    if find_issuer(change.connection, new.issuer_id) is None:
        change.insert(issuer, asdict(new))
        return new
    kept = {name: value for name, value in asdict(new).items() if name != "created_at"}
    return Issuer(**change.update(issuer, key, kept))


def change_issuer(change: Change, issuer_id: str, given: Mapping[str, Any]) -> Issuer:
    """Change what is given of an issuer; a new one is registered."""
    old = find_issuer(change.connection, issuer_id)
    base = asdict(old) if old else {"legal_name": issuer_id, "created_at": change.at}
    return put_issuer(change, Issuer(**{**base, **given, "issuer_id": issuer_id}))


def find_issuer(connection: Connection, issuer_id: str) -> Issuer | None:
    """The issuer, if there is one."""
    query = select(issuer).where(issuer.c.issuer_id == issuer_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Issuer(**row)


def every_issuer(connection: Connection) -> list[Issuer]:
    """All issuers; there are few."""
    return fetch_all(connection, all_of(issuer, Scope.house()), Issuer)


def issuer_for(change: Change, issuer_id: str) -> Issuer:
    """The issuer; the house's own is made when it is first needed, to be completed later."""
    found = find_issuer(change.connection, issuer_id)
    if found is not None:
        return found
    if issuer_id != HOUSE:
        raise NotFound(f"There is no issuer {issuer_id!r}.")
    return put_issuer(change, Issuer(issuer_id=HOUSE, legal_name=HOUSE, created_at=change.at))


def change_profile(change: Change, tenant_id: str, given: Mapping[str, Any]) -> BillingProfile:
    """Change what is given of how a tenant is invoiced."""
    old = find_profile(change.connection, tenant_id) or BillingProfile(tenant_id=tenant_id)
    return put_profile(change, BillingProfile(**{**asdict(old), **given}))


def put_profile(change: Change, new: BillingProfile) -> BillingProfile:
    """Set how a tenant is invoiced; it decides documents that are made from now on."""
    issuer_for(change, new.issuer_id)
    query = select(tenant.c.tenant_id).where(tenant.c.tenant_id == new.tenant_id)
    if change.connection.execute(query).one_or_none() is None:
        raise NotFound(f"There is no tenant {new.tenant_id!r}.")
    if find_profile(change.connection, new.tenant_id) is None:
        change.insert(billing_profile, asdict(new))
        return new
    key = {"tenant_id": new.tenant_id}
    return BillingProfile(**change.update(billing_profile, key, asdict(new)))


def find_profile(connection: Connection, tenant_id: str) -> BillingProfile | None:
    """How a tenant is invoiced, if that was ever said."""
    query = select(billing_profile).where(billing_profile.c.tenant_id == tenant_id)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else BillingProfile(**row)


def take_number(change: Change, issuer_id: str, kind: str) -> str:
    """The next number of the issuer's series. Writers take turns, so none is given out twice."""
    series = number_series
    of = (series.c.issuer_id == issuer_id) & (series.c.kind == kind)
    row = change.connection.execute(select(series).where(of)).mappings().one_or_none()
    number = row["last_number"] + 1 if row else 1
    if row is None:
        prefix = PREFIXES[kind] if issuer_id == HOUSE else f"{issuer_id}-{PREFIXES[kind]}"
        new: dict[str, Any] = {"issuer_id": issuer_id, "kind": kind, "prefix": prefix}
        change.connection.execute(insert(series).values(**new, last_number=number))
    else:
        prefix = row["prefix"]
        change.connection.execute(update(series).where(of).values(last_number=number))
    return f"{prefix}{number:0{NUMBER_DIGITS}d}"


def append_link(
    change: Change, issuer_id: str, event: str, *, subject: str, content_sha256: str
) -> Link:
    """The next link of the issuer's chain."""
    query = _chain(issuer_id).order_by(chain_link.c.position.desc()).limit(1)
    last = next(iter(fetch_all(change.connection, query, Link)), None)
    link = next_link(last, event, subject=subject, content_sha256=content_sha256)
    row = asdict(link) | {"issuer_id": issuer_id, "at": change.at}
    change.connection.execute(insert(chain_link).values(**row))
    return link


def read_chain(connection: Connection, issuer_id: str) -> list[Link]:
    """The issuer's chain from its beginning."""
    return fetch_all(connection, _chain(issuer_id).order_by(chain_link.c.position), Link)


def last_numbers(connection: Connection) -> list[tuple[str, str, int]]:
    """(issuer, prefix, last number given out) of every series."""
    series = number_series
    query = select(series.c.issuer_id, series.c.prefix, series.c.last_number)
    return [(row[0], row[1], row[2]) for row in connection.execute(query)]


def _chain(issuer_id: str) -> Any:
    names = ("position", "event", "subject", "content_sha256", "previous_hash", "link_hash")
    columns = [chain_link.c[name] for name in names]
    return select(*columns).where(chain_link.c.issuer_id == issuer_id)
