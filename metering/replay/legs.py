"""Call and Leg: what one attempt to serve a request is, and what each node does of it."""

from dataclasses import dataclass
from enum import StrEnum

from metering.replay.request import Customer, TraceRequest


class Outcome(StrEnum):
    """What became of one attempt to serve a request."""

    DELIVERED = "delivered"
    ABORTED = "aborted"  # the client left while the answer was decoded
    RETRIED = "retried"  # the decode side failed; the router tried again
    FAILED = "failed"  # the KV cache did not arrive; the client got an error


class Ending(StrEnum):
    """How one leg ended on its node."""

    STOP = "stop"
    LENGTH = "length"
    TRANSFER_FAILED = "transfer_failed"
    CLIENT_LEFT = "client_left"  # counted, never written


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt as both nodes see it: the request with what client and router added."""

    request: TraceRequest
    customer: Customer
    outcome: Outcome
    client_rid: str | None
    is_streaming: bool
    is_cut: bool  # the answer ends at max_new_tokens
    room: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One node's part of a call. Times in seconds since the trace's beginning."""

    node: int  # prefill nodes first, then decode nodes
    prefill_node: int
    call: Call
    rid: str
    ending: Ending
    cached_tokens: int
    output_tokens: int
    received_at: float
    started_at: float  # forward pass begins
    computed_at: float  # first token known (prefill) or first token decoded (decode)
    finished_at: float

    @property
    def is_prefill(self) -> bool:
        """Whether this is the prefill node's part."""
        return self.node == self.prefill_node

    @property
    def is_written(self) -> bool:
        """Whether the engine writes a line for it; where not, only its counters know."""
        return self.ending is not Ending.CLIENT_LEFT
