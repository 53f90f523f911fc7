"""Cluster: requests in, the legs of P prefill and D decode nodes out, in the order they finish.

Times are seconds since the trace's beginning; nothing here knows a clock, a file or an engine's
format. The same requests, shape, faults and seed give the same legs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Final, Literal, NamedTuple
from uuid import UUID

from metering.errors import ConfigInvalid
from metering.replay.customers import Customers
from metering.replay.hardware import HardwareProfile
from metering.replay.legs import Call, Ending, Leg, Outcome
from metering.replay.prefix_cache import PrefixCache
from metering.replay.request import TraceRequest, random_of
from metering.replay.router import DecodeNode, PrefillNode, choose_decode, choose_prefill

NODES_MAX: Final = 256
STREAMING_SHARE: Final = 0.8
CLIENT_RID_SHARE: Final = 0.25  # clients that choose the request id themselves
LENGTH_FINISH_SHARE: Final = 0.1  # answers cut at max_new_tokens
RETRY_DELAY_SECONDS: Final = 0.25
DISPATCH_SECONDS: Final = 0.003  # from HTTP to the scheduler
DECODE_ADMISSION_SECONDS: Final = 0.001
DECODE_TELLS_SHARE: Final = 0.5  # retries whose decode node lives to write its own line
ROOM_BITS: Final = 63  # sglang-router draws the room from all of them

CacheSharing = Literal["shared", "per-node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShape:
    """Servers and what they share. cache_tokens: capacity of each cache in tokens; None: no end.

    idle_nodes: further decode servers that are up and that the router does not know.
    """

    prefill_nodes: int
    decode_nodes: int
    hardware: HardwareProfile
    cache: CacheSharing = "shared"
    cache_tokens: int | None = None
    idle_nodes: int = 0

    def __post_init__(self) -> None:
        for name in ("prefill_nodes", "decode_nodes"):
            nodes = getattr(self, name)
            if not 1 <= nodes <= NODES_MAX:
                raise ConfigInvalid(f"{name}: expected 1..{NODES_MAX} nodes, found {nodes}.")
        if self.cache_tokens is not None and self.cache_tokens < 1:
            raise ConfigInvalid(
                f"cache_tokens: expected at least 1 token, found {self.cache_tokens}. "
                "Leave it out for a cache without end."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Shares (0–1) of requests that are retried, left by their client, or lost to a KV failure."""

    retry_share: float = 0.0
    abort_share: float = 0.0
    kv_failure_share: float = 0.0

    def __post_init__(self) -> None:
        shares = (self.retry_share, self.abort_share, self.kv_failure_share)
        if min(shares) < 0 or sum(shares) > 1:
            raise ConfigInvalid(
                f"shares of retries, aborts and KV failures: expected 0..1 each and in sum, found "
                f"{', '.join(map(str, shares))}. Lower them."
            )


class NodeLoad(NamedTuple):
    """A node at one moment: requests in execution and waiting, tokens in its KV cache."""

    running_requests: int
    queued_requests: int
    used_tokens: int


