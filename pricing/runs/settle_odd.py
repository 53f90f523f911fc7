"""Keys that need thought: several legs, groups, odd statuses, decided by metering/pairing.py."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa

from metering.pairing import Answer, PairLeg, Waiting, pair
from pricing.flags import flag_bits
from pricing.policy import Policy
from pricing.runs.statements import run

OUTCOME_SCHEMA: Final = pa.schema(
    [
        ("request_id", pa.string()),
        ("part", pa.int32()),
        ("disposition", pa.string()),
        ("reason", pa.string()),
        ("input_leg_id", pa.string()),
        ("output_leg_id", pa.string()),
        ("split_rule", pa.string()),
        ("tier_input_tokens", pa.int64()),
        ("tier_output_tokens", pa.int64()),
        ("flags", pa.int64()),
        ("billing_at", pa.timestamp("us")),
        ("key_hash", pa.uint64()),
    ]
)


class Outcome(NamedTuple):
    """One row of the settler's table outcome; see settle_outcomes.sql."""

    request_id: str
    part: int
    disposition: str
    reason: str | None
    input_leg_id: str | None
    output_leg_id: str | None
    split_rule: str = "leg"
    tier_input_tokens: int | None = None
    tier_output_tokens: int | None = None
    flags: int = 0
    billing_at: datetime | None = None
    key_hash: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Turns pairings into outcomes under a policy. expired: the other side can no longer come."""

    policy: Policy
    expired: bool

    def outcomes(self, legs: Sequence[PairLeg], orphaned: frozenset[str]) -> Iterator[Outcome]:
        """What becomes of each leg of one key; every leg has exactly one row or part."""
        result = pair(legs, expired=self.expired)
        for answer in result.answers:
            yield from self._answer(answer, legs)
        for left in result.leftovers:
            yield _cost(left.leg, left.reason)
        for waiting in result.waiting:
            yield self._waiting(waiting, over=self.expired or waiting.leg.event_id in orphaned)

    def _answer(self, answer: Answer, legs: Sequence[PairLeg]) -> Iterator[Outcome]:
        status = answer.status
        if status not in ("ok", "aborted") or (
            status == "aborted" and self.policy.aborted != "bill"
        ):
            for leg in {leg.event_id: leg for leg in _legs_of(answer)}.values():
                yield _cost(leg, status)
            return
        outputs = [leg.output_tokens for leg in answer.output_legs]
        is_group = len(answer.output_legs) > 1 or bool(answer.flags)
        total = None if None in outputs else sum(o for o in outputs if o is not None)
        unknown = "output_unknown" if is_group and total is None else None
        for part, leg in enumerate(answer.output_legs):
            fed = answer.input_leg.event_id if answer.input_leg and part == 0 else None
            yield Outcome(
                request_id=answer.output_legs[0].event_id,
                part=part,
                disposition="billed",
                reason=unknown,
                input_leg_id=fed,
                output_leg_id=leg.event_id,
                tier_input_tokens=answer.input_leg.input_tokens if answer.input_leg else None,
                tier_output_tokens=total,
                flags=flag_bits(answer.flags),
                billing_at=min(leg.started_at for leg in legs) if is_group else None,
            )

    def _waiting(self, waiting: Waiting, *, over: bool) -> Outcome:
        leg, reason = waiting.leg, waiting.reason
        side = _side(leg)
        if not over:
            return Outcome(leg.event_id, 0, "waiting", reason, *side)
        if leg.stage == "prefill":
            if self.policy.undelivered == "bill_input":
                flags = flag_bits(["billed_undelivered"])
                return Outcome(leg.event_id, 0, "billed", None, *side, flags=flags)
            return Outcome(leg.event_id, 0, "undelivered", "undelivered", *side)
        rule, flag = {
            "bill_uncached": ("none", "billed_uncached"),
            "trust_decode": ("leg", "trusted_decode"),
        }.get(self.policy.decode_only, ("unknown", ""))
        if flag and reason == "decode_only":
            return Outcome(leg.event_id, 0, "billed", None, *side, rule, flags=flag_bits([flag]))
        flags = flag_bits([reason]) if reason in ("ambiguous_key", "input_mismatch") else 0
        return Outcome(leg.event_id, 0, "held", reason, *side, "unknown", flags=flags)


def _legs_of(answer: Answer) -> tuple[PairLeg, ...]:
    return (*answer.output_legs, *((answer.input_leg,) if answer.input_leg else ()))


def _side(leg: PairLeg) -> tuple[str | None, str | None]:
    """Input and output leg of a leg that stands alone."""
    return leg.event_id, None if leg.stage == "prefill" else leg.event_id


def _cost(leg: PairLeg, reason: str) -> Outcome:
    delivered = leg.status in ("ok", "aborted")
    as_input = leg.event_id if delivered or leg.stage != "decode" else None
    as_output = None if leg.stage == "prefill" else leg.event_id
    return Outcome(leg.event_id, 0, "cost", reason, as_input, as_output)


def settle_odd_keys(cursor: duckdb.DuckDBPyConnection, decider: Decider) -> int:
    """Append the outcomes of all odd keys to the temp table outcome; returns the number of rows."""
    columns = [d[0] for d in run(cursor, "settle_odd_legs").description or []]
    rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    found: list[Outcome] = []
    for key, members in groupby(rows, key=_key):
        group = list(members)
        legs = [_leg(row) for row in group]
        orphaned = frozenset(row["event_id"] for row in group if row["orphaned"])
        found += [
            o._replace(key_hash=key[0], billing_at=_naive(o.billing_at))
            for o in decider.outcomes(legs, orphaned)
        ]
    if found:
        table = pa.Table.from_pylist([o._asdict() for o in found], schema=OUTCOME_SCHEMA)
        cursor.register("odd_outcome", table)
        run(cursor, "settle_odd_outcomes")
        cursor.unregister("odd_outcome")
    return len(found)


def _key(row: dict[str, Any]) -> tuple[int, str, str, str]:
    """Legs of one real key: the hash alone could collide, and a group id is no join key."""
    unified = row["stage"] == "unified"
    text = row["group_id"] if unified else row["join_key"]
    return row["key_hash"], "unified" if unified else "pd", row["pool"], text


def _leg(row: dict[str, Any]) -> PairLeg:
    return PairLeg(
        event_id=row["event_id"],
        stage=row["stage"],
        status=row["status"],
        started_at=row["started_at"].replace(tzinfo=UTC),
        finished_at=row["finished_at"].replace(tzinfo=UTC),
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        group_size=row["group_size"],
    )


def _naive(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=None) if at else None
