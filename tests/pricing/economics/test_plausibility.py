"""Checks of figures people bring: facts/economics.md §0.10, §1.3, §8."""

from fractions import Fraction

import pytest

from pricing.plausibility import (
    burst_tokens_per_second,
    compute_share,
    memory_finding,
    shares_finding,
    speed_finding,
    throughput_finding,
)

PEAK = 8 * 10**15  # 8 devices of 1,000 TFLOPS
GB = 10**9


def share(rate, hit_ratio=0, active=40 * GB, peak=PEAK):
    """Share of peak FLOPs of a claimed throughput; GLM-5.2 has 40 B active parameters."""
    return compute_share(
        tokens_per_second=Fraction(rate),
        hit_ratio=hit_ratio,
        active_parameters=active,
        peak_flops_per_second=peak,
    )


@pytest.mark.parametrize(("rate", "percent"), [("95920.5", 0.959), ("83670.6", 0.837)])
def test_white_paper_1_cannot_be_cold(rate, percent):
    """2·40e9·95,920.5 is 95.9 % of peak: the throughput holds hits, the ratio is not stated."""
    assert float(share(rate)) == pytest.approx(percent, abs=5e-4)
    assert "hit ratio" in throughput_finding(share(rate))
    assert throughput_finding(share(rate, hit_ratio=Fraction("0.9"))) is None


@pytest.mark.parametrize(
    ("rate", "peak", "percent"),
    [
        (52_300, 8 * 1979 * 10**12, 0.244),
        (32_000, PEAK, 0.296),
        ("32243.75", 8 * 1979 * 10**12, 0.151),
    ],
)
def test_what_published_fleets_reach(rate, peak, percent):
    """SGLang 24.4 %, S5000 with DeepSeek-V3 29.6 %, DeepSeek's fleet 15.1 % (37 B active)."""
    assert float(share(rate, active=37 * GB, peak=peak)) == pytest.approx(percent, abs=6e-4)


@pytest.mark.parametrize(("prompt", "rate"), [(131_072, 37_183), (128_000, 36_312)])
def test_white_paper_2_worst_ttft(prompt, rate):
    """16 prompts of 128K in 14.1 s on four servers: at most 36.3k to 37.2k tok/s each."""
    found = burst_tokens_per_second(
        requests=16, prompt_tokens=prompt, last_ttft_seconds=Fraction("14.1"), servers=4
    )
    assert float(found) == pytest.approx(rate, abs=1)


def test_tpot_and_speed_of_white_paper_2():
    """1/0.011 = 90.91 fits; 0.020 s and 40.00 tokens/s contradict: 1/0.020 = 50.00."""
    assert speed_finding(Fraction("0.011"), Fraction("90.91")) is None
    assert speed_finding(Fraction("0.025"), 40) is None
    finding = speed_finding(Fraction("0.020"), 40)
    assert finding == "TPOT 0.02 s and 40 tokens/s contradict each other: 1/0.02 = 50.00 tokens/s"


def test_weights_must_fit():
    """744 GB do not fit into 8 × 80 GB; they fit into two servers."""
    assert "744 GB do not fit into 640 GB" in memory_finding(744 * GB, 640 * GB)
    assert memory_finding(744 * GB, 1_280 * GB) is None


def test_shares_make_a_whole():
    """0.5 + 0.4 misses a tenth."""
    assert shares_finding([Fraction("0.5"), Fraction("0.4")]) == "shares sum to 0.9 instead of 1"
    assert shares_finding([Fraction(1, 3)] * 3) is None
