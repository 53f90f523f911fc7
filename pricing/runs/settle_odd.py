"""Keys that need thought: several legs, groups, odd statuses, decided by metering/pairing.py."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

import duckdb
import pyarrow as pa

from metering.pairing import DELIVERED, Answer, PairLeg, Waiting, pair
from pricing.flags import flag_bits
from pricing.policy import Choice, Policy
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


class Owner(NamedTuple):
    """Whose a leg is, as far as it says so itself."""

    tenant_id: str | None = None
    api_key_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Turns pairings into outcomes under a policy. expired: the other side can no longer come.

    key_tenants: the tenant of each key id that usage names.
    """

    policy: Policy
    expired: bool
    key_tenants: Mapping[str, str] = field(default_factory=dict)

    def outcomes(
        self,
        legs: Sequence[PairLeg],
        orphaned: frozenset[str] = frozenset(),
        *,
        owners: Mapping[str, Owner],
        pool: str | None,
    ) -> Iterator[Outcome]:
        """What becomes of each leg of one key; every leg has exactly one row or part."""

        def choice(key: str, *sides: PairLeg) -> Choice:
            """The decision about legs of one answer, the output side first."""
            said = [owners[leg.event_id] for leg in sides]
            tenants = [owner.tenant_id for owner in said if owner.tenant_id is not None]
            keys = [owner.api_key_id for owner in said if owner.api_key_id is not None]
            by_key = self.key_tenants.get(keys[0]) if keys else None
            return self.policy.choice(key, tenant_id=tenants[0] if tenants else by_key, pool=pool)

        result = pair(legs, expired=self.expired)
        for answer in result.answers:
            if answer.status not in DELIVERED:
                for leg in {leg.event_id: leg for leg in _legs_of(answer)}.values():
                    yield _cost(leg, answer.status)
            elif answer.status == "aborted":
                yield from _answer(answer, legs, choice("aborted", *_legs_of(answer)))
            else:
                yield from _answer(answer, legs, Choice("bill", None))
        for left in result.leftovers:
            yield _cost(left.leg, left.reason)
        for waiting in result.waiting:
            leg = waiting.leg
            if not (self.expired or leg.event_id in orphaned):
                yield Outcome(leg.event_id, 0, "waiting", waiting.reason, *_side(leg))
            elif leg.stage == "prefill":
                yield _undelivered(leg, choice("undelivered", leg))
            else:
                yield _decode_only(waiting, choice("decode_only", leg))


def _answer(answer: Answer, legs: Sequence[PairLeg], aborted: Choice) -> Iterator[Outcome]:
    """One row for each output leg of a delivered answer. aborted: whether it is billed."""
    outputs = [leg.output_tokens for leg in answer.output_legs]
    is_group = len(answer.output_legs) > 1 or bool(answer.flags)
    is_billed = aborted.value == "bill"
    total = None if None in outputs else sum(o for o in outputs if o is not None)
    unknown = "output_unknown" if is_group and total is None else None
    for part, leg in enumerate(answer.output_legs):
        fed = answer.input_leg.event_id if answer.input_leg and part == 0 else None
        yield Outcome(
            request_id=answer.output_legs[0].event_id,
            part=part,
            disposition="billed" if is_billed else "cost",
            reason=unknown if is_billed else "aborted",
            input_leg_id=fed,
            output_leg_id=leg.event_id,
            tier_input_tokens=answer.input_leg.input_tokens if answer.input_leg else None,
            tier_output_tokens=total,
            flags=flag_bits([*answer.flags, *_scope_flag(aborted)]),
            billing_at=min(leg.started_at for leg in legs) if is_group else None,
        )


def _undelivered(leg: PairLeg, choice: Choice) -> Outcome:
    """A prefill leg whose answer can no longer come."""
    scope = _scope_flag(choice)
    if choice.value == "bill_input":
        flags = flag_bits(["billed_undelivered", *scope])
        return Outcome(leg.event_id, 0, "billed", None, *_side(leg), flags=flags)
    flags = flag_bits(scope)
    return Outcome(leg.event_id, 0, "undelivered", "undelivered", *_side(leg), flags=flags)


def _decode_only(waiting: Waiting, choice: Choice) -> Outcome:
    """A decode leg whose prefill leg can no longer come, or cannot be told."""
    leg, reason = waiting.leg, waiting.reason
    if reason != "decode_only":
        flags = flag_bits([reason]) if reason in ("ambiguous_key", "input_mismatch") else 0
        return Outcome(leg.event_id, 0, "held", reason, *_side(leg), "unknown", flags=flags)
    disposition, rule, flag = {
        "bill_uncached": ("billed", "none", ["billed_uncached"]),
        "trust_decode": ("billed", "leg", ["trusted_decode"]),
    }.get(choice.value, ("held", "unknown", []))
    flags = flag_bits([*flag, *_scope_flag(choice)])
    held = reason if disposition == "held" else None
    return Outcome(leg.event_id, 0, disposition, held, *_side(leg), rule, flags=flags)


def _scope_flag(choice: Choice) -> list[str]:
    return [] if choice.scope is None else [f"{choice.scope}_policy"]


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
        outcomes = decider.outcomes(
            [_leg(row) for row in group],
            frozenset(row["event_id"] for row in group if row["orphaned"]),
            owners={row["event_id"]: Owner(row["tenant_id"], row["api_key_id"]) for row in group},
            pool=key[2] or None,
        )
        found += [o._replace(key_hash=key[0], billing_at=_naive(o.billing_at)) for o in outcomes]
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
