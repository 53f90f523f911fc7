"""The routes of the API as methods. Times are aware datetimes; windows are half-open."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import quote

import httpx
import pyarrow as pa

from pricing.client.errors import ApiError, ApiUnreachable
from pricing.client.rows import Rows

ARROW: Final = "application/vnd.apache.arrow.stream"
PAGE_ROWS: Final = 1_000
TIMEOUT_SECONDS: Final = 60.0
Interval = Literal["none", "hour", "day", "month"]
BookState = Literal["draft", "reviewed", "published"]
Json = dict[str, Any]


class Client:
    """A connection to one API with one key; close it, or use it in a `with` block."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout_seconds,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connection back."""
        self._http.close()

    def get(self, path: str, **params: Any) -> Json:
        """The JSON of a route. Parameters that are None are left out."""
        answer: Json = self._send("GET", path, params=_given(params)).json()
        return answer

    def post(self, path: str, body: Json, *, idempotency_key: str | None = None) -> Json:
        """The JSON that a POST answers; with an idempotency_key a repeat creates nothing."""
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        answer: Json = self._send("POST", path, json=body, headers=headers).json()
        return answer

    def get_bytes(self, path: str, **params: Any) -> bytes:
        """The body of a route that gives a file."""
        accept = {"Accept": "*/*"}
        return self._send("GET", path, params=_given(params), headers=accept).content

    def get_file(self, path: str, out: Path, **params: Any) -> None:
        """Write the body of a route into a file, a chunk at a time."""
        with self._http.stream("GET", path, params=_given(params)) as answer:
            if not answer.is_success:
                answer.read()
                raise ApiError(answer.status_code, _problem(answer))
            with out.open("wb") as file:
                for chunk in answer.iter_bytes():
                    file.write(chunk)

    def patch(self, path: str, body: Json) -> Json:
        """The JSON that a PATCH answers."""
        answer: Json = self._send("PATCH", path, json=body).json()
        return answer

    def delete(self, path: str) -> Json:
        """The JSON that a DELETE answers."""
        answer: Json = self._send("DELETE", path).json()
        return answer

    def rows(self, path: str, **params: Any) -> Rows:
        """Every row of a list route, over all of its pages."""
        return Rows(pa.concat_tables(self._pages(path, params)))

    def usage(
        self,
        start_at: datetime,
        end_at: datetime,
        *,
        interval: Interval = "none",
        group_by: Sequence[str] = (),
        **filters: str | None,
    ) -> Rows:
        """Tokens and money of a window; filters: zone, tenant_id, project_id, model_id, …"""
        asked = {"interval": interval, "group_by": list(group_by), **filters}
        return self.rows("/v1/usage", start_at=start_at, end_at=end_at, **asked)

    def requests(self, start_at: datetime, end_at: datetime, **filters: str | None) -> Rows:
        """Requests by billing instant; filters: tenant_id, model_id, disposition, flag, …"""
        asked = {"start_at": start_at, "end_at": end_at, "limit": PAGE_ROWS, **filters}
        return self.rows("/v1/requests", **asked)

    def request(self, request_id: str) -> Json:
        """One request's story."""
        return self.get(f"/v1/requests/{quote(request_id, safe='')}")

    def server_revenue(self, start_at: datetime, end_at: datetime) -> Rows:
        """What each server earned, beside the formula."""
        return self.rows("/v1/revenue/servers", start_at=start_at, end_at=end_at)

    def unbilled(self, start_at: datetime, end_at: datetime) -> Rows:
        """Work of each server that earned nothing, and why."""
        return self.rows("/v1/revenue/unbilled", start_at=start_at, end_at=end_at)

    def chargeback(
        self, start_at: datetime, end_at: datetime, *, tenant_id: str | None = None
    ) -> Rows:
        """Who pays what, by line."""
        return self.rows("/v1/chargeback", start_at=start_at, end_at=end_at, tenant_id=tenant_id)

    def findings(
        self, start_at: datetime, end_at: datetime, *, tenant_id: str | None = None
    ) -> Rows:
        """What to look at, the most money at risk first."""
        return self.rows("/v1/findings", start_at=start_at, end_at=end_at, tenant_id=tenant_id)

    def tenants(self) -> Rows:
        """Registered tenants."""
        return self.rows("/v1/tenants", limit=PAGE_ROWS)

    def servers(self) -> Rows:
        """Registered servers."""
        return self.rows("/v1/servers", limit=PAGE_ROWS)

    def api_keys(self) -> Rows:
        """Keys, without their secrets."""
        return self.rows("/v1/keys", limit=PAGE_ROWS)

    def quote(self, model_id: str, **asked: Any) -> Json:
        """What a request would pay; asked: at, tenant_id, input_tokens, output_tokens, …"""
        return self.get("/v1/prices/quote", model_id=model_id, **asked)

    def publish_prices(self, toml: str, *, state: BookState = "published") -> Json:
        """Publish a price book; or keep it as a draft, or say that a draft has been reviewed."""
        return self.post("/v1/prices", {"toml": toml, "state": state})

    def price_effects(self, book: str, revision: int) -> Json:
        """What the re-rate after a publication changed, by tenant."""
        return self.get(f"/v1/prices/{quote(book, safe='')}/{revision}/effects")

    def what_if(self, toml: str, start_at: datetime, end_at: datetime) -> Json:
        """What a past window would have cost by this book, by tenant, model and line."""
        window = {"start_at": start_at.isoformat(), "end_at": end_at.isoformat()}
        return self.post("/v1/prices/what-if", {"toml": toml, **window})

    def ready(self) -> Json:
        """Whether usage can be accepted, and the lag; also while it cannot."""
        answer: Json = self._request("GET", "/health/ready").json()
        return answer

    def _pages(self, path: str, params: Mapping[str, Any]) -> Iterator[pa.Table]:
        asked = _given(params)
        while True:
            answer = self._send("GET", path, params=asked, headers={"Accept": ARROW})
            yield pa.ipc.open_stream(answer.content).read_all()
            cursor = answer.headers.get("Tokentill-Next-Cursor")
            if cursor is None:
                return
            asked = {**asked, "cursor": cursor}

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        answer = self._request(method, path, **options)
        if not answer.is_success:
            raise ApiError(answer.status_code, _problem(answer))
        return answer

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise ApiUnreachable(
                f"No answer from {self._http.base_url}: {error}. Is tokentill serve running there?"
            ) from error


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None; times in ISO 8601 with their zone."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in params.items()
        if value is not None
    }


def _problem(answer: httpx.Response) -> Json:
    try:
        found = answer.json()
    except ValueError:
        return {"detail": answer.text[:500]}
    return found if isinstance(found, dict) else {"detail": str(found)[:500]}
