"""Engine counters against legs against requests: the gap by cause (facts: docs/pd-accounting.md).

The engine's counters see more than its records: clients that left, lines that were lost, ids that
evade the exporter. This page of rules says how many tokens each cause explains; what is left is
named, never spread over the others.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

BILLED: Final = "billed"
NOT_SETTLED: Final = "not_yet_settled"  # halves that wait, and legs not yet read
BEAMS: Final = "beam_search"  # work on beams beyond what their caller was given
DISCONNECTS: Final = "client_disconnects"
UNFINISHED: Final = "unfinished_requests"  # clients that left; what an engine's end cut; running
UNREPORTED: Final = "lost_lines_or_evaded_ids"
COUNTER_GAP: Final = "counter_samples_missing"
UNKNOWN_COUNTS: Final = "legs_without_counts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Token counts of one side of a server: input of prefill and unified, output of decode.

    beam_*: what the engine counted for a beam search beyond its answer; negative where beams share
    tokens that the answer states for each.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    beam_input_tokens: int = 0
    beam_output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What the engine's own counters say of a window; None where it has no such counter.

    aborted_requests: requests that ended without a record because the client left.
    finished_*: the part of a counter that belongs to requests that finished.
    """

    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    requests: int | None
    aborted_requests: int | None
    finished_input_tokens: int | None = None
    finished_output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One cause with the tokens it explains; negative where legs exceed the counters."""

    cause: str
    tokens: int
    requests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """One server, one measure (input_tokens or output_tokens), in tokens.

    counted = Σ explained, always; counted is None where the engine gave no counter, and the
    explained causes are then those of the legs alone. within_tolerance: by the policy's tokens.
    """

    measure: str
    counted: int | None
    metered: int
    explained: tuple[Explained, ...]
    gap: int | None
    within_tolerance: bool | None


def measures_of(stage: str) -> tuple[str, ...]:
    """What a server of this stage is held to: a decode server's prompts are prefill's work."""
    return {
        "prefill": ("input_tokens",),
        "decode": ("output_tokens",),
    }.get(stage, ("input_tokens", "output_tokens"))


def reconcile(
    stage: str, counted: Counted | None, fates: Mapping[str, Tokens], *, tolerance_tokens: int
) -> list[Reconciled]:
    """Each measure of one server: counters = Σ causes, the rest under a name of its own.

    fates: what became of the server's legs → their tokens (billed, retry, warmup, …).
    """
    found = []
    for measure in measures_of(stage):
        beams = sum(getattr(tokens, f"beam_{measure}") for tokens in fates.values())
        metered = beams + sum(getattr(tokens, measure) for tokens in fates.values())
        causes = [
            Explained(cause=fate, tokens=getattr(tokens, measure), requests=tokens.requests)
            for fate, tokens in sorted(fates.items())
            if getattr(tokens, measure) or tokens.requests
        ]
        if beams:
            causes.append(Explained(cause=BEAMS, tokens=beams))
        total = None if counted is None else getattr(counted, measure)
        gap = None if total is None else total - metered
        if counted is not None and gap is not None:
            causes += _unmetered(counted, measure, gap)
        found.append(
            Reconciled(
                measure=measure,
                counted=total,
                metered=metered,
                explained=tuple(causes),
                gap=gap,
                within_tolerance=None if gap is None else abs(gap) <= tolerance_tokens,
            )
        )
    return found


def _unmetered(counted: Counted, measure: str, gap: int) -> list[Explained]:
    """Why the counters and the legs differ by `gap` tokens.

    An engine that counts finished requests apart (vLLM) says what the others have cost. One that
    counts aborted requests (SGLang) says that clients left. What neither explains: lines were lost
    or ids evaded the exporter. Fewer counted than metered: counter samples are missing.
    """
    finished = getattr(counted, f"finished_{measure}")
    unfinished = 0 if finished is None else getattr(counted, measure) - finished
    aborted = counted.aborted_requests or 0
    rest = gap - unfinished
    if rest < 0:
        other = Explained(cause=COUNTER_GAP, tokens=rest)
    elif finished is None and aborted:
        other = Explained(cause=DISCONNECTS, tokens=rest, requests=aborted)
    else:
        other = Explained(cause=UNREPORTED, tokens=rest)
    found = (Explained(cause=UNFINISHED, tokens=unfinished), other)
    return [each for each in found if each.tokens]


def add_up(rows: Iterable[tuple[str, Tokens]]) -> dict[str, Tokens]:
    """Tokens by fate; rows of one fate are added."""
    sums: dict[str, Tokens] = {}
    for fate, tokens in rows:
        before = sums.get(fate, Tokens())
        sums[fate] = Tokens(
            input_tokens=before.input_tokens + tokens.input_tokens,
            cached_tokens=before.cached_tokens + tokens.cached_tokens,
            output_tokens=before.output_tokens + tokens.output_tokens,
            requests=before.requests + tokens.requests,
            beam_input_tokens=before.beam_input_tokens + tokens.beam_input_tokens,
            beam_output_tokens=before.beam_output_tokens + tokens.beam_output_tokens,
        )
    return sums
