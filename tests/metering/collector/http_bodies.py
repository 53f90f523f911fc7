"""Requests to a collector in a line; a test changes only what it is about."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
from fastapi.testclient import TestClient

from metering.collector.decode import EVENTS, NDJSON
from tests.metering.store.leg_rows import leg


def line(name: str | None = "a", **change: Any) -> dict[str, Any]:
    """The leg of `leg_rows` as it stands in NDJSON; without event_id for the name None."""
    fields = leg(name or "") | change
    if name is None:
        del fields["event_id"]
    for time in ("started_at", "finished_at"):
        if hasattr(fields[time], "isoformat"):
            fields[time] = fields[time].isoformat()
    return fields


def ndjson(*lines: Mapping[str, Any] | str) -> bytes:
    """Lines; text stands as it is."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    return "".join(f"{text}\n" for text in texts).encode()


def event(name: str = "e1", source: str = "/gw", **change: Any) -> dict[str, Any]:
    """A CloudEvent whose data is a leg."""
    base = {
        "specversion": "1.0",
        "id": name,
        "source": source,
        "type": "tokentill.usage.leg",
        "data": line(None),
    }
    return base | change


def events(*all_of_them: Mapping[str, Any]) -> bytes:
    """A batch."""
    return json.dumps(all_of_them).encode()


def post(
    client: TestClient,
    body: bytes,
    *,
    path: str = "/v1/usage/legs",
    key: str = "key-1",
    **headers: str,
) -> httpx.Response:
    """The answer; content type NDJSON, or a CloudEvents batch for an array."""
    kind = EVENTS if body.startswith(b"[") else NDJSON
    said = {"content-type": kind, "authorization": f"Bearer {key}"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(path, content=body, headers=said | named)
