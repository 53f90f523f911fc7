"""κ by regression: known coefficients come back, and the interval covers as often as it says."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from pricing.estimates.kappa_regression import Observations, estimate_kappa

FLAT, PER_CONTEXT, PER_CACHED, FIXED = 1 / 16_000, 1 / 16_000 / 64_000, 0.02 / 16_000, 0.05


def work(uncached, cached, noise=0.0, seed=0):
    """Prefill seconds of the service model of economics.md §5.2, with relative noise."""
    context = (uncached + 2 * cached) / 2
    seconds = FIXED + FLAT * uncached + PER_CONTEXT * uncached * context + PER_CACHED * cached
    generator = np.random.Generator(np.random.PCG64(seed))
    return seconds * (1 + noise * generator.standard_normal(len(seconds)))


def shapes(rows=400, seed=1):
    """Uncached and cached lengths of made-up prompts."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.uniform(100, 60_000, rows), generator.uniform(0, 60_000, rows)


def observed(uncached, cached, seconds, requests=None):
    """Rows of one request each, or of several."""
    ones = np.ones_like(seconds) if requests is None else requests
    return Observations(
        requests=ones, uncached_tokens=uncached, cached_tokens=cached, prefill_seconds=seconds
    )


def test_without_noise_the_coefficients_come_back():
    """κ = 0.02 at zero context, 0.01 at a context of 64,000 where a miss costs twice as much."""
    uncached, cached = shapes()
    seen = observed(uncached, cached, work(uncached, cached))
    at_zero = estimate_kappa(seen, context_tokens=0)
    assert at_zero.kappa == pytest.approx(0.02, rel=1e-6)
    assert at_zero.seconds_per_request == pytest.approx(0.05, rel=1e-6)
    assert at_zero.uncached_tokens_per_second == pytest.approx(16_000, rel=1e-6)
    assert estimate_kappa(seen, context_tokens=64_000).kappa == pytest.approx(0.01, rel=1e-6)
    assert at_zero.explained_ratio == pytest.approx(1)


def test_sums_of_equal_requests_say_the_same():
    """Rows that add five equal requests give the same κ as the requests themselves."""
    uncached, cached = shapes()
    seconds = work(uncached, cached)
    five = observed(5 * uncached, 5 * cached, 5 * seconds, np.full_like(seconds, 5))
    assert estimate_kappa(five, context_tokens=0).kappa == pytest.approx(0.02, rel=1e-6)


def test_the_interval_covers_as_often_as_it_says():
    """200 noisy data sets, 90 % intervals: between 80 % and 97 % hold the true κ (±4 σ)."""
    uncached, cached = shapes(300)
    covered = 0
    for seed in range(200):
        seconds = work(uncached, cached, noise=0.1, seed=seed)
        found = estimate_kappa(
            observed(uncached, cached, seconds), context_tokens=0, confidence=0.9
        )
        covered += found.kappa_low <= 0.02 <= found.kappa_high
    assert 160 <= covered <= 194


def test_on_the_lengths_of_a_real_trace(shared):
    """Mooncake's conversation lengths with the hits of half a prompt, 5 % noise: κ ≈ 0.02."""
    lengths = pq.read_table(shared / "data/traces/mooncake_conversation.parquet")["input_length"]
    tokens = lengths.to_numpy()[:3_000].astype(float)
    cached = np.floor(tokens / 2 / 512) * 512 * (np.arange(3_000) % 2)
    seconds = work(tokens - cached, cached, noise=0.05)
    found = estimate_kappa(observed(tokens - cached, cached, seconds), context_tokens=0)
    assert found.kappa_low <= 0.02 <= found.kappa_high
    assert found.kappa_high - found.kappa_low < 0.1


def test_the_floor_of_kv_bandwidth():
    """51,168 bytes at 40 GB/s are 1.28 µs: κ cannot be below 1.28e-6 · 16,000 = 0.02047."""
    uncached, cached = shapes()
    found = estimate_kappa(
        observed(uncached, cached, work(uncached, cached)),
        context_tokens=0,
        kv_seconds_per_token=51_168 / 40e9,
    )
    assert found.kappa_floor == pytest.approx(0.0204672, rel=1e-5)


def test_the_default_context_is_the_token_weighted_mean():
    """Equal prompts of 1,000 uncached after 500 cached: the middle of the new part is 1,000."""
    uncached, cached = shapes()
    found = estimate_kappa(observed(uncached, cached, work(uncached, cached)))
    context = (uncached + 2 * cached) / 2
    assert found.context_tokens == pytest.approx(np.average(context, weights=uncached))


@pytest.mark.parametrize(
    ("uncached", "cached", "message"),
    [
        ([1.0, 2, 3], [0.0, 1, 2], "need more rows"),
        ([10.0] * 9, [20.0] * 9, "do not vary enough"),
        ([1.0, 2, 3, 4, 5, 6], [0.0] * 6, "do not vary enough"),
    ],
)
def test_rows_that_cannot_tell_are_refused(uncached, cached, message):
    """Too few rows, equal prompts, or no hit at all: κ stays unknown, with the reason."""
    seconds = work(np.array(uncached), np.array(cached))
    with pytest.raises(ValueError, match=message):
        estimate_kappa(observed(np.array(uncached), np.array(cached), seconds))


def test_a_senseless_fit_is_refused():
    """Seconds that fall with the tokens give no server time per token."""
    uncached, cached = shapes(50)
    with pytest.raises(ValueError, match="cleaner rows"):
        estimate_kappa(observed(uncached, cached, 10 - uncached / 10_000), context_tokens=0)
