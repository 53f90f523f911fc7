"""Queueing screens for prefill pools: waiting time before a simulation is worth its effort.

Approximations, estimates in float: Allen–Cunneen overstates the mean by up to a quarter on bursty
prefill work, its exponential tail errs by about ±16 % at P99 (docs/formulas.md §12.3). Rates per
second, times in seconds.
"""

from math import log


def erlang_c(servers: int, load: float) -> float:
    """Probability of waiting, 0–1; load in Erlang (arrival rate × mean service seconds)."""
    if not 0 <= load < servers:
        raise ValueError(f"load must lie in 0..{servers} (below the servers), got {load}")
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def mean_wait_seconds(
    servers: int,
    *,
    arrivals_per_second: float,
    service_seconds: float,
    arrival_variation: float = 1.0,
    service_variation: float = 1.0,
) -> float:
    """Allen–Cunneen: C/(c·μ − λ) · (ca² + cs²)/2 seconds; exact for M/M/c and M/G/1.

    *_variation: squared coefficients of variation (1: exponential, 0: constant).
    """
    load = arrivals_per_second * service_seconds
    free_rate = servers / service_seconds - arrivals_per_second
    spread = (arrival_variation + service_variation) / 2
    return erlang_c(servers, load) / free_rate * spread


def wait_percentile_seconds(mean_wait: float, waiting: float, ratio: float) -> float:
    """Seconds not exceeded by `ratio` of requests, from an exponential tail: (W/C)·ln(C/(1−p)).

    waiting: probability of waiting at all, 0–1; 0 seconds where fewer than 1 − p wait.
    """
    if waiting <= 1 - ratio:
        return 0.0
    return mean_wait / waiting * log(waiting / (1 - ratio))


def constant_service_ttft_seconds(
    service_seconds: float, arrivals_per_second: float, *, stages: int = 1
) -> float:
    """Mean TTFT of one prefill instance with constant service (M/D/1), DistServe's formula.

    stages: pipeline stages (inter-operator parallelism); each holds a request D/stages seconds.
    """
    slot = service_seconds / stages
    return service_seconds + arrivals_per_second * slot**2 / (2 * (1 - arrivals_per_second * slot))
