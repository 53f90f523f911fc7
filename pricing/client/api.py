"""The client that waits for each answer."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

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


class Client(Routes[Json, Rows]):
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
        answer: Json = self._send("GET", path, params=given(params)).json()
        return answer

    def post(self, path: str, body: Json, *, idempotency_key: str | None = None) -> Json:
        """The JSON that a POST answers; with an idempotency_key a repeat creates nothing."""
        answer: Json = self._send("POST", path, json=body, headers=once(idempotency_key)).json()
        return answer

    def get_bytes(self, path: str, **params: Any) -> bytes:
        """The body of a route that gives a file."""
        return self._send("GET", path, params=given(params), headers={"Accept": ANY}).content

    def get_file(self, path: str, out: Path, *, accept: str = ANY, **params: Any) -> None:
        """Write the body of a route into a file, a chunk at a time; the file is whole or not there.

        accept: for a list text/csv or the media type of Arrow, which hold all of its rows.
        """
        part = part_of(out)
        try:
            with self._stream(path, params, accept) as answer, part.open("wb") as file:
                for chunk in answer.iter_bytes():
                    file.write(chunk)
            part.replace(out)
        finally:
            part.unlink(missing_ok=True)

    def patch(self, path: str, body: Json) -> Json:
        """The JSON that a PATCH answers."""
        answer: Json = self._send("PATCH", path, json=body).json()
        return answer

    def delete(self, path: str) -> Json:
        """The JSON that a DELETE answers."""
        answer: Json = self._send("DELETE", path).json()
        return answer

    def rows(self, path: str, **params: Any) -> Rows:
        """Every row of a list route: one stream of them, or page by page where `limit` is given."""
        return Rows(pa.concat_tables(self._pages(path, params)))

    def ready(self) -> Json:
        """Whether usage can be accepted, and the lag; also while it cannot."""
        answer: Json = self._request("GET", "/health/ready").json()
        return answer

    def _pages(self, path: str, params: Mapping[str, Any]) -> Iterator[pa.Table]:
        asked = given(params)
        while True:
            table, cursor = page_of(self._request("GET", path, params=asked, headers=AS_ARROW))
            yield table
            if cursor is None:
                return
            asked = {**asked, "cursor": cursor}

    @contextmanager
    def _stream(
        self, path: str, params: Mapping[str, Any], accept: str
    ) -> Iterator[httpx.Response]:
        options: Any = {"params": given(params), "headers": {"Accept": accept}}
        try:
            with self._http.stream("GET", path, **options) as answer:
                if not answer.is_success:
                    answer.read()
                yield accepted(answer)
        except httpx.TransportError as error:
            raise unreachable(self._http.base_url, error) from error

    def _send(self, method: str, path: str, **options: Any) -> httpx.Response:
        return accepted(self._request(method, path, **options))

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise unreachable(self._http.base_url, error) from error
