"""Who owns what, as of one settlement batch: the ledger's answers as plain rows."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final, NamedTuple

FAR_PAST: Final = datetime(1970, 1, 1, tzinfo=UTC)
FAR_FUTURE: Final = datetime(9999, 1, 1, tzinfo=UTC)


class KeyOwner(NamedTuple):
    """An API key of a tenant: legs that name only the key belong to it."""

    api_key_id: str
    tenant_id: str
    project_id: str | None


class ProjectCentre(NamedTuple):
    """A project's cost centre from from_at (inclusive) until until_at (exclusive), UTC."""

    tenant_id: str
    project_id: str
    cost_centre_id: str
    from_at: datetime = FAR_PAST
    until_at: datetime = FAR_FUTURE


class ClosedPeriod(NamedTuple):
    """A closing or closed month: usage in [start_at, end_at) becomes an adjustment."""

    tenant_id: str
    month: date
    start_at: datetime
    end_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The ledger's facts that a settlement batch needs. Times are aware UTC.

    quarter_tenants: their zone is not a whole hour off UTC; their buckets are quarter hours.
    contract_tenants: tenants with prices of their own; only they are asked for by name.
    """

    keys: tuple[KeyOwner, ...] = ()
    projects: tuple[ProjectCentre, ...] = ()
    closed: tuple[ClosedPeriod, ...] = ()
    quarter_tenants: frozenset[str] = field(default_factory=frozenset)
    contract_tenants: frozenset[str] = field(default_factory=frozenset)
