"""Sizing: whole instances, replacement of hardware, white paper 2 (facts/economics.md §5, §2)."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.capacity import (
    PoolPlan,
    decode_seats,
    decode_servers,
    pair_requests_per_second,
    prefill_seconds,
    prefill_to_decode_ratio,
    replacement,
    replacement_pays,
    servers_per_instance,
    size_pool,
    split_site_requests_per_second,
)

GB = 10**9


def plan(**change):
    """1,280,000 tok/s on servers of 83,670.6 at 80 %."""
    fields = {
        "tokens_per_second": 1_280_000,
        "per_server": Fraction("83670.6"),
        "target_utilization": Fraction("0.8"),
    }
    return PoolPlan(**(fields | change))


def test_whole_instances():
    """1,280,000 / 66,936.48 = 19.12 servers: 20, or 10 instances of two."""
    sizing = size_pool(plan(servers_per_instance=2))
    assert float(sizing.servers_exact) == pytest.approx(19.1226, abs=5e-5)
    assert (sizing.instances, sizing.servers) == (10, 20)
    assert float(sizing.utilization) == pytest.approx(0.764904, abs=5e-7)


def test_a_spare_instance_survives_a_loss():
    """N + 1: with one instance gone the pool still stands below its target."""
    sizing = size_pool(plan(servers_per_instance=2, spare_instances=1))
    assert sizing.servers == 22
    assert sizing.utilization_after_loss <= Fraction("0.8")


@given(st.integers(0, 10**8), st.integers(1, 10**6), st.integers(1, 100), st.integers(1, 8))
def test_the_target_holds_and_one_less_breaks_it(demand, rate, percent, unit):
    """Property: the smallest number of whole instances that keeps the target."""
    target = Fraction(percent, 100)
    sizing = size_pool(
        PoolPlan(
            tokens_per_second=demand,
            per_server=rate,
            target_utilization=target,
            servers_per_instance=unit,
        )
    )
    assert sizing.servers * rate * target >= demand
    assert max(sizing.servers - unit, 0) * rate * target < demand or demand == 0


def test_the_last_instance_cannot_be_lost():
    """One instance without a spare: after its loss nothing is left, which is no number."""
    assert size_pool(plan(tokens_per_second=1)).utilization_after_loss is None


@pytest.mark.parametrize(
    "change",
    [
        {"target_utilization": 0},
        {"per_server": 0},
        {"tokens_per_second": -1},
        {"servers_per_instance": 0},
        {"spare_instances": -1},
    ],
)
def test_impossible_plans_are_refused(change):
    """A target of 0 would need endless servers."""
    with pytest.raises(ValueError, match=r"must|has at least"):
        plan(**change)


def test_deepseek_prefill_to_decode():
    """§2a2: 95.48 : 131.38 = 0.727 at equal utilisation."""
    assert float(
        prefill_to_decode_ratio(Fraction("95.48"), 1, Fraction("131.38"), 1)
    ) == pytest.approx(0.727, abs=5e-4)


def test_models_that_need_two_servers():
    """§0.8: GLM-5.2 744 GB and K2.6 1.04 TB on 8 × 80 GB: two each; 13 cards for K2.6."""
    assert servers_per_instance(744 * GB, 640 * GB) == 2
    assert servers_per_instance(1_040 * GB, 640 * GB) == 2
    assert servers_per_instance(1_040 * GB, 80 * GB) == 13


def test_prefill_service_of_synth_cap():
    """§5.1: 6,400/32,000 + 0.02·57,600/32,000 + 0.05 = 0.286 s; 20/s are 5.72 busy servers."""
    seconds = prefill_seconds(
        uncached_tokens=6_400,
        cached_tokens=57_600,
        tokens_per_second=32_000,
        kappa=Fraction("0.02"),
        fixed_seconds=Fraction("0.05"),
    )
    assert seconds == Fraction("0.286")
    assert 20 * seconds == Fraction("5.72")


def test_decode_of_synth_cap():
    """§5.1: 3.300 GB per sequence, 304 GB free: 92 seats; 400 at once: 4.35 → 6 servers at 0.8."""
    seats = decode_seats(8 * 141 * GB, (744 + 80) * GB, 64_500, 51_168)
    assert seats == 92
    concurrent, servers = decode_servers(
        20,
        output_tokens=1_000,
        tpot_seconds=Fraction("0.02"),
        seats=seats,
        headroom=Fraction("0.8"),
    )
    assert (concurrent, servers) == (400, 6)
    assert float(concurrent / seats) == pytest.approx(4.35, abs=5e-3)
    assert decode_seats(1, 2, 1, 1) == 0


@pytest.mark.parametrize(
    ("equivalence", "worth", "covered", "slower"),
    [("0.46", "1.84", False, 2.17), ("0.50", "2", True, 2.0), ("0.54", "2.16", True, 1.85)],
)
def test_white_paper_2(equivalence, worth, covered, slower):
    """4 S5000 for 2 HXXX at 46 % to 54 % per card: covered only from 50 % on."""
    found = replacement(4, 2, Fraction(equivalence))
    assert (found.fast_equivalents, found.covered) == (Fraction(worth), covered)
    assert float(found.slower_by) == pytest.approx(slower, abs=5e-3)


def test_short_by_8_percent():
    """At 0.46 four replace 1.84 of two: 8 % are missing."""
    assert replacement(4, 2, Fraction("0.46")).shortfall == Fraction("0.08")


def test_replacement_pays_below_its_equivalence():
    """A server at half the throughput pays only below half the cost."""
    assert replacement_pays(49, 100, Fraction("0.5"))
    assert not replacement_pays(50, 100, Fraction("0.5"))


def test_aiconfigurator(shared):
    """§2j: 812.98 tok/s per GPU (published 812.92), prefill-bound; vectors aic."""
    row = json.loads((shared / "facts/vectors.json").read_text())["aic"]
    requests = pair_requests_per_second(
        prefill_workers=row["x"],
        ttft_seconds=Fraction(str(row["ttft_s"])),
        decode_batch=60,
        tokens_per_second_per_user=Fraction("120.23"),
        output_tokens=row["osl"],
    )
    per_gpu = float(requests * row["osl"] / row["gpus"])
    assert per_gpu == pytest.approx(row["tok_s_gpu"], rel=1e-12)
    assert per_gpu == pytest.approx(row["published"], rel=1e-4)


def test_prfaas_throughput(shared):
    """§2b2: min(1.61/0.496, 1.64/0.504, 3.91) = 3.246 (published 3.24)."""
    found = split_site_requests_per_second(
        remote=Fraction("1.61"),
        local_prefill=Fraction("1.64"),
        local_decode=Fraction("3.91"),
        remote_share=Fraction("0.496"),
    )
    vector = json.loads((shared / "facts/vectors.json").read_text())["prfaas"]
    assert float(found) == pytest.approx(vector["lambda"], rel=1e-14)


@pytest.mark.parametrize(
    ("first", "second", "ratio"),
    [("3.24", "2.11", 1.5355), ("3.24", "2.45", 1.3224), ("2.45", "2.11", 1.161)],
)
def test_prfaas_gains(first, second, ratio):
    """§2b2: ratios of published requests per second, as fast equivalents of one another."""
    found = 1 / replacement(1, 1, Fraction(second) / Fraction(first)).fast_equivalents
    assert float(found) == pytest.approx(ratio, abs=6e-4)
