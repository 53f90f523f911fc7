"""Monte Carlo: the reference run of facts/economics.md §4.2, and every path held to the core."""

from dataclasses import replace

import numpy as np
import pytest

from pricing.estimates.monte_carlo import Distribution, draws, npv_paths, simulate
from pricing.sensitivity import case_npv

SEED = 20260822
DRIVERS = {
    "utilization": Distribution("triangular", (0.2, 0.4, 0.6)),
    "price_erosion_per_year": Distribution("uniform", (0.2, 0.4)),
    "hit_ratio": Distribution("normal", (0.9, 0.03)),
}


def test_reference_run(synth):
    """5,000 paths, PCG64: mean 697,750 (se 17,201), P(NPV<0) 0.3028; within 3 standard errors."""
    found = simulate(synth["B"], DRIVERS, paths=5_000, seed=SEED)
    assert found.mean == pytest.approx(697_750, abs=3 * 17_201)
    assert found.standard_error == pytest.approx(17_201, rel=0.05)
    assert found.loss_probability == pytest.approx(0.3028, abs=3 * 0.0065)
    for name, value in (("p5", -1_155_971), ("p50", 615_442), ("p95", 2_874_575)):
        assert getattr(found, name) == pytest.approx(value, abs=200_000)


def test_case_c_always_loses(synth):
    """§4.2: n = 4,000 around C: P(NPV < 0) = 1."""
    assert simulate(synth["C"], DRIVERS, paths=4_000, seed=SEED).loss_probability == 1


def test_the_seed_repeats_the_run(synth):
    """Same seed, same figures; another seed, others."""
    first, again = (simulate(synth["B"], DRIVERS, paths=100, seed=1) for _ in range(2))
    assert first == again
    assert simulate(synth["B"], DRIVERS, paths=100, seed=2).mean != first.mean


def test_every_path_is_the_cores_npv(synth):
    """The vectorised value equals pricing.roi for each drawn case (the core is the oracle)."""
    drivers = DRIVERS | {
        "price_input": Distribution("uniform", (4, 8)),
        "investment": Distribution("normal", (2.7e6, 1e5)),
        "opex_factor": Distribution("uniform", (0.8, 1.2)),
    }
    drawn = draws(drivers, paths=20, seed=SEED)
    values = npv_paths(synth["B"], drawn, 20)
    for index in range(20):
        fields = {name: float(column[index]) for name, column in drawn.items()}
        factor = fields.pop("opex_factor")
        opex = {name: amount * factor for name, amount in synth["B"].opex_per_month.items()}
        case = replace(synth["B"], opex_per_month=opex, **fields)
        assert values[index] == pytest.approx(case_npv(case), rel=1e-9)


def test_draws_stay_possible():
    """A hit ratio above 1 or a negative price is cut to what can be."""
    wild = {
        "hit_ratio": Distribution("normal", (0.9, 1)),
        "price_input": Distribution("normal", (0, 1)),
    }
    drawn = draws(wild, paths=1_000, seed=3)
    assert 0 <= drawn["hit_ratio"].min() <= drawn["hit_ratio"].max() <= 1
    assert drawn["price_input"].min() == 0


def test_a_point_is_a_distribution():
    """Triangular (2, 2, 2) always gives 2."""
    drawn = Distribution("triangular", (2, 2, 2)).draw(np.random.default_rng(0), 4)
    assert drawn.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("shape", "parameters", "message"),
    [
        ("beta", (1, 2), "expected triangular"),
        ("uniform", (1,), "takes 2 numbers"),
        ("uniform", (2, 1), "rising"),
        ("normal", (1, -1), "deviation of 0 or more"),
    ],
)
def test_impossible_distributions_are_refused(shape, parameters, message):
    """Each message says what was expected."""
    with pytest.raises(ValueError, match=message):
        Distribution(shape, parameters)


@pytest.mark.parametrize(
    ("drivers", "paths", "message"),
    [({}, 1, "paths must lie"), ({"name": DRIVERS["hit_ratio"]}, 10, "cannot draw 'name'")],
)
def test_impossible_runs_are_refused(synth, drivers, paths, message):
    """One path has no standard error; a name cannot vary."""
    with pytest.raises(ValueError, match=message):
        simulate(synth["B"], drivers, paths=paths, seed=1)