class Simulation:
    """One cluster in motion. now: seconds since the trace's beginning."""

    def __init__(
        self, shape: ClusterShape, customers: Customers, faults: Faults, seed: int
    ) -> None:
        self.now = 0.0
        self._hardware = shape.hardware
        self._customers = customers
        self._faults = faults
        self._calls = random_of(seed, "calls")
        self._fates = random_of(seed, "fates")
        self._order = count()
        self._events: list[tuple[float, int, Leg | Call]] = []  # a heap
        caches = [PrefixCache(shape.cache_tokens) for _ in range(shape.prefill_nodes)]
        if shape.cache == "shared":
            caches = caches[:1] * shape.prefill_nodes
        self._prefill = [PrefillNode(cache) for cache in caches]
        self._decode = [DecodeNode() for _ in range(shape.decode_nodes)]

    def run(self, requests: Iterable[TraceRequest]) -> Iterator[Leg]:
        """Every leg, at the moment it finishes; requests are served in the order given."""
        for request in requests:
            arrival = max(self.now, request.arrival_seconds)
            yield from self._until(arrival)
            self.now = arrival
            self._serve(self._new_call(request))
        yield from self._until(inf)

    def load(self, node: int) -> NodeLoad:
        """What `node` is busy with now; may be asked from another thread."""
        events = [event for _, _, event in self._events.copy()]
        legs = [leg for leg in events if isinstance(leg, Leg) and leg.node == node]
        running = [leg for leg in legs if leg.started_at <= self.now]
        return NodeLoad(
            running_requests=len(running),
            queued_requests=len(legs) - len(running),
            used_tokens=sum(leg.call.request.input_tokens + leg.output_tokens for leg in running),
        )

    def _until(self, end: float) -> Iterator[Leg]:
        while self._events and self._events[0][0] <= end:
            self.now, _, event = self._events[0]
            if isinstance(event, Leg):
                yield event  # in flight until the consumer is done with it
                heappop(self._events)
            else:
                heappop(self._events)
                self._serve(event)

    def _later(self, at: float, event: Leg | Call) -> None:
        heappush(self._events, (at, next(self._order), event))

    def _new_call(self, request: TraceRequest) -> Call:
        random = self._calls
        is_chosen = random.random() < CLIENT_RID_SHARE
        return Call(
            request=request,
            customer=self._customers.of(request),
            outcome=self._fate(),
            client_rid=f"req-{self._rid()[:24]}" if is_chosen else None,
            is_streaming=random.random() < STREAMING_SHARE,
            is_cut=random.random() < LENGTH_FINISH_SHARE,
            room=random.getrandbits(ROOM_BITS),
        )

    def _fate(self) -> Outcome:
        dice, faults = self._fates.random(), self._faults
        for outcome, share in (
            (Outcome.RETRIED, faults.retry_share),
            (Outcome.ABORTED, faults.abort_share),
            (Outcome.FAILED, faults.kv_failure_share),
        ):
            if dice < share:
                return outcome
            dice -= share
        return Outcome.DELIVERED

    def _serve(self, call: Call) -> None:
        """Send `call` to both sides at once, as the router does, and plan how it ends."""
        prefill = self._serve_prefill(call)
        if call.outcome is not Outcome.RETRIED or self._fates.random() < DECODE_TELLS_SHARE:
            self._serve_decode(prefill)
        if call.outcome is Outcome.RETRIED:
            again = replace(
                call, outcome=Outcome.DELIVERED, room=self._fates.getrandbits(ROOM_BITS)
            )
            self._later(prefill.finished_at + RETRY_DELAY_SECONDS, again)

    def _serve_prefill(self, call: Call) -> Leg:
        request, hardware = call.request, self._hardware
        place = choose_prefill(self._prefill, request, self.now)
        node = self._prefill[place]
        cached_tokens = node.cache.admit(request)
        started_at = max(self.now + DISPATCH_SECONDS, node.free_at)
        node.free_at = started_at + hardware.prefill_seconds(
            request.input_tokens - cached_tokens, cached_tokens
        )
        node.served_requests += 1
        is_failed = call.outcome is Outcome.FAILED
        leg = Leg(
            node=place,
            prefill_node=place,
            call=call,
            rid=call.client_rid or self._rid(),
            ending=Ending.TRANSFER_FAILED if is_failed else Ending.LENGTH,
            cached_tokens=cached_tokens,
            output_tokens=1,  # the first token, handed to the decode node
            received_at=self.now,
            started_at=started_at,
            computed_at=node.free_at,
            finished_at=node.free_at + hardware.transfer_seconds(request.input_tokens),
        )
        self._later(leg.finished_at, leg)
        return leg

    def _serve_decode(self, prefill: Leg) -> None:
        call = prefill.call
        place = choose_decode(self._decode, self.now)
        running_requests = self._decode[place].running_requests(self.now)
        output_tokens, ending = self._answer(call)
        started_at = prefill.finished_at + DECODE_ADMISSION_SECONDS
        decode_seconds = self._hardware.decode_seconds(output_tokens, running_requests)
        leg = Leg(
            node=len(self._prefill) + place,
            prefill_node=prefill.node,
            call=call,
            rid=call.client_rid or self._rid(),
            ending=ending,
            cached_tokens=prefill.cached_tokens,
            output_tokens=output_tokens,
            received_at=prefill.received_at,
            started_at=started_at,
            computed_at=started_at,
            finished_at=started_at + decode_seconds,
        )
        self._decode[place].occupy(leg.finished_at)
        self._later(leg.finished_at, leg)

    def _answer(self, call: Call) -> tuple[int, Ending]:
        """Tokens that the decode node makes of the answer, and how it ends there."""
        wanted_tokens = call.request.output_tokens
        if call.outcome is Outcome.DELIVERED:
            return wanted_tokens, Ending.LENGTH if call.is_cut else Ending.STOP
        if call.outcome is Outcome.ABORTED:
            return self._fates.randint(min(1, wanted_tokens), wanted_tokens), Ending.CLIENT_LEFT
        return 0, Ending.TRANSFER_FAILED

    def _rid(self) -> str:
        return UUID(int=self._calls.getrandbits(128), version=4).hex
