"""The demo's closed months: documents issued, one line disputed, the newest month left open."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import httpx

from metering.usage import event_id
from metering.windows import month_window
from pricing.demo.parties import ZONE, name_parties
from pricing.money import plain, to_invoice_amount
from pricing.runs.close_jobs import months_over

Row = dict[str, Any]
NDJSON: Final = {"Content-Type": "application/x-ndjson", "Tokentill-Import": "true"}
TRIES_MAX: Final = 40
PAUSE_SECONDS: Final = 0.25  # the settler's turn takes less
TRIAL_REQUESTS: Final = 40
TRIAL: Final = {  # an engine that does not say what it had in its cache
    "stage": "unified", "operation": "chat", "node_id": "trial-1", "tenant_id": "t-birch",
    "project_id": "assistant", "model_id": "glm-5.2", "input_tokens": 30_000,
    "output_tokens": 600, "status": "ok", "source": "usage_ndjson",
}  # fmt: skip
CREDITED: Final = Decimal("0.05")  # of the disputed line
LOST: Final = "the clients tried again: the first tries have no second half"
SLOW: Final = "slow answers in the first week"


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """What was closed, the number of documents that were issued, and what stays open."""

    closed: Sequence[date]
    documents: int
    left_open: date | None


def close_books(api: httpx.Client, first_at: datetime, now: datetime) -> Books:
    """Close and issue every month that is over but the newest, which waits for a decision.

    first_at: of the oldest usage. All but the last of them are paid; one line is disputed and
    credited, so that the tenant's next document gives something back.
    """
    name_parties(api)
    months = list(months_over(first_at, ZoneInfo(ZONE), now))
    closed, newest = months[:-1], months[-1] if months else None
    documents: list[Row] = []
    for left, month in zip(range(len(closed))[::-1], closed, strict=True):
        made = list(_close(api, month))
        documents += made
        if left == 1:
            _dispute(api, made)
        if left:
            _pay(api, made)
    if newest is not None:
        _try_out(api, newest)
    return Books(closed=closed, documents=len(documents), left_open=newest)


def _close(api: httpx.Client, month: date) -> Iterator[Row]:
    """The documents of the month, issued; halves whose other half never came are accepted.

    Live traffic comes in at the same time: while some of it is not settled, nobody can be closed.
    """
    asked = {"month": f"{month:%Y-%m}"}
    for _ in range(TRIES_MAX):
        report = api.get("/v1/close", params=asked).raise_for_status().json()
        waiting = sorted(_blockers(report, "pending"))
        order = asked | {"accept": waiting, "reason": LOST if waiting else ""}
        report = _post(api, "/v1/close", order)
        for tenant in report["tenants"]:
            if tenant["outcome"] == "closed":
                for made in tenant["documents"]:
                    yield _post(api, f"/v1/invoices/{made['number']}/issue", {})
        if not _blockers(report, "unsettled", "pending"):
            return
        time.sleep(PAUSE_SECONDS)


def _blockers(report: Row, *kinds: str) -> set[str]:
    """Names of the blockers of these kinds."""
    return {
        blocker["name"]
        for tenant in report["tenants"]
        for blocker in tenant["blockers"]
        if blocker["kind"] in kinds
    }


def _dispute(api: httpx.Client, documents: Sequence[Row]) -> None:
    """The largest line of the largest invoice is disputed, and a part of it credited."""
    invoices = [each for each in documents if each["kind"] == "invoice"]
    if not invoices:
        return
    largest = max(invoices, key=lambda each: Decimal(each["net_amount"]))
    lines = api.get(f"/v1/invoices/{largest['number']}").raise_for_status().json()["lines"]
    amounts = [Decimal(line["rounded_amount"]) for line in lines]
    back = plain(to_invoice_amount(max(amounts) * CREDITED, largest["currency"]))
    if Decimal(back) <= 0:
        return
    place = amounts.index(max(amounts)) + 1
    asked = {"number": largest["number"], "position": place, "amount": back, "reason": SLOW}
    dispute = _post(api, "/v1/disputes", asked)
    decided = {"credited": back, "reason": "agreed: the limit of the contract was missed"}
    _post(api, f"/v1/disputes/{dispute['dispute_id']}/decisions", decided)


def _pay(api: httpx.Client, documents: Sequence[Row]) -> None:
    for each in documents:
        if each["kind"] == "invoice":
            paid = {"state": "paid", "reason": "bank transfer"}
            _post(api, f"/v1/invoices/{each['number']}/payment", paid)


def _try_out(api: httpx.Client, month: date) -> None:
    """A day's requests of an engine on trial: their price is not certain, so the close waits."""
    noon = month_window(month, ZoneInfo(ZONE)).start_at + timedelta(days=14, hours=12)
    ends = (noon + timedelta(minutes=6 * number) for number in range(TRIAL_REQUESTS))
    legs = [
        TRIAL
        | {
            "event_id": event_id("demo", str(number).encode()),
            "started_at": (at - timedelta(seconds=20)).isoformat(),
            "finished_at": at.isoformat(),
        }
        for number, at in enumerate(ends)
    ]
    body = "\n".join(map(json.dumps, legs))
    api.post("/v1/usage/legs", content=body, headers=NDJSON).raise_for_status()


def _post(api: httpx.Client, path: str, body: Row) -> Row:
    answer: Row = api.post(path, json=body).raise_for_status().json()
    return answer
