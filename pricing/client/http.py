"""What both clients say and hear: parameters, pages, refusals."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import pyarrow as pa

from pricing.client.errors import ApiError, ApiUnreachable

ARROW: Final = "application/vnd.apache.arrow.stream"
AS_ARROW: Final = {"Accept": ARROW}
ANY: Final = "*/*"
TIMEOUT_SECONDS: Final = 60.0
Json = dict[str, Any]


def given(params: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is None; times in ISO 8601 with their zone."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in params.items()
        if value is not None
    }


def once(idempotency_key: str | None) -> dict[str, str]:
    """The header that makes a repeat create nothing."""
    return {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}


def accepted(answer: httpx.Response) -> httpx.Response:
    """The answer. Raises ApiError for a refusal."""
    if not answer.is_success:
        raise ApiError(answer.status_code, _problem(answer))
    return answer


def page_of(answer: httpx.Response) -> tuple[pa.Table, str | None]:
    """The rows of one page, and the cursor of the next."""
    table = pa.ipc.open_stream(accepted(answer).content).read_all()
    return table, answer.headers.get("Tokentill-Next-Cursor")


def part_of(out: Path) -> Path:
    """Where a file is written until it is whole."""
    return out.with_name(f".{out.name}.part")


def unreachable(url: httpx.URL, error: httpx.TransportError) -> ApiUnreachable:
    """What to raise where nobody answers."""
    return ApiUnreachable(f"No answer from {url}: {error}. Is tokentill serve running there?")


def _problem(answer: httpx.Response) -> Json:
    try:
        found = answer.json()
    except ValueError:
        return {"detail": answer.text[:500]}
    return found if isinstance(found, dict) else {"detail": str(found)[:500]}
