"""The client that awaits each answer."""

from collections.abc import Awaitable
from types import TracebackType
from typing import Any, Self

import httpx
import pyarrow as pa

from pricing.client.http import (
    AS_ARROW,
    TIMEOUT_SECONDS,
    Json,
    accepted,
    given,
    once,
    page_of,
    unreachable,
)
from pricing.client.routes import Routes
from pricing.client.rows import Rows


class AsyncClient(Routes[Awaitable[Json], Awaitable[Rows]]):
    """A connection to one API with one key; close it, or use it in an `async with` block."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=timeout_seconds,
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connection back."""
        await self._http.aclose()

    async def get(self, path: str, **params: Any) -> Json:
        """The JSON of a route. Parameters that are None are left out."""
        return await self._send("GET", path, params=given(params))

    async def post(self, path: str, body: Json, *, idempotency_key: str | None = None) -> Json:
        """The JSON that a POST answers; with an idempotency_key a repeat creates nothing."""
        return await self._send("POST", path, json=body, headers=once(idempotency_key))

    async def patch(self, path: str, body: Json) -> Json:
        """The JSON that a PATCH answers."""
        return await self._send("PATCH", path, json=body)

    async def delete(self, path: str) -> Json:
        """The JSON that a DELETE answers."""
        return await self._send("DELETE", path)

    async def rows(self, path: str, **params: Any) -> Rows:
        """Every row of a list route, over all of its pages; fields, sort and filters by name."""
        asked, tables = given(params), list[pa.Table]()
        while True:
            answer = await self._request("GET", path, params=asked, headers=AS_ARROW)
            table, cursor = page_of(answer)
            tables.append(table)
            if cursor is None:
                return Rows(pa.concat_tables(tables))
            asked = {**asked, "cursor": cursor}

    async def ready(self) -> Json:
        """Whether usage can be accepted, and the lag; also while it cannot."""
        answer: Json = (await self._request("GET", "/health/ready")).json()
        return answer

    async def _send(self, method: str, path: str, **options: Any) -> Json:
        answer: Json = accepted(await self._request(method, path, **options)).json()
        return answer

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise unreachable(self._http.base_url, error) from error
