"""The client that awaits each answer."""

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
import httpx
import pyarrow as pa

from pricing.client.http import (
    ANY,
    AS_ARROW,
    TIMEOUT_SECONDS,
    Json,
    accepted,
    given,
    once,
    page_of,
    part_of,
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

    async def get_bytes(self, path: str, **params: Any) -> bytes:
        """The body of a route that gives a file."""
        answer = await self._request("GET", path, params=given(params), headers={"Accept": ANY})
        return accepted(answer).content

    async def get_file(self, path: str, out: Path, *, accept: str = ANY, **params: Any) -> None:
        """Write the body of a route into a file, a chunk at a time; the file is whole or not there.

        accept: for a list text/csv or the media type of Arrow, which hold all of its rows.
        """
        part = anyio.Path(part_of(out))
        try:
            async with self._stream(path, params, accept) as answer, await part.open("wb") as file:
                async for chunk in answer.aiter_bytes():
                    await file.write(chunk)
            await part.replace(out)
        finally:
            await part.unlink(missing_ok=True)

    async def patch(self, path: str, body: Json) -> Json:
        """The JSON that a PATCH answers."""
        return await self._send("PATCH", path, json=body)

    async def delete(self, path: str) -> Json:
        """The JSON that a DELETE answers."""
        return await self._send("DELETE", path)

    async def rows(self, path: str, **params: Any) -> Rows:
        """Every row of a list route: one stream of them, or page by page where `limit` is given."""
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

    @asynccontextmanager
    async def _stream(
        self, path: str, params: Mapping[str, Any], accept: str
    ) -> AsyncIterator[httpx.Response]:
        options: Any = {"params": given(params), "headers": {"Accept": accept}}
        try:
            async with self._http.stream("GET", path, **options) as answer:
                if not answer.is_success:
                    await answer.aread()
                yield accepted(answer)
        except httpx.TransportError as error:
            raise unreachable(self._http.base_url, error) from error

    async def _send(self, method: str, path: str, **options: Any) -> Json:
        answer: Json = accepted(await self._request(method, path, **options)).json()
        return answer

    async def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return await self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise unreachable(self._http.base_url, error) from error
