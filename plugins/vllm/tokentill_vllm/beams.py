"""Beam search: many requests in the engine, one answer.

vLLM runs each beam of each step as a request with its whole text so far, under the caller's id with
`-<hex>-beam-<i>` behind it. The engine's statistics cannot say what the caller got: beams share
their first tokens, and one that ends early stops showing. So the answer is taken where it is made
(watch.py), and what the beams cost the engine is added up beside it.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tokentill_vllm.finished import Finished

_BEAM = re.compile(r"(.+)-[0-9a-f]{16,32}-beam-\d+", re.DOTALL)


class Begun(NamedTuple):
    """A beam search started under this id."""

    request_id: str


class Answered(NamedTuple):
    """A beam search is over: what its caller got. Counts in tokens, times in epoch seconds."""

    request_id: str
    started_at: float
    finished_at: float
    finish_reason: str  # abort: the caller got nothing
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    max_tokens: int | None = None


class Search(NamedTuple):
    """An answer as a request; the engine's own counts: of the beams, its shared ones added."""

    request: Finished
    engine_prompt_tokens: int
    engine_output_tokens: int


@dataclass
class _Call:
    """All searches under one id: a list of prompts shares it, and so may two callers."""

    running: int = 0
    beams: list[Finished] = field(default_factory=list)
    answers: list[Answered] = field(default_factory=list)


class Beams:
    """Adds beams to the searches that run. What looks like a beam of none is a request."""

    def __init__(self) -> None:
        self._calls: defaultdict[str, _Call] = defaultdict(_Call)

    def __bool__(self) -> bool:
        """Whether any search is not handed out yet."""
        return bool(self._calls)

    def begin(self, begun: Begun) -> None:
        """From now on requests under this id are its beams."""
        self._calls[begun.request_id].running += 1

    def take(self, request: Finished) -> bool:
        """Whether `request` is a beam, which is then kept.

        A caller may choose an id that looks like one; only a request for one token is a beam.
        """
        found = _BEAM.fullmatch(request.request_id or "")
        if found is None or found[1] not in self._calls or request.max_tokens != 1:
            return False
        self._calls[found[1]].beams.append(request)
        return True

    def end(self, answered: Answered) -> None:
        """The last beams' statistics may come a moment after this."""
        call = self._calls[answered.request_id]
        call.running -= 1
        call.answers.append(answered)

    def finished(self) -> Iterator[Search]:
        """The answers of calls that are over; call it a moment after the last one ended."""
        over = [request_id for request_id, call in self._calls.items() if call.running <= 0]
        for request_id in over:
            yield from _searches(self._calls.pop(request_id))


def _searches(call: _Call) -> Iterator[Search]:
    """One for each answer; what all beams cost beyond the other answers goes with the first.

    Callers that left before a beam had finished are nowhere counted as finished: nothing is said.
    """
    if not call.beams and all(answered.finish_reason == "abort" for answered in call.answers):
        return
    prompt = sum(beam.prompt_tokens or 0 for beam in call.beams)
    output = sum(beam.output_tokens or 0 for beam in call.beams)
    requests = [_request(answered, call.beams) for answered in call.answers]
    for request in requests[1:]:
        prompt -= request.prompt_tokens or 0
        output -= request.output_tokens or 0
    for number, request in enumerate(requests):
        first = number == 0
        yield Search(
            request,
            prompt if first else request.prompt_tokens or 0,
            output if first else request.output_tokens or 0,
        )


def _request(answered: Answered, beams: list[Finished]) -> Finished:
    """The answer as a request; its cached tokens and waiting are those of its first beam."""
    prompt_tokens = answered.prompt_tokens
    if prompt_tokens is None:  # it ended without an answer
        prompt_tokens = min((beam.prompt_tokens or 0 for beam in beams), default=0)
    first = next((beam for beam in beams if beam.prompt_tokens == prompt_tokens), None)
    return Finished(
        finished_at=answered.finished_at,
        engine_index=first.engine_index if first else 0,
        request_id=answered.request_id,
        finish_reason=answered.finish_reason,
        prompt_tokens=prompt_tokens,
        cached_tokens=first.cached_tokens if first else None,
        output_tokens=answered.output_tokens or 0,
        max_tokens=answered.max_tokens or 1,
        preemptions=sum(beam.preemptions or 0 for beam in beams),
        e2e_seconds=answered.finished_at - answered.started_at,
        queued_seconds=first.queued_seconds if first else None,
        prefill_seconds=first.prefill_seconds if first else None,
    )
