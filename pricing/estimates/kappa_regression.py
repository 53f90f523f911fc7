"""κ measured: what a cached token costs in server time, by regression of prefill seconds.

Least squares of prefill seconds on requests, uncached tokens, uncached tokens × context, and cached
tokens, each row weighted by its requests; errors are robust to unequal variance. Estimates in
float (docs/formulas.md §9.3).
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
COEFFICIENTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """Rows of prefill work: sums over `requests` requests of similar shape (1 each: single ones).

    uncached_tokens, cached_tokens: sums; prefill_seconds: sum of computation, without queueing.
    """

    requests: ArrayLike
    uncached_tokens: ArrayLike
    cached_tokens: ArrayLike
    prefill_seconds: ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class KappaEstimate:
    """κ with its interval at `confidence` (0–1), for prompts of `context_tokens` mean context.

    seconds_per_request: fixed part; seconds_per_uncached_token at that context;
    seconds_per_cached_token; explained_ratio: R², 0–1; kappa_floor: κ by KV bandwidth alone.
    """

    kappa: float
    kappa_low: float
    kappa_high: float
    confidence: float
    context_tokens: float
    seconds_per_request: float
    seconds_per_uncached_token: float
    seconds_per_cached_token: float
    explained_ratio: float
    rows: int
    kappa_floor: float | None = None

    @property
    def uncached_tokens_per_second(self) -> float:
        """C: uncached tokens/s of a server at this context."""
        return 1 / self.seconds_per_uncached_token


def estimate_kappa(
    seen: Observations,
    *,
    context_tokens: float | None = None,
    confidence: float = 0.95,
    kv_seconds_per_token: float | None = None,
) -> KappaEstimate:
    """κ at `context_tokens` (default: the token-weighted mean) from the rows of `seen`.

    kv_seconds_per_token: KV bytes of a token ÷ bandwidth of its store: no κ can lie below the
    floor that follows. Raises ValueError where the rows cannot tell the terms apart.
    """
    design, seconds, context = _design(seen)
    coefficients, covariance = _weighted_least_squares(design, seconds)
    at = float(context if context_tokens is None else context_tokens)
    _, flat, by_context, cached = coefficients
    uncached = flat + by_context * at
    if uncached <= 0:
        raise ValueError(
            f"the fit gives {uncached:.3g} seconds per uncached token: take more or cleaner rows"
        )
    kappa = cached / uncached
    slope = np.array([0.0, -kappa, -kappa * at, 1.0]) / uncached  # delta method
    deviation = float(np.sqrt(slope @ covariance @ slope))
    margin = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
    residual = seconds - design @ coefficients
    return KappaEstimate(
        kappa=float(kappa),
        kappa_low=float(kappa - margin),
        kappa_high=float(kappa + margin),
        confidence=confidence,
        context_tokens=at,
        seconds_per_request=float(coefficients[0]),
        seconds_per_uncached_token=float(uncached),
        seconds_per_cached_token=float(cached),
        explained_ratio=float(1 - residual @ residual / (seconds @ seconds)),
        rows=len(seconds),
        kappa_floor=None if kv_seconds_per_token is None else kv_seconds_per_token / uncached,
    )


def _design(seen: Observations) -> tuple[Floats, Floats, float]:
    """Columns of the regression and seconds, scaled by 1/√requests, and the mean context.

    The context of an uncached token is the mean position in its prompt, cached part included:
    (input + cached) / 2, as attention work grows with it.
    """
    requests, uncached, cached, seconds = (
        np.asarray(column, dtype=np.float64)
        for column in (
            seen.requests,
            seen.uncached_tokens,
            seen.cached_tokens,
            seen.prefill_seconds,
        )
    )
    if len(seconds) <= COEFFICIENTS or not (requests > 0).all():
        raise ValueError(
            f"{COEFFICIENTS} coefficients need more rows, each of at least one request; "
            f"got {len(seconds)}"
        )
    context = (uncached + 2 * cached) / 2 / requests
    columns = np.column_stack([requests, uncached, uncached * context, cached])
    scale = 1 / np.sqrt(requests)
    mean = float(uncached @ context / max(uncached.sum(), 1.0))
    return columns * scale[:, None], seconds * scale, mean


def _weighted_least_squares(design: Floats, seconds: Floats) -> tuple[Floats, Floats]:
    """Coefficients and their heteroscedasticity-robust covariance (HC1)."""
    unit = np.linalg.norm(design, axis=0)
    if not unit.all() or np.linalg.matrix_rank(design / unit) < COEFFICIENTS:
        raise ValueError(
            "the rows do not vary enough to tell requests, uncached and cached tokens apart: "
            "take days with different prompt and prefix lengths"
        )
    scaled = design / unit
    inverse = np.linalg.inv(scaled.T @ scaled)
    coefficients = inverse @ scaled.T @ seconds
    residual = seconds - scaled @ coefficients
    rows = len(seconds)
    meat = (scaled * residual[:, None] ** 2).T @ scaled * rows / (rows - COEFFICIENTS)
    covariance = inverse @ meat @ inverse
    return coefficients / unit, covariance / np.outer(unit, unit)
