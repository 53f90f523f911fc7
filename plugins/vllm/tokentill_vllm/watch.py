"""Watches the one method of vLLM that answers a beam search; passes everything through.

Where a version of vLLM has no such method, nothing is watched, and its beams are written as
requests of their own.
"""

import functools
import inspect
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Any

from tokentill_vllm.beams import Answered, Begun

try:
    from vllm.entrypoints.generate.beam_search.online import (  # type: ignore[import-not-found,unused-ignore]
        BeamSearchOnlineMixin,
    )
except Exception:  # noqa: BLE001 # another version, or no vLLM at all
    BeamSearchOnlineMixin = None

METHOD = "beam_search"
WATCHED = "tokentill_watched"

Tell = Callable[[Begun | Answered], None]


def watch(tell: Tell, owner: Any = BeamSearchOnlineMixin) -> bool:
    """Tell of each beam search that `owner` begins and ends; whether it can be watched."""
    search = getattr(owner, METHOD, None)
    if search is None:
        return False
    if not hasattr(search, WATCHED):
        places = {name: at for at, name in enumerate(inspect.signature(search).parameters)}
        if not {"request_id", "params"} <= places.keys():
            return False
        setattr(owner, METHOD, _watched(search, places, tell))
    return True


def _watched(search: Callable[..., Any], places: dict[str, int], tell: Tell) -> Callable[..., Any]:
    @functools.wraps(search)
    async def beam_search(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        told = _Told(tell, *(_argument(n, places, args, kwargs) for n in ("request_id", "params")))
        try:
            async with aclosing(search(*args, **kwargs)) as outputs:
                async for output in outputs:
                    told.last = output
                    yield output
            told.whole = True
        finally:
            told.end()

    setattr(beam_search, WATCHED, True)
    return beam_search


class _Told:
    """What is told of one search; nothing here may reach the engine."""

    def __init__(self, tell: Tell, request_id: Any, params: Any) -> None:
        self.last: Any = None
        self.whole = False
        self._tell, self._request_id, self._params = tell, str(request_id), params
        self._started_at = time.time()
        with suppress(Exception):
            tell(Begun(self._request_id))

    def end(self) -> None:
        """Say what the caller got."""
        with suppress(Exception):
            self._tell(self._answered())

    def _answered(self) -> Answered:
        known = Answered(
            self._request_id,
            self._started_at,
            time.time(),
            "abort",
            max_tokens=getattr(self._params, "max_tokens", None),
        )
        try:
            reasons = {output.finish_reason for output in self.last.outputs}
            given = [len(output.token_ids) for output in self.last.outputs]
            prompt = len(self.last.prompt_token_ids)
        except (AttributeError, TypeError):  # no answer
            return known
        if not self.whole:
            return known._replace(prompt_tokens=prompt)
        reason = next((r for r in ("error", "abort", "length") if r in reasons), "stop")
        return known._replace(finish_reason=reason, prompt_tokens=prompt, output_tokens=sum(given))


def _argument(name: str, places: dict[str, int], args: Any, kwargs: Any) -> Any:
    """The argument `name` of a call, by name or by position."""
    at = places[name]
    return kwargs.get(name, args[at] if at < len(args) else None)
