"""The window that most reads ask for, and the buckets that a scope's usage is kept in."""

from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from fastapi import Query
from pydantic import BaseModel, Field

from metering.windows import Window
from pricing.api.call import Call
from pricing.api.shapes import Time
from pricing.errors import NotFound, RequestInvalid
from pricing.ledger.directory import off_the_hour
from pricing.ledger.tenants import get_tenant
from pricing.reports.usage_report import HOUR, QUARTER
from pricing.scope import Scope

WINDOW_MAX = timedelta(days=1100)


class WindowQuery(BaseModel):
    """A half-open window of billing instants."""

    start_at: Time = Field(description="inclusive", examples=["2026-10-01T00:00:00+08:00"])
    end_at: Time = Field(description="exclusive", examples=["2026-11-01T00:00:00+08:00"])

    def window(self) -> Window:
        """The window. Raises RequestInvalid for one that is empty or too long."""
        if not self.start_at < self.end_at:
            raise RequestInvalid("start_at must lie before end_at.")
        if self.end_at - self.start_at > WINDOW_MAX:
            raise RequestInvalid(
                f"The window is longer than {WINDOW_MAX.days} days.",
                remedy="Ask for it in parts; they are additive.",
            )
        return Window(self.start_at, self.end_at)


InWindow = Annotated[WindowQuery, Query()]


def bucket_of(call: Call, scope: Scope) -> timedelta:
    """How long the buckets of the scope's usage are: an hour, or 15 minutes for zones off it."""
    zone = zone_of(call, scope)
    return QUARTER if zone is not None and off_the_hour(zone, call.at) else HOUR


def zone_of(call: Call, scope: Scope) -> ZoneInfo | None:
    """The billing zone of the scope's tenant; None for the house or an unregistered tenant."""
    if scope.tenant_id is None:
        return None
    try:
        with call.ledger() as connection:
            return ZoneInfo(get_tenant(connection, scope, scope.tenant_id).billing_zone)
    except NotFound:
        return None


def until_now(window: Window, now: datetime) -> Window:
    """The part of the window that has passed, at least a microsecond of it."""
    end = min(window.end_at, max(now, window.start_at + timedelta(microseconds=1)))
    return Window(window.start_at, end)
