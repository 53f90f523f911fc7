"""Which finished requests are samples of one call with n > 1.

vLLM reports every sample as a request with the whole prompt and the caller's id, and the n of a
call once, when its last sample has finished: in each step `n_params_iter` holds an entry for each
finished request without siblings (1) and for each call whose last sample finished (n). Samples are
therefore held back until their call is complete; everything else passes at once.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tokentill_vllm.finished import Finished

HELD_SECONDS_MAX = 3600.0  # then a sample is written as a request of its own
HELD_MAX = 100_000  # samples held back at most
APART_SECONDS = 2e-6  # more than the microsecond to which readers round


class Ready(NamedTuple):
    """A finished request and the size of its call; None where vLLM did not say or we gave up."""

    request: Finished
    n: int | None
    call: int | None = None  # number of the call, the same for all its samples


@dataclass
class Doubt:
    """Calls of which some are complete with n samples and `open_calls` are not, after one step."""

    n: int
    request_ids: set[str]
    open_calls: int


class Calls:
    """Holds samples back until the n of their call is known."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, list[Finished]] = OrderedDict()
        self._doubts: dict[str, Doubt] = {}
        self._count = 0
        self._calls = 0

    def settle(self, finished: Sequence[Finished], calls: Sequence[int] | None) -> list[Ready]:
        """The requests that can be written now.

        calls: the n of each call that this step completed; None where vLLM has no such notion.
        """
        if calls is None or any(request.request_id is None for request in finished):
            return [Ready(request, None) for request in finished]
        if not self._held and len(calls) == len(finished) and all(n == 1 for n in calls):
            return [Ready(request, 1) for request in finished]
        ready: list[Ready] = []
        touched = self._hold(finished, ready)
        self._compare(touched, Counter(calls), ready)
        return ready

    def give_up(self, before: float) -> list[Ready]:
        """Samples whose call is not complete by `before` (epoch seconds), or above the limit."""
        ready: list[Ready] = []
        while self._held:
            request_id, samples = next(iter(self._held.items()))
            if samples[0].finished_at >= before and self._count <= HELD_MAX:
                break
            self._release(request_id, None, ready)
        return ready

    def _hold(self, finished: Sequence[Finished], ready: list[Ready]) -> list[str]:
        """Hold this step's requests; the ids they belong to. A further sample ends a doubt."""
        for request in finished:
            request_id = request.request_id or ""
            doubt = self._doubts.pop(request_id, None)
            self._held.setdefault(request_id, []).append(request)
            self._count += 1
            if doubt is not None:
                doubt.request_ids.discard(request_id)
                doubt.open_calls -= 1
                self._resolve(doubt, ready)
        return list(dict.fromkeys(request.request_id or "" for request in finished))

    def _compare(self, touched: list[str], completed: Counter[int], ready: list[Ready]) -> None:
        """By number of samples: which of the calls with so many are complete."""
        by_samples: defaultdict[int, list[str]] = defaultdict(list)
        for request_id in touched:
            if request_id in self._held:
                by_samples[len(self._held[request_id])].append(request_id)
        for n, request_ids in by_samples.items():
            if completed[n] == 0:
                continue
            doubt = Doubt(n, set(request_ids), max(len(request_ids) - completed[n], 0))
            self._doubts.update(dict.fromkeys(request_ids, doubt))
            self._resolve(doubt, ready)

    def _resolve(self, doubt: Doubt, ready: list[Ready]) -> None:
        """Once every open call among the doubtful ones is known, the others are complete."""
        if doubt.open_calls <= 0:
            for request_id in sorted(doubt.request_ids):
                self._release(request_id, doubt.n, ready)

    def _release(self, request_id: str, n: int | None, ready: list[Ready]) -> None:
        samples = self._held.pop(request_id)
        self._count -= len(samples)
        doubt = self._doubts.pop(request_id, None)
        if doubt is not None:
            doubt.request_ids.discard(request_id)
        call = None
        if n is not None and n > 1:
            self._calls += 1
            call = self._calls
        ready += [Ready(request, n, call) for request in _apart(samples)]


def _apart(samples: list[Finished]) -> list[Finished]:
    """Samples in the order in which they finished, also those of one step.

    The first one computed the prompt; the others found it in the cache. A step has one time, and
    who is billed for the prompt must not hang on chance.
    """
    kept: list[Finished] = []
    before: Counter[float] = Counter()
    for sample in samples:
        late = APART_SECONDS * before[sample.finished_at]
        before[sample.finished_at] += 1
        e2e = None if sample.e2e_seconds is None else sample.e2e_seconds + late
        kept.append(sample._replace(finished_at=sample.finished_at + late, e2e_seconds=e2e))
    return kept
