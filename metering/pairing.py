"""Which legs make one delivered answer (docs/pd-accounting.md).

Pure: the oracle of the settler's SQL.

One call sees all legs of one join key (or of one group of a unified engine). A key may be reused or
forged by a client, so a key is not a request: the legs say for themselves what belongs together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

SKEW_MAX: Final = timedelta(seconds=5)  # clocks of two nodes may differ by this much
DELIVERED: Final = frozenset({"ok", "aborted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLeg:
    """What pairing must know of a leg. Counts in tokens, None where unknown; times in UTC."""

    event_id: str
    stage: str
    status: str
    finished_at: datetime
    started_at: datetime
    input_tokens: int | None = None
    output_tokens: int | None = None
    group_size: int | None = None

    def order(self) -> tuple[datetime, str]:
        """By finish (UTC); equal times by id, so that the answer never depends on arrival."""
        return (self.finished_at, self.event_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One delivered (or failed) answer: the leg that fed it and the legs that produced it."""

    input_leg: PairLeg | None  # None: a decode leg that stands alone
    output_legs: tuple[PairLeg, ...]
    flags: frozenset[str] = frozenset()

    @property
    def status(self) -> str:
        """The status of the answer is that of its output side."""
        statuses = [leg.status for leg in self.output_legs]
        return next((s for s in statuses if s in DELIVERED), statuses[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A leg whose work is cost, with the reason."""

    leg: PairLeg
    reason: str  # retry, reprefill, sample_prompt, error, rejected, warmup


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A leg that waits for another one, or stays alone when time is up."""

    leg: PairLeg
    reason: str  # undelivered, decode_only, ambiguous_key, input_mismatch, skew_exceeded, group


@dataclass(slots=True)
class Pairing:
    """What became of each leg of a key; every leg is in exactly one of the three lists."""

    answers: list[Answer] = field(default_factory=list)
    leftovers: list[Leftover] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)


def pair(legs: Sequence[PairLeg], *, expired: bool) -> Pairing:
    """Pair the legs of one key.

    expired: the orphan time is over, so a group settles from the samples that came.
    """
    ordered = sorted(legs, key=PairLeg.order)
    if any(leg.stage == "unified" for leg in ordered):
        return _unified(ordered, expired=expired)
    prefills = [leg for leg in ordered if leg.stage == "prefill"]
    decodes = [leg for leg in ordered if leg.stage == "decode"]
    if any((leg.group_size or 1) > 1 for leg in ordered):
        return _group(prefills, decodes, expired=expired)
    result = Pairing()
    free = list(prefills)
    for decode in decodes:
        _settle_decode(decode, free, result)
    _settle_rest(free, result)
    return result


def _settle_decode(decode: PairLeg, free: list[PairLeg], result: Pairing) -> None:
    """Let one decode leg take its prefill leg from `free`."""
    chosen, reason = choose_prefill(decode, free)
    if chosen is not None:
        free.remove(chosen)
        result.answers.append(Answer(input_leg=chosen, output_legs=(decode,)))
    elif decode.status in DELIVERED:
        result.waiting.append(Waiting(leg=decode, reason=reason))
    else:
        result.leftovers.append(Leftover(leg=decode, reason=decode.status))


def choose_prefill(decode: PairLeg, free: Sequence[PairLeg]) -> tuple[PairLeg | None, str]:
    """The prefill leg that fed `decode`, or None with the reason why it stands alone."""
    usable = [leg for leg in free if leg.status != "warmup" or decode.status == "warmup"]
    if decode.input_tokens is None:
        if len(usable) == 1:
            return usable[0], ""
        return None, "ambiguous_key" if usable else "decode_only"
    known = [leg for leg in usable if leg.input_tokens is not None]
    equal = [leg for leg in known if leg.input_tokens == decode.input_tokens]
    if not equal:
        return None, "input_mismatch" if known else "decode_only"
    before = [leg for leg in equal if leg.finished_at <= decode.finished_at]
    if before:
        return max(before, key=lambda leg: (leg.status == "ok", *leg.order())), ""
    after = [leg for leg in equal if leg.finished_at <= decode.finished_at + SKEW_MAX]
    if after:
        return min(after, key=lambda leg: (leg.status != "ok", *leg.order())), ""
    return None, "skew_exceeded"


def _settle_rest(free: Sequence[PairLeg], result: Pairing) -> None:
    """Prefill legs that nobody took: cost beside an answer, else waiting for their decode leg."""
    answered = [a.input_leg.input_tokens for a in result.answers if a.input_leg is not None]
    for leg in free:
        if leg.status not in DELIVERED:
            result.leftovers.append(Leftover(leg=leg, reason=leg.status))
        elif answered:
            reason = "retry" if leg.input_tokens in answered else "reprefill"
            result.leftovers.append(Leftover(leg=leg, reason=reason))
        else:
            result.waiting.append(Waiting(leg=leg, reason="undelivered"))


def _samples(legs: Sequence[PairLeg]) -> list[PairLeg]:
    """Lines of a group that are samples: a prefix warm-up line with no output is none."""
    return [leg for leg in legs if leg.output_tokens != 0 and leg.status != "warmup"]


def _incomplete(samples: Sequence[PairLeg], size: int) -> frozenset[str]:
    delivered = [leg for leg in samples if leg.status in DELIVERED]
    return frozenset({"group_incomplete"}) if len(delivered) < size else frozenset()


def _unified(ordered: list[PairLeg], *, expired: bool) -> Pairing:
    """A group of a unified engine: one request from what was delivered."""
    result = Pairing()
    size = max(leg.group_size or 1 for leg in ordered)
    samples = _samples(ordered)
    if len(samples) < size and not expired:
        result.waiting += [Waiting(leg=leg, reason="group") for leg in ordered]
        return result
    delivered = tuple(leg for leg in samples if leg.status in DELIVERED)
    if delivered:
        flags = _incomplete(samples, size) | {"sample_prompt"}
        result.answers.append(
            Answer(input_leg=delivered[0], output_legs=delivered, flags=frozenset(flags))
        )
    for leg in ordered:
        if leg not in delivered:
            reason = "sample_prompt" if leg.status in DELIVERED else leg.status
            result.leftovers.append(Leftover(leg=leg, reason=reason))
    return result


def _group(prefills: list[PairLeg], decodes: list[PairLeg], *, expired: bool) -> Pairing:
    """A group on a prefill/decode pair: the join key is the group."""
    result = Pairing()
    size = max(leg.group_size or 1 for leg in [*prefills, *decodes])
    samples = _samples(decodes)
    delivered = tuple(leg for leg in samples if leg.status in DELIVERED)
    if (len(samples) < size or not prefills) and not expired:
        result.waiting += [Waiting(leg=leg, reason="group") for leg in [*prefills, *decodes]]
        return result
    feeding = _feeding_prefill(prefills, delivered)
    if not delivered or feeding is None:
        _group_alone(prefills, decodes, result)
        return result
    flags = _incomplete(samples, size)
    if len(prefills) > 1:
        flags |= {"sample_prompt"}
    result.answers.append(Answer(input_leg=feeding, output_legs=delivered, flags=flags))
    for leg in [*prefills, *decodes]:
        if leg is not feeding and leg not in delivered:
            reason = "sample_prompt" if leg.status in DELIVERED else leg.status
            result.leftovers.append(Leftover(leg=leg, reason=reason))
    return result


def _feeding_prefill(prefills: list[PairLeg], delivered: tuple[PairLeg, ...]) -> PairLeg | None:
    """The first finished prefill leg whose input is the samples' own."""
    inputs = {leg.input_tokens for leg in delivered}
    fitting = [
        leg
        for leg in _samples(prefills)
        if leg.status in DELIVERED and (leg.input_tokens in inputs or None in inputs)
    ]
    return fitting[0] if fitting else None


def _group_alone(prefills: list[PairLeg], decodes: list[PairLeg], result: Pairing) -> None:
    """Time is up and one side of the group never came."""
    for leg in [*prefills, *decodes]:
        if leg.status not in DELIVERED:
            result.leftovers.append(Leftover(leg=leg, reason=leg.status))
        elif leg.stage == "prefill":
            first = not any(w.leg.stage == "prefill" for w in result.waiting)
            if first:
                result.waiting.append(Waiting(leg=leg, reason="undelivered"))
            else:
                result.leftovers.append(Leftover(leg=leg, reason="sample_prompt"))
        elif leg.output_tokens == 0:
            result.leftovers.append(Leftover(leg=leg, reason="sample_prompt"))
        else:
            result.waiting.append(Waiting(leg=leg, reason="decode_only"))
