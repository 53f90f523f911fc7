"""What is asked of an engine, and by hand what must be billed for it.

The model's tokens are characters (inside/tiny_model.py) and the end mark is ignored, so input and
output of almost every case are known before it runs. Where they are not, the usage block that the
client got is the truth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.engines.ask import COMPLETIONS, Ask, chat, chat_tokens, complete
from tests.engines.engine import LENGTH, MODEL

BLOCK = 32  # tokens that vLLM caches together
MARKS_BEHIND = 13  # a question: <|im_end|> \n <|im_start|> assistant \n
SYSTEM = "You are a careful assistant for the billing department. " * 12
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
RUNNING_USAGE = {
    "stream": True,
    "stream_options": {"include_usage": True, "continuous_usage_stats": True},
}


@dataclass(frozen=True)
class Bill:
    """One request: input, cached (None: as the client's usage block says) and output tokens."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None = 0


BY_USAGE = Bill(None, None, None)


@dataclass(frozen=True)
class Case:
    """asks: sent one after the other, or at once. bills: what they must come to, in any order.

    samples: input tokens of prompts beyond the first of a call. beam: (input, output) tokens that
    a beam search costs beyond its bill. status: of each answer; None: none came. warm: it is to
    find what earlier cases left in the prefix cache, where an engine is told to forget in between.
    """

    name: str
    asks: Sequence[Ask]
    bills: Sequence[Bill] = ()
    at_once: bool = False
    beam: tuple[int, int] = (0, 0)
    samples: int = 0
    status: int | None = 200
    warm: bool = False


def whole_blocks(tokens: int, block: int = BLOCK) -> int:
    """What a prefix cache holds of so many equal tokens; SGLang's blocks are single tokens."""
    return tokens // block * block


def of_chat(
    content: str, tokens: int, *, cached: int | None = 0, **more: Any
) -> Callable[[str], Case]:
    """One chat, billed as it is."""
    system = more.get("system")
    bill = Bill(chat_tokens(content, system=system), tokens, cached)
    return lambda name: Case(name, [chat(content, tokens, **more)], [bill])


def streams() -> list[Case]:
    """One answer each, streamed or not, with and without a usage block."""
    named = {
        "chat": of_chat("a: what does this return?", 16),
        "stream without usage": of_chat("b: list the files", 12, stream=True),
        "stream with usage": of_chat("c: list the files", 12, **USAGE),
        "stream with running usage": of_chat("d: match a word", 6, **RUNNING_USAGE),
        "one token": of_chat("e: one token", 1),
        "end mark at once": of_chat("f: be short", 1, logit_bias={"2": 100}, ignore_eos=False),
    }
    stop = chat("g: stop at a vowel", 64, stop=["e", "a", "i", "o"])
    echo = complete("h: try: import json", 0, echo=True)
    return [
        *(make(name) for name, make in named.items()),
        Case("stop string", [stop], [replace(BY_USAGE, cached_tokens=0)]),
        Case("echo of 0 tokens", [echo], [replace(BY_USAGE, cached_tokens=0)]),
    ]


def prefixes(block: int = BLOCK) -> list[Case]:
    """A long system prompt, cold, with another question, and again; what is shared is cached."""
    first, second = "first question", "another question"
    shared = whole_blocks(chat_tokens("", system=SYSTEM) - MARKS_BEHIND, block)
    again = whole_blocks(chat_tokens(first, system=SYSTEM) - 1, block)  # the last one is computed
    cold = of_chat(first, 8, system=SYSTEM)("prefix, cold")
    other = of_chat(second, 8, system=SYSTEM, cached=shared)("prefix, shared")
    same = of_chat(first, 8, system=SYSTEM, cached=again)("prefix, the same again")
    return [cold, replace(other, warm=True), replace(same, warm=True)]


def samples(found: Callable[[int], int] = lambda _: 0) -> list[Case]:
    """Several answers to one prompt, and several prompts in one call.

    found: what each sample of a prompt of so many tokens finds in the cache, by the engine's way.
    """
    two = {"n": 2, "temperature": 1, "seed": 5}
    short = chat_tokens("i: two")
    bill = Bill(short, 16, found(short))
    prompts = ["class A: pass", "for i in x: y"]
    return [
        Case("n = 2", [chat("i: two", 8, **two)], [bill], samples=short),
        Case("n = 2, streamed", [chat("j: two", 8, **two, **USAGE)], [bill], samples=short),
        Case("two prompts", [complete(prompts, 5)], [Bill(len(p), 5) for p in prompts]),
        Case(
            "two prompts, n = 2",
            [complete([p + "!" for p in prompts], 5, **two)],
            [Bill(len(p) + 1, 10, found(len(p) + 1)) for p in prompts],
            samples=sum(len(p) + 1 for p in prompts),
        ),
    ]


def cold_samples() -> Case:
    """Two answers to a long prompt that nobody has asked: it was computed once, not found.

    vLLM's usage block says what the second sample found; the bill follows the first.
    """
    content = "two of these"
    prompt = chat_tokens(content, system="!" + SYSTEM)
    asked = chat(content, 8, system="!" + SYSTEM, n=2, temperature=1, seed=5)
    return Case("n = 2, long and cold", [asked], [Bill(prompt, 16)], samples=prompt)


def failures() -> list[Case]:
    """Clients that leave, and requests that an engine refuses: nothing is billed."""
    unending = LENGTH - 100
    return [
        Case(
            "client leaves a stream",
            [replace(chat("k: leave", unending, stream=True), leave_after=20)],
        ),
        Case("client gives up", [replace(chat("l: give up", unending), give_up=1.0)], status=None),
        Case("prompt too long", [chat("m" * LENGTH, 8)], status=400),
        Case("bad temperature", [chat("n: bad", 8, temperature=-3)], status=400),
        Case("no JSON", [Ask(COMPLETIONS, "{not json")], status=400),
    ]


def burst() -> Case:
    """Eight clients at once behind one system prompt; cached as each is told."""
    asks = [chat(f"burst {i}", 20, system=SYSTEM, **(USAGE if i % 2 else {})) for i in range(8)]
    bill = Bill(chat_tokens("burst 0", system=SYSTEM), 20, None)
    return Case("eight at once", asks, [bill] * 8, at_once=True)


def dialects() -> list[Case]:
    """Anthropic's route: its input excludes what was cached."""
    content = "o: hello"
    body = {"model": MODEL, "max_tokens": 8, "messages": [{"role": "user", "content": content}]}
    return [
        Case("Anthropic messages", [Ask("/v1/messages", body)], [BY_USAGE]),
        Case(
            "Anthropic messages, streamed",
            [Ask("/v1/messages", body | {"stream": True})],
            [BY_USAGE],
        ),
    ]
