"""The ledger's facts that settlement needs, read at one moment (pricing/directory.py)."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from metering.windows import month_window
from pricing.directory import FAR_FUTURE, ClosedPeriod, Directory, KeyOwner, ProjectCentre
from pricing.ledger.cost_centres import every_assignment
from pricing.ledger.periods import marked_periods
from pricing.ledger.tenants import every_tenant
from pricing.ledger.usage_keys import every_usage_key

HOUR = timedelta(hours=1)


def read_directory(
    connection: Connection, *, at: datetime, contract_tenants: frozenset[str] = frozenset()
) -> Directory:
    """Owners, cost centres and closed months as of the UTC time `at`.

    contract_tenants: those whom a published book gives prices of their own.
    """
    zones = {each.tenant_id: ZoneInfo(each.billing_zone) for each in every_tenant(connection)}
    closed = []
    for period in marked_periods(connection):
        window = month_window(period.month, zones[period.tenant_id])
        closed.append(ClosedPeriod(period.tenant_id, period.month, window.start_at, window.end_at))
    return Directory(
        keys=tuple(
            KeyOwner(key.api_key_id, key.tenant_id, key.project_id)
            for key in every_usage_key(connection)
        ),
        projects=tuple(
            ProjectCentre(
                each.tenant_id,
                each.project_id,
                each.cost_centre_id,
                each.from_at,
                each.until_at or FAR_FUTURE,
            )
            for each in every_assignment(connection)
        ),
        closed=tuple(closed),
        quarter_tenants=frozenset(name for name, zone in zones.items() if off_the_hour(zone, at)),
        contract_tenants=contract_tenants,
    )


def off_the_hour(zone: ZoneInfo, at: datetime) -> bool:
    """Whether the zone is not a whole number of hours off UTC at the UTC time `at`."""
    offset = at.astimezone(zone).utcoffset()
    return offset is not None and offset % HOUR != timedelta(0)
