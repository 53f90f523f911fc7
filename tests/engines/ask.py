"""Requests as clients send them, and what each got."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.engines.engine import MODEL

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
TIMEOUT_SECONDS = 150


@dataclass(frozen=True)
class Ask:
    """One request. leave_after: chunks of a stream, then the client goes; give_up: seconds."""

    path: str
    body: dict[str, Any] | str
    headers: dict[str, str] = field(default_factory=dict)
    leave_after: int | None = None
    give_up: float = TIMEOUT_SECONDS


@dataclass
class Got:
    """What came back: status (None: nothing), the last usage block, chunks of a stream."""

    status: int | None = None
    usage: dict[str, Any] | None = None
    chunks: int = 0
    text: str = ""


def send(url: str, ask: Ask, then: Callable[[], None] | None = None) -> Got:
    """Send one request as its client would; a client that leaves closes its connection.

    then: what happens instead of leaving, while the client goes on reading.
    """
    got = Got()
    body = ask.body if isinstance(ask.body, str) else json.dumps(ask.body)
    headers = {"Content-Type": "application/json", **ask.headers}
    try:
        with httpx.stream(
            "POST", url + ask.path, content=body, headers=headers, timeout=ask.give_up
        ) as answer:
            got.status = answer.status_code
            for line in answer.iter_lines():
                got.text += line + "\n"
                got.chunks += line.startswith("data:")
                if ask.leave_after is None or got.chunks < ask.leave_after:
                    continue
                if then is None:
                    return got
                then()
                then = _nothing
    except httpx.TransportError as error:
        got.text += repr(error)
    got.usage = _last_usage(got.text)
    return got


def _nothing() -> None:
    """It has happened."""


def _last_usage(text: str) -> dict[str, Any] | None:
    """The last usage block of an answer or a stream, wherever the dialect puts it."""
    found = None
    for line in text.splitlines():
        try:
            event = json.loads(line.removeprefix("data:"))
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        places = (event, event.get("message"), event.get("response"))
        usages = [p["usage"] for p in places if isinstance(p, dict) and p.get("usage")]
        if usages:
            found = (found or {}) | usages[-1]
    return found


def chat(content: str, tokens: int, *, system: str | None = None, **more: Any) -> Ask:
    """A chat of `tokens` output tokens: the end mark is ignored."""
    told = [{"role": "system", "content": system}] if system else []
    body = {
        "model": MODEL,
        "messages": [*told, {"role": "user", "content": content}],
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
    }
    return Ask(CHAT, body | more)


def complete(prompt: str | list[str], tokens: int, **more: Any) -> Ask:
    """A completion of `tokens` output tokens for each prompt."""
    body = {"model": MODEL, "prompt": prompt, "max_tokens": tokens, "temperature": 0}
    return Ask(COMPLETIONS, body | {"ignore_eos": True} | more)


def chat_tokens(content: str, *, system: str | None = None) -> int:
    """Input tokens by hand: a character is a token, and so is each of the template's marks.

    A message is <|im_start|> role \\n content <|im_end|> \\n; then <|im_start|> assistant \\n.
    """
    told = [("system", system)] if system else []
    marks = sum(3 + len(role) + 1 + len(text) for role, text in [*told, ("user", content)])
    return marks + 1 + len("assistant\n")
