"""The usage of one answer, taken from its body as it passes: JSON or server-sent events.

Works on pieces of any size and keeps only numbers and ids: no content is held beyond one event.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from metering.errors import UsageInvalid
from metering.identity import bounded
from metering.sources.usage_block import Usage, read_usage_block

EVENT_BYTES_MAX: Final = 8 << 20  # a longer event is passed over; usage events have under 1 KiB
BODY_BYTES_MAX: Final = 64 << 20  # a longer JSON body is passed over

_DATA: Final = b"data:"
_DONE: Final = b"[DONE]"
_FINAL_EVENTS: Final = frozenset({"message_stop", "response.completed", "response.incomplete"})
_FAILED_EVENTS: Final = frozenset({"response.failed", "error"})


class Answer:
    """Collects what one answer says of its usage.

    complete: the answer said that it was over. failed: it said that it broke. Both stay False for
    an answer that was cut off.
    """

    def __init__(self, *, streams: bool) -> None:
        """streams: whether the body is server-sent events, by its content type."""
        self.complete = False
        self.failed = False
        self.response_id: str | None = None
        self.model: str | None = None
        self.overlong = False
        self._streams = streams
        self._rest = bytearray()
        self._last: Usage | None = None
        self._by_choice: dict[int, Usage] = {}
        self._message: dict[str, Any] = {}

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the body."""
        self._rest += piece
        if not self._streams:
            self._bound(BODY_BYTES_MAX)
            return
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        for line in lines:
            self._line(bytes(line).strip())
        self._bound(EVENT_BYTES_MAX)

    def close(self) -> None:
        """The body has ended, or was cut off."""
        if self._streams:
            self._line(bytes(self._rest).strip())
        elif not self.overlong:
            body = _decoded(self._rest)
            self.complete = body is not None
            if body is not None:
                self.take_event(body)
        self._rest.clear()

    def usage(self) -> Usage | None:
        """The usage of the whole answer; None where it never said.

        The last block that speaks for all choices; without one (the stream was cut) the running
        blocks of the choices, the prompt once and the outputs added.
        """
        if self._message:
            return read_usage_block(self._message)
        if self._last is not None or not self._by_choice:
            return self._last
        return _added(list(self._by_choice.values()))

    def _bound(self, limit: int) -> None:
        if len(self._rest) > limit:
            self.overlong = True
            self._rest.clear()

    def _line(self, line: bytes) -> None:
        if not line.startswith(_DATA):
            return
        data = line[len(_DATA) :].strip()
        if data == _DONE:
            self.complete = True
            return
        event = _decoded(data)
        if event is not None:
            self.take_event(event)

    def take_event(self, event: Mapping[str, Any]) -> None:
        """Take one decoded event, or a decoded body."""
        kind = _text(event.get("type"))
        self.complete |= kind in _FINAL_EVENTS
        self.failed |= kind in _FAILED_EVENTS or event.get("error") is not None
        inner = event.get("response", event.get("message"))
        source = inner if isinstance(inner, Mapping) else event
        self.response_id = self.response_id or _text(source.get("id"))
        self.model = self.model or _text(source.get("model"))
        block = source.get("usage", event.get("usageMetadata"))
        if block is None or (inner is not None and not isinstance(inner, Mapping)):
            return
        if kind in ("message_start", "message_delta") and isinstance(block, Mapping):
            # Anthropic: the start states the input, each delta the output so far.
            self._message |= {name: value for name, value in block.items() if value is not None}
            return
        self._take(read_usage_block(block), event.get("choices"))

    def _take(self, usage: Usage | None, choices: object) -> None:
        """Running usage names its choice; the last block has none, a whole body all of them."""
        running = self._streams and isinstance(choices, list) and len(choices) == 1
        if usage is None:
            return
        if running and isinstance(choices, list):
            index = choices[0].get("index") if isinstance(choices[0], Mapping) else None
            self._by_choice[index if isinstance(index, int) else 0] = usage
        else:
            self._last = usage


def _added(parts: list[Usage]) -> Usage:
    """One call's choices: the prompt once, outputs added. Unknown in one is unknown in the sum."""
    outputs = [part.output_tokens for part in parts]
    reasoning = [part.reasoning_tokens for part in parts]
    return replace(parts[0], output_tokens=_total(outputs), reasoning_tokens=_total(reasoning))


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _decoded(data: bytes | bytearray) -> Mapping[str, Any] | None:
    """A JSON object, or None: an event that is none says nothing of usage."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: object) -> str | None:
    return bounded(value) if isinstance(value, str) and value else None


def usage_of_answer(body: bytes, *, streams: bool) -> Usage | None:
    """The usage that a whole body states. Raises UsageInvalid for a block that cannot be read."""
    answer = Answer(streams=streams)
    answer.feed(body)
    answer.close()
    if answer.overlong:
        raise UsageInvalid("body", f"longer than {BODY_BYTES_MAX} bytes")
    return answer.usage()
