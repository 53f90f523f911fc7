"""The built-in workload: agent sessions over shared project prefixes, as in white paper 1.

Every number is drawn here from a seed; no trace is copied. A session begins with its project's
shared prefix and a first message, near 64K tokens, and grows turn by turn towards 96K to 400K
tokens, so most of every prompt was seen before: token-weighted hit ratio near 0.9.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import exp, log
from random import Random
from typing import Final

from metering.replay.customers import Customers
from metering.replay.request import Customer, TraceRequest, random_of

BLOCK_TOKENS: Final = 64  # page size of the prefill nodes
SESSIONS_AT_ONCE: Final = 24
# About 40 % of what one prefill server of white paper 1 can take, at this workload's mean prompt.
REQUESTS_PER_SECOND_PER_PREFILL_NODE: Final = 0.225

PREFIX_BLOCKS: Final = (512, 640)  # 32K to 40K tokens shared by a project
FIRST_MESSAGE_TOKENS: Final = (30_000, 40_000)
TARGET_TOKENS: Final = (96_000, 128_000, 256_000, 400_000)
TARGET_WEIGHTS: Final = (35, 30, 25, 10)
TURN_TOKENS_MEDIAN: Final = 10_000
OUTPUT_TOKENS_MEDIAN: Final = 1_200  # it thinks before it answers
SPREAD: Final = 0.6  # sigma of the log of turn and output sizes
OUTPUT_TOKENS_MAX: Final = 16_384
SESSION_BLOCKS_MAX: Final = 2**14  # ids kept free for one session; 400K tokens need 6,250
FIRST_SESSION_BLOCK: Final = 2**32  # above every project's prefix


@dataclass(slots=True)
class _Session:
    """One conversation. context_tokens: what its next prompt repeats."""

    customer: Customer
    prefix_first: int
    prefix_blocks: int
    first_block: int
    context_tokens: int
    target_tokens: int


def white_paper(
    customers: Customers, *, seed: int, requests: int, requests_per_second: float
) -> Iterator[TraceRequest]:
    """`requests` requests at random (Poisson) arrival, of `SESSIONS_AT_ONCE` sessions at a time."""
    random = random_of(seed, "workload")
    first_blocks = count(FIRST_SESSION_BLOCK, SESSION_BLOCKS_MAX)
    sessions = [
        _new_session(random, customers, customers.draw(0.0), next(first_blocks))
        for _ in range(SESSIONS_AT_ONCE)
    ]
    arrival_seconds = 0.0
    for number in range(requests):
        place = random.randrange(SESSIONS_AT_ONCE)
        yield _turn(random, sessions[place], arrival_seconds)
        if sessions[place].context_tokens >= sessions[place].target_tokens:
            customer = customers.draw(number / requests)
            sessions[place] = _new_session(random, customers, customer, next(first_blocks))
        arrival_seconds += random.expovariate(requests_per_second)


def _new_session(
    random: Random, customers: Customers, customer: Customer, first_block: int
) -> _Session:
    project = customers.all.index(customer)
    low, high = PREFIX_BLOCKS
    prefix_blocks = low + (project * 37) % (high - low)
    return _Session(
        customer=customer,
        prefix_first=project * high,
        prefix_blocks=prefix_blocks,
        first_block=first_block,
        context_tokens=prefix_blocks * BLOCK_TOKENS + random.randint(*FIRST_MESSAGE_TOKENS),
        target_tokens=random.choices(TARGET_TOKENS, TARGET_WEIGHTS)[0],
    )


def _turn(random: Random, session: _Session, arrival_seconds: float) -> TraceRequest:
    """The session's next request; its answer and the next message join the context."""
    input_tokens = session.context_tokens
    output_tokens = min(_around(random, OUTPUT_TOKENS_MEDIAN), OUTPUT_TOKENS_MAX)
    session.context_tokens += output_tokens + _around(random, TURN_TOKENS_MEDIAN)
    # Only whole blocks can be shared, and the last token is always computed.
    own_blocks = (input_tokens - 1) // BLOCK_TOKENS - session.prefix_blocks
    return TraceRequest(
        arrival_seconds=arrival_seconds,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        block_runs=(
            (session.prefix_first, session.prefix_blocks),
            (session.first_block, own_blocks),
        ),
        block_tokens=BLOCK_TOKENS,
        customer=session.customer,
    )


def _around(random: Random, median_tokens: int) -> int:
    """A log-normal number of tokens, at least 1."""
    return max(1, round(exp(log(median_tokens) + random.gauss(0, SPREAD))))
