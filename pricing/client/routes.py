"""The routes of the API as methods, once for the client that waits and the one that awaits.

Times are aware datetimes; windows are half-open.
"""

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from pricing.client.http import Json

Interval = Literal["none", "hour", "day", "month"]
BookState = Literal["draft", "reviewed", "published"]
JsonT = TypeVar("JsonT")
RowsT = TypeVar("RowsT")


class Routes(Generic[JsonT, RowsT]):
    """Methods by noun. JsonT and RowsT: what a client gives for a value and for a list."""

    @abstractmethod
    def get(self, path: str, **params: Any) -> JsonT:
        """The JSON of a route. Parameters that are None are left out."""

    @abstractmethod
    def post(self, path: str, body: Json, *, idempotency_key: str | None = None) -> JsonT:
        """The JSON that a POST answers; with an idempotency_key a repeat creates nothing."""

    @abstractmethod
    def patch(self, path: str, body: Json) -> JsonT:
        """The JSON that a PATCH answers."""

    @abstractmethod
    def delete(self, path: str) -> JsonT:
        """The JSON that a DELETE answers."""

    @abstractmethod
    def rows(self, path: str, **params: Any) -> RowsT:
        """Every row of a list route, however many; fields, sort and filters by name."""

    def usage(
        self,
        start_at: datetime,
        end_at: datetime,
        *,
        interval: Interval = "none",
        group_by: Sequence[str] = (),
        **filters: str | None,
    ) -> RowsT:
        """Tokens and money of a window; filters: zone, tenant_id, project_id, model_id, …"""
        asked = {"interval": interval, "group_by": list(group_by), **filters}
        return self.rows("/v1/usage", start_at=start_at, end_at=end_at, **asked)

    def requests(self, start_at: datetime, end_at: datetime, **filters: str | None) -> RowsT:
        """Requests by billing instant; filters: tenant_id, model_id, disposition, flag, …"""
        asked = {"start_at": start_at, "end_at": end_at, **filters}
        return self.rows("/v1/requests", **asked)

    def request(self, request_id: str) -> JsonT:
        """One request's story."""
        return self.get(f"/v1/requests/{quote(request_id, safe='')}")

    def server_revenue(self, start_at: datetime, end_at: datetime) -> RowsT:
        """What each server earned, beside the formula."""
        return self.rows("/v1/revenue/servers", start_at=start_at, end_at=end_at)

    def revenue(
        self, start_at: datetime, end_at: datetime, *, group_by: Sequence[str] = ("pool",)
    ) -> RowsT:
        """What was earned by pool, model_id, stage or node_id."""
        asked = {"start_at": start_at, "end_at": end_at, "group_by": list(group_by)}
        return self.rows("/v1/revenue", **asked)

    def unbilled(self, start_at: datetime, end_at: datetime) -> RowsT:
        """Work of each server that earned nothing, and why."""
        return self.rows("/v1/revenue/unbilled", start_at=start_at, end_at=end_at)

    def chargeback(
        self, start_at: datetime, end_at: datetime, *, tenant_id: str | None = None
    ) -> RowsT:
        """Who pays what, by line."""
        return self.rows("/v1/chargeback", start_at=start_at, end_at=end_at, tenant_id=tenant_id)

    def findings(
        self, start_at: datetime, end_at: datetime, *, tenant_id: str | None = None
    ) -> RowsT:
        """What to look at, the most money at risk first."""
        return self.rows("/v1/findings", start_at=start_at, end_at=end_at, tenant_id=tenant_id)

    def tenants(self) -> RowsT:
        """Registered tenants."""
        return self.rows("/v1/tenants")

    def servers(self) -> RowsT:
        """Registered servers."""
        return self.rows("/v1/servers")

    def api_keys(self) -> RowsT:
        """Keys, without their secrets."""
        return self.rows("/v1/keys")

    def quote(self, model_id: str, **asked: Any) -> JsonT:
        """What a request would pay; asked: at, tenant_id, input_tokens, output_tokens, …"""
        return self.get("/v1/prices/quote", model_id=model_id, **asked)

    def publish_prices(self, toml: str, *, state: BookState = "published") -> JsonT:
        """Publish a price book; or keep it as a draft, or say that a draft has been reviewed."""
        return self.post("/v1/prices", {"toml": toml, "state": state})

    def price_effects(self, book: str, revision: int) -> JsonT:
        """What the re-rate after a publication changed, by tenant."""
        return self.get(f"/v1/prices/{quote(book, safe='')}/{revision}/effects")

    def what_if(self, toml: str, start_at: datetime, end_at: datetime) -> JsonT:
        """What a past window would have cost by this book, by tenant, model and line."""
        window = {"start_at": start_at.isoformat(), "end_at": end_at.isoformat()}
        return self.post("/v1/prices/what-if", {"toml": toml, **window})
