"""How many servers a demand needs: whole instances, mixed hardware, room for a loss (docs §12).

Throughputs in tokens/s, shares and utilisation 0–1; exact fractions, rounded up to instances at
the end. A screen, not a simulation: bursts, routing and batching need one.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from pricing.formula import Exact

# what a planner keeps of a profiled rate, AIConfigurator's docs/advanced_tuning.md
PREFILL_DERATING = Fraction(9, 10)
DECODE_DERATING = Fraction(92, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPlan:
    """A pool to be sized. tokens_per_second: demand; per_server: equivalent throughput of one.

    target_utilization: share of it that demand may take. servers_per_instance: servers that hold
    the model together. spare_instances: instances that may fail without missing the target.
    """

    tokens_per_second: Exact
    per_server: Exact
    target_utilization: Exact
    servers_per_instance: int = 1
    spare_instances: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.target_utilization <= 1:
            raise ValueError(f"target_utilization must lie in 0..1, got {self.target_utilization}")
        if self.per_server <= 0 or self.tokens_per_second < 0:
            raise ValueError("per_server must be above 0 and the demand not negative, in tokens/s")
        if self.servers_per_instance < 1 or self.spare_instances < 0:
            raise ValueError("an instance has at least 1 server and spares are 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The answer: servers as a fraction, then whole instances and their servers.

    utilization: of all servers, 0–1; utilization_after_loss: with one instance gone, None where
    none would be left (above 1: the demand is not met).
    """

    servers_exact: Fraction
    instances: int
    servers: int
    utilization: Fraction
    utilization_after_loss: Fraction | None


def size_pool(plan: PoolPlan) -> Sizing:
    """Servers = demand ÷ (throughput × target utilisation), up to whole instances, plus spares."""
    exact = Fraction(plan.tokens_per_second) / (
        Fraction(plan.per_server) * Fraction(plan.target_utilization)
    )
    instances = ceil(exact / plan.servers_per_instance) + plan.spare_instances
    servers = instances * plan.servers_per_instance
    needed = Fraction(plan.tokens_per_second) / Fraction(plan.per_server)
    left = servers - plan.servers_per_instance
    return Sizing(
        servers_exact=exact,
        instances=instances,
        servers=servers,
        utilization=needed / servers if servers else Fraction(0),
        utilization_after_loss=needed / left if left > 0 else None,
    )


def servers_per_instance(weight_bytes: Exact, memory_bytes_per_server: Exact) -> int:
    """Smallest number of servers whose device memory holds the weights alone."""
    return ceil(Fraction(weight_bytes) / Fraction(memory_bytes_per_server))


def prefill_seconds(
    *,
    uncached_tokens: Exact,
    cached_tokens: Exact,
    tokens_per_second: Exact,
    kappa: Exact,
    fixed_seconds: Exact = 0,
) -> Fraction:
    """Service time of a prompt in seconds: u/C + κ·h/C + s₀, C in uncached tokens per second."""
    work = Fraction(uncached_tokens) + Fraction(kappa) * Fraction(cached_tokens)
    return work / Fraction(tokens_per_second) + Fraction(fixed_seconds)


def decode_seats(
    memory_bytes: Exact, reserved_bytes: Exact, sequence_tokens: Exact, kv_bytes_per_token: Exact
) -> int:
    """Number of sequences that fit beside weights and overhead, all in bytes.

    sequence_tokens: mean KV length, input plus half of the output.
    """
    free = Fraction(memory_bytes) - Fraction(reserved_bytes)
    return max(0, int(free / (Fraction(sequence_tokens) * Fraction(kv_bytes_per_token))))


def decode_servers(
    requests_per_second: Exact,
    *,
    output_tokens: Exact,
    tpot_seconds: Exact,
    seats: int,
    headroom: Exact,
) -> tuple[Fraction, int]:
    """Sequences under way (Little: λ·o·TPOT) and servers for them, a whole number.

    seats: the smaller of what memory and TPOT allow; headroom: share of the seats used, 0–1.
    """
    concurrent = Fraction(requests_per_second) * Fraction(output_tokens) * Fraction(tpot_seconds)
    return concurrent, ceil(concurrent / (seats * Fraction(headroom)))


@dataclass(frozen=True, slots=True)
class Replacement:
    """Slower servers in the place of faster ones: what they amount to, and whether they cover them.

    fast_equivalents: in units of the faster server; covered: at least as many as replaced;
    shortfall: missing share, 0–1; slower_by: how many times longer one prefill takes.
    """

    fast_equivalents: Fraction
    covered: bool
    shortfall: Fraction
    slower_by: Fraction


def replacement(slow_servers: int, fast_servers: int, equivalence: Exact) -> Replacement:
    """`slow_servers` for `fast_servers` at an equivalence ratio e (pricing.context_mix), 0–1.

    Equal throughput is not equal latency: each prefill still takes 1/e times as long.
    """
    worth = slow_servers * Fraction(equivalence)
    missing = max(Fraction(0), 1 - worth / fast_servers)
    return Replacement(worth, worth >= fast_servers, missing, 1 / Fraction(equivalence))


def replacement_pays(slow_cost: Exact, fast_cost: Exact, equivalence: Exact) -> bool:
    """Whether a slower server costs less per throughput, both costs in one currency and window."""
    return Fraction(slow_cost) < Fraction(equivalence) * Fraction(fast_cost)


def prefill_to_decode_ratio(
    prefill_load: Exact, prefill_utilization: Exact, decode_load: Exact, decode_utilization: Exact
) -> Fraction:
    """P : D as one number, from the busy servers of each and the utilisation (0–1) allowed."""
    prefill = Fraction(prefill_load) / Fraction(prefill_utilization)
    return prefill / (Fraction(decode_load) / Fraction(decode_utilization))


def pair_requests_per_second(
    *,
    prefill_workers: int,
    ttft_seconds: Exact,
    decode_batch: int,
    tokens_per_second_per_user: Exact,
    output_tokens: Exact,
) -> Fraction:
    """Requests per second of prefill workers and one decode worker, the slower side deciding.

    Profiled rates are derated by 0.9 (prefill) and 0.92 (decode) as AIConfigurator does.
    """
    prefill = PREFILL_DERATING * prefill_workers / Fraction(ttft_seconds)
    decode = DECODE_DERATING * decode_batch * Fraction(tokens_per_second_per_user)
    return min(prefill, decode / Fraction(output_tokens))


def split_site_requests_per_second(
    *, remote: Exact, local_prefill: Exact, local_decode: Exact, remote_share: Exact
) -> Fraction:
    """Λ = min(Θ_remote/p, Θ_prefill/(1−p), Θ_decode), all in requests per second.

    remote_share: share p (0–1) of the prompts that another site prefills (PrfaaS).
    """
    share = Fraction(remote_share)
    return min(
        Fraction(remote) / share, Fraction(local_prefill) / (1 - share), Fraction(local_decode)
    )
