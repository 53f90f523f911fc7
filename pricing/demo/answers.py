"""What the demo reads from the API, and the JSON of `tokentill demo --json` (docs/commands.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx

from pricing.money import exact_sum, plain

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Rows of /v1/revenue/servers, /v1/chargeback and /v1/revenue/unbilled; money is text."""

    servers: list[Row]
    chargeback: list[Row]
    unbilled: list[Row]

    @property
    def billed(self) -> list[Row]:
        """Chargeback rows that are owed."""
        return [row for row in self.chargeback if row["disposition"] == "billed"]

    @property
    def requests(self) -> int:
        """Billed requests."""
        return sum(row["requests"] for row in self.billed)


def read_answers(api: httpx.Client, start_at: datetime, end_at: datetime) -> Answers:
    """The three reports of one window (whole UTC hours)."""
    window = (start_at, end_at)
    return Answers(
        servers=_rows(api, "/v1/revenue/servers", window),
        chargeback=_rows(api, "/v1/chargeback", window),
        unbilled=_rows(api, "/v1/revenue/unbilled", window),
    )


def billed_requests(api: httpx.Client, start_at: datetime, end_at: datetime) -> int:
    """How many requests of the window (whole UTC hours) are billed by now."""
    rows = _rows(api, "/v1/chargeback", (start_at, end_at))
    return sum(row["requests"] for row in rows if row["disposition"] == "billed")


def _rows(api: httpx.Client, path: str, window: tuple[datetime, datetime]) -> list[Row]:
    start_at, end_at = window
    answer = api.get(path, params={"start_at": start_at.isoformat(), "end_at": end_at.isoformat()})
    answer.raise_for_status()
    items: list[Row] = answer.json()["items"]
    return items


def demo_json(answers: Answers) -> dict[str, Any]:
    """Totals, servers and tenants; input_tokens is the whole input."""
    inputs = [s for s in answers.servers if s["input_tokens"]]
    outputs = [s for s in answers.servers if s["output_tokens"]]
    currencies = {row["currency"] for row in answers.billed}
    return {
        "currency": currencies.pop() if len(currencies) == 1 else None,
        "totals": {
            "requests": answers.requests,
            "legs": sum(server["requests"] for server in answers.servers),
            "input_tokens": sum(server["input_tokens"] for server in inputs),
            "cached_input_tokens": sum(server["cached_input_tokens"] for server in inputs),
            "output_tokens": sum(server["output_tokens"] for server in outputs),
            "amount": plain(exact_sum(Decimal(row["amount"]) for row in answers.billed)),
        },
        "servers": [
            {
                "server": server["node_id"],
                **{
                    name: server[name]
                    for name in (
                        "stage",
                        "input_tokens",
                        "cached_input_tokens",
                        "output_tokens",
                        "amount",
                        "formula",
                        "difference",
                    )
                },
            }
            for server in answers.servers
        ],
        "tenants": _tenants(answers.billed),
    }


def _tenants(rows: list[Row]) -> list[dict[str, Any]]:
    names = sorted({row["tenant_id"] or "unattributed" for row in rows})
    found = []
    for name in names:
        own = [row for row in rows if (row["tenant_id"] or "unattributed") == name]
        amount = exact_sum(Decimal(row["amount"]) for row in own)
        requests = sum(row["requests"] for row in own)
        found.append({"tenant": name, "requests": requests, "amount": plain(amount)})
    return found
