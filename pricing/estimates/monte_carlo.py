"""Monte Carlo of a case's NPV: many draws at once, with their seed and standard error.

Estimates in float. The draws come from PCG64 with a stated seed, so a result can be repeated; the
value of each path is that of pricing.roi, computed for all paths together (docs/roi.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metering.windows import MONTHS_PER_YEAR
from pricing.cash_flow import monthly_rate
from pricing.formula import TOKENS_PER_PRICE_UNIT
from pricing.roi import Case, month_seconds

PATHS_MAX = 1_000_000
DRAWN = (
    "utilization",
    "hit_ratio",
    "price_erosion_per_year",
    "input_tokens_per_second",
    "price_input",
    "price_cached",
    "price_output",
    "revenue_kept",
    "investment",
    "residual",
    "opex_factor",
)
RATIOS = {"utilization", "hit_ratio", "price_erosion_per_year", "revenue_kept"}

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Distribution:
    """How a driver varies: triangular (low, mode, high), uniform (low, high), normal (mean, sd).

    In the unit of the driver; ratios are cut to 0..1, everything else to 0 and above.
    """

    shape: str
    parameters: tuple[float, ...]

    def __post_init__(self) -> None:
        wanted = {"triangular": 3, "uniform": 2, "normal": 2}.get(self.shape)
        if wanted is None:
            raise ValueError(f"expected triangular, uniform or normal, got {self.shape!r}")
        if len(self.parameters) != wanted:
            raise ValueError(f"{self.shape} takes {wanted} numbers, got {len(self.parameters)}")
        ordered = list(self.parameters) == sorted(self.parameters)
        if self.shape != "normal" and not ordered:
            raise ValueError(f"{self.shape} needs rising numbers, got {list(self.parameters)}")
        if self.shape == "normal" and self.parameters[1] < 0:
            raise ValueError(f"normal needs a deviation of 0 or more, got {self.parameters[1]}")

    def draw(self, generator: np.random.Generator, paths: int) -> Floats:
        """`paths` draws in the driver's unit."""
        first, second = self.parameters[0], self.parameters[1]
        if self.shape == "uniform":
            return generator.uniform(first, second, size=paths)
        if self.shape == "normal":
            return generator.normal(first, second, size=paths)
        last = self.parameters[2]
        if first == last:
            return np.full(paths, first)
        return generator.triangular(first, second, last, size=paths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Distribution of NPV over the paths, in the case's currency; probability 0–1."""

    paths: int
    seed: int
    mean: float
    standard_error: float
    p5: float
    p50: float
    p95: float
    loss_probability: float


def simulate(
    case: Case, drivers: Mapping[str, Distribution], *, paths: int, seed: int
) -> Simulation:
    """NPV of `case` over `paths` independent draws of its drivers."""
    if not 1 < paths <= PATHS_MAX:
        raise ValueError(f"paths must lie in 2..{PATHS_MAX}, got {paths}")
    values = npv_paths(case, draws(drivers, paths=paths, seed=seed), paths)
    p5, p50, p95 = np.percentile(values, (5, 50, 95))
    return Simulation(
        paths=paths,
        seed=seed,
        mean=float(values.mean()),
        standard_error=float(values.std(ddof=1) / np.sqrt(paths)),
        p5=float(p5),
        p50=float(p50),
        p95=float(p95),
        loss_probability=float((values < 0).mean()),
    )


def draws(drivers: Mapping[str, Distribution], *, paths: int, seed: int) -> dict[str, Floats]:
    """Draws of each driver in its unit, in the order of the mapping, cut to what can be."""
    unknown = sorted(set(drivers) - set(DRAWN))
    if unknown:
        raise ValueError(f"cannot draw {unknown[0]!r}; drivers are {', '.join(DRAWN)}")
    generator = np.random.Generator(np.random.PCG64(seed))
    return {
        name: np.clip(distribution.draw(generator, paths), 0.0, 1.0 if name in RATIOS else None)
        for name, distribution in drivers.items()
    }


def npv_paths(case: Case, drawn: Mapping[str, Floats], paths: int) -> Floats:
    """NPV of each path, in the case's currency: pricing.roi's cash flows for all paths at once."""

    def value(name: str) -> Floats | float:
        found = drawn.get(name)
        return float(getattr(case, name)) if found is None else found

    ratio = value("hit_ratio")
    blended = (1 - ratio) * value("price_input") + ratio * value("price_cached")
    per_second = (
        value("input_tokens_per_second") * blended
        + case.output_tokens_per_second * value("price_output")
    ) / TOKENS_PER_PRICE_UNIT
    kept = value("utilization") * value("revenue_kept") / (1 + case.vat_rate)
    opex = case.opex * drawn.get("opex_factor", np.ones(paths))
    growth = (1 - value("price_erosion_per_year")) ** (1 / MONTHS_PER_YEAR)
    discount = 1 / (1 + monthly_rate(case.wacc))
    worth = np.zeros(paths)
    level: Floats | float = 1.0
    for index in range(1, case.months + 1):
        ramp = min(1.0, index / case.ramp_months)
        revenue = month_seconds(case, index) * per_second * kept * ramp * level
        worth += (revenue - opex) * discount**index
        level = level * growth
    worth += value("residual") * discount**case.months
    return np.asarray(worth - value("investment"), dtype=np.float64)
