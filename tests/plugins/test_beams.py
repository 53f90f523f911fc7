"""Beam search: many engine requests, one line with what the caller got and what the engine did.

Ids and counts as vLLM 0.32.0 makes them; n=3, 4 tokens, a 6-token prompt is the case captured in
facts/real_engine.md: usage 6 / 12, counters 78 / 10, ten requests.
"""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tokentill_vllm.beams import Answered, Begun
from tokentill_vllm.finished import Finished
from tokentill_vllm.watch import watch
from tokentill_vllm.writer import Writer

from metering.sources import parse_line
from metering.sources.record import NodeIdentity

ANSWER = Answered("cmpl-a", 100.0, 101.0, "length", 6, 12, 4)
UNIFIED = NodeIdentity(node_id="u1", stage="unified", model_id="m")


def beam(step: int, number: int, prompt: int, call: str = "cmpl-a") -> Finished:
    """One beam of one step: it was asked for one token."""
    return Finished(
        100.5, 0, f"{call}-{step:016x}-beam-{number}", "length", prompt, 0, 1, 1, 0, 0.1
    )


def searched(
    prompt: int = 6, width: int = 3, steps: int = 4, call: str = "cmpl-a"
) -> list[Finished]:
    """The requests of one search: one beam, then `width` in each further step."""
    later = [
        beam(step, number, prompt + step, call)
        for step in range(1, steps)
        for number in range(width)
    ]
    return [beam(0, 0, prompt, call), *later]


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., list[dict[str, Any]]]:
    """Puts events through a writer and reads its lines."""

    def write(*events: Begun | Answered | Finished) -> list[dict[str, Any]]:
        writer = Writer(str(tmp_path), 1000, "m")
        for event in events:
            if isinstance(event, Finished):
                writer.put([event], [1])
            else:
                writer.tell(event)
        writer.close()
        texts = [path.read_text() for path in tmp_path.glob("*.jsonl")]
        return [json.loads(line) for line in "".join(texts).splitlines()]

    return write


def counts(line: dict[str, Any]) -> tuple[int, ...]:
    """(input, output) as answered, then as the engine counted them."""
    names = ("prompt_tokens", "output_tokens", "engine_prompt_tokens", "engine_output_tokens")
    return tuple(line[name] for name in names)


def test_a_search_is_one_request(written: Callable[..., Any]) -> None:
    """6 / 12 answered, 78 / 10 counted; the last statistics may come after the answer."""
    beams = searched()
    (line,) = written(Begun("cmpl-a"), *beams[:-1], ANSWER, beams[-1])
    assert counts(line) == (6, 12, 78, 10)
    row = parse_line("vllm_stats", json.dumps(line).encode(), UNIFIED, "f:0")
    assert row is not None
    assert (row["input_tokens"], row["output_tokens"], row["group_id"]) == (6, 12, None)
    assert row["labels"] == {"engine_input_tokens": "78", "engine_output_tokens": "10"}
    assert (row["join_key"], row["status"]) == ("cmpl-a", "ok")


def test_two_prompts_share_an_id(written: Callable[..., Any]) -> None:
    """Prompts of 6 and 9 tokens under one id: two lines; together 6·1+7·3+8·3+9·3 + 9·1+… work."""
    beams = [*searched(), *searched(prompt=9)]
    second = ANSWER._replace(prompt_tokens=9, output_tokens=7)
    lines = written(Begun("cmpl-a"), Begun("cmpl-a"), *beams, ANSWER, second)
    assert [counts(line)[:2] for line in lines] == [(6, 12), (9, 7)]
    assert sum(line["engine_prompt_tokens"] for line in lines) == 78 + 9 + 3 * (10 + 11 + 12)
    assert sum(line["engine_output_tokens"] for line in lines) == 20


def test_an_id_that_looks_like_a_beam_is_a_request(written: Callable[..., Any]) -> None:
    """A caller's own id hides nothing: not without a search, and not a request for more tokens."""
    alone = beam(0, 0, 50)
    longer = beam(1, 0, 60)._replace(max_tokens=8, output_tokens=8)
    lines = written(alone, Begun("cmpl-a"), longer, ANSWER)
    assert [line["prompt_tokens"] for line in lines] == [50, 60, 6]


def test_a_caller_who_left(written: Callable[..., Any]) -> None:
    """Two steps were computed: aborted, nothing given, the work named; before any step: no line."""
    left = Answered("cmpl-a", 100.0, 101.0, "abort")
    (line,) = written(
        Begun("cmpl-a"), *searched(steps=2), left, Begun("b"), left._replace(request_id="b")
    )
    assert (line["finish_reason"], *counts(line)) == ("abort", 6, 0, 27, 4)


class Serving:
    """A server whose beam search gives two beams of 4 and 2 tokens, or fails."""

    async def beam_search(self, prompt: Any, request_id: str, params: Any) -> Any:  # noqa: ARG002 # vLLM's names
        if prompt == "broken":
            raise ValueError("the engine's own error")
        beams = [
            SimpleNamespace(token_ids=[7] * size, finish_reason=reason)
            for size, reason in ((4, "length"), (2, "stop"))
        ]
        yield SimpleNamespace(outputs=beams, prompt_token_ids=[1] * 6)


def told(prompt: str, *, take: int = 9, fail: bool = False) -> tuple[list[Any], list[Any]]:
    """What a watched search tells, and what its caller gets; the caller takes `take` outputs."""
    heard: list[Any] = []

    class Watched(Serving):
        beam_search = Serving.beam_search

    def tell(event: Any) -> None:
        heard.append(event)
        if fail:
            raise RuntimeError("the plug-in's own error")

    async def call() -> list[Any]:
        got: list[Any] = []
        search = Watched().beam_search(prompt, params=SimpleNamespace(max_tokens=4), request_id="r")
        try:
            async for output in search:
                got.append(output)
                if len(got) >= take:
                    break
        except ValueError as error:
            got.append(error)
        await search.aclose()
        return got

    assert watch(tell, Watched)
    assert watch(tell, Watched)
    return heard, asyncio.run(call())


def test_what_the_caller_got_is_told() -> None:
    """4 + 2 tokens of a 6-token prompt, told once although it was watched twice."""
    (begun, answered), got = told("p")
    assert begun == Begun("r")
    assert answered[3:] == ("length", 6, 6, 4)
    assert len(got) == 1


@pytest.mark.parametrize(("prompt", "take"), [("broken", 9), ("p", 1)])
def test_an_error_and_a_caller_who_leaves(prompt: str, take: int) -> None:
    """Both end a search without an answer; the error is the engine's own and reaches the caller."""
    (_, answered), got = told(prompt, take=take)
    assert (answered.finish_reason, answered.output_tokens) == ("abort", None)
    assert len(got) == 1


def test_a_failure_of_the_plugin_stays_here() -> None:
    """The caller gets its answer."""
    assert len(told("p", fail=True)[1]) == 1


def test_versions_that_cannot_be_watched() -> None:
    """No such method, another signature, no vLLM at all: the engine runs unwatched."""
    other = type("Other", (), {"beam_search": lambda *_: None})
    assert [watch(print, owner) for owner in (object, other, None)] == [False, False, False]
