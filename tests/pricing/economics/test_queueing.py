"""Queueing screens: facts/economics.md §2e, §5.1, §5.2."""

import json

import pytest

from pricing.queueing import (
    constant_service_ttft_seconds,
    erlang_c,
    mean_wait_seconds,
    wait_percentile_seconds,
)


def test_erlang_c_vectors(shared):
    """facts/vectors.json: erlangC."""
    for servers, load, waiting in json.loads((shared / "facts/vectors.json").read_text())[
        "erlangC"
    ]:
        assert erlang_c(servers, load) == pytest.approx(waiting, rel=1e-12)


def test_exponential_wait():
    """M/M/2, λ 0.8, μ 0.5: 3.5555556 s."""
    wait = mean_wait_seconds(2, arrivals_per_second=0.8, service_seconds=2)
    assert wait == pytest.approx(3.5555556, abs=5e-8)


@pytest.mark.parametrize(
    ("servers", "waiting", "wait", "p99", "ttft"),
    [
        (6, 0.8743, 1.8932, 9.681, 2.179),
        (7, 0.5226, 0.2476, 1.874, 0.534),
        (8, 0.2950, 0.0785, 0.900, 0.364),
    ],
)
def test_prefill_pool_of_synth_cap(servers, waiting, wait, p99, ttft):
    """§5.1: 20 requests/s of 0.286 s, cs² 3.24."""
    mean = mean_wait_seconds(
        servers, arrivals_per_second=20, service_seconds=0.286, service_variation=3.24
    )
    probability = erlang_c(servers, 5.72)
    assert probability == pytest.approx(waiting, abs=5e-5)
    assert mean == pytest.approx(wait, abs=5e-5)
    assert wait_percentile_seconds(mean, probability, 0.99) == pytest.approx(p99, abs=5e-4)
    assert mean + 0.286 == pytest.approx(ttft, abs=6e-4)


@pytest.mark.parametrize(
    ("servers", "load", "variation", "mean", "p99"),
    [
        (1, 0.7, 0, 2.333, 14.16),
        (1, 0.7, 1, 4.667, 28.32),
        (4, 0.7, 1, 0.714, 6.26),
        (4, 0.8, 3.24, 3.161, 21.67),
        (8, 0.8, 3.24, 1.213, 10.13),
        (8, 0.85, 5, 2.863, 20.24),
        (16, 0.85, 3.24, 0.765, 6.66),
        (4, 0.9, 3.24, 8.350, 46.29),
    ],
)
def test_allen_cunneen_table(servers, load, variation, mean, p99):
    """§5.2, columns AC mean and AC P99 (service 2 s); the simulated columns come later."""
    wait = mean_wait_seconds(
        servers,
        arrivals_per_second=load * servers / 2,
        service_seconds=2,
        service_variation=variation,
    )
    assert wait == pytest.approx(mean, abs=6e-4)
    tail = wait_percentile_seconds(wait, erlang_c(servers, load * servers), 0.99)
    assert tail == pytest.approx(p99, abs=6e-3)


@pytest.mark.parametrize(
    ("equivalence", "load", "fast", "slow"),
    [
        (0.50, 0.3, 3.30, 6.08),
        (0.50, 0.6, 4.69, 7.08),
        (0.50, 0.8, 8.33, 10.47),
        (0.46, 0.8, 8.33, 15.61),
        (0.54, 0.8, 8.33, 8.20),
    ],
)
def test_four_slow_servers_for_two_fast_ones(equivalence, load, fast, slow):
    """§5.3: equal throughput, but a longer TTFT at light load (service 3 s on the fast one)."""
    rate = load * 2 / 3
    two = 3 + mean_wait_seconds(2, arrivals_per_second=rate, service_seconds=3)
    service = 3 / equivalence
    four = service + mean_wait_seconds(4, arrivals_per_second=rate, service_seconds=service)
    assert (two, four) == pytest.approx((fast, slow), abs=6e-3)


@pytest.mark.parametrize(
    ("service", "stages", "ttft"), [(2, 1, 3.0), (2, 2, 2.16667), (2 / 1.5, 1, 1.66667)]
)
def test_distserve_prefill(service, stages, ttft):
    """§2e: D 2 s, R 0.25/s: alone 3.0, two stages 2.16667, 1.5 times faster 1.66667."""
    assert constant_service_ttft_seconds(service, 0.25, stages=stages) == pytest.approx(
        ttft, abs=5e-6
    )


def test_few_waiters_have_no_tail():
    """Where fewer than 1 % wait at all, the P99 wait is 0."""
    assert wait_percentile_seconds(1.0, 0.005, 0.99) == 0


def test_an_overloaded_pool_has_no_answer():
    """At a load of its servers the queue grows for ever."""
    with pytest.raises(ValueError, match="below the servers"):
        erlang_c(2, 2)
