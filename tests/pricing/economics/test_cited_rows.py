"""Rows of facts/economics.md §0–§7 that no other test computes: input as cited, result as cited."""

import itertools
from decimal import Decimal
from fractions import Fraction
from math import exp, log
from statistics import NormalDist, fmean, pvariance

import numpy as np
import pyarrow.parquet as pq
import pytest

from metering.store.connect import open_store
from pricing.cache_economics import Compute, break_even_kappa
from pricing.capacity import pair_requests_per_second
from pricing.economics import cost_per_million_tokens, gross_margin
from pricing.formula import Throughput, TokenPrices, window_revenue
from pricing.hit_curve import RequestBlocks, hit_curve, runs_of
from pricing.kv_transfer import egress_gbps, latent_kv_bytes_per_token
from pricing.plausibility import burst_tokens_per_second, compute_share
from pricing.price_key import PriceKey
from pricing.queueing import mean_wait_seconds
from pricing.rating import Counts, charges, split_tokens

MONTH = 30 * 86_400
GLM = TokenPrices(input_price=8, cached_price=2)
T_MIXED, T_64K = Fraction("83670.6"), Fraction("95920.5")


def month(ratio, tokens=T_MIXED):
    """CNY of 30 days at 8/2."""
    load = Throughput(input_tokens_per_second=tokens, hit_ratio=Fraction(ratio))
    return window_revenue(MONTH, load, prices=GLM).total


@pytest.mark.parametrize(("ratio", "factor"), [("1", 1 - 0.2308), ("0", 3.077)])
def test_what_a_wrong_hit_ratio_bills(ratio, factor):
    """§0.5: r → 1 under-bills by 23.08 %; missing as 0 over-bills ×3.077."""
    assert float(month(ratio) / month("0.9")) == pytest.approx(factor, abs=5e-4)


def test_the_cached_line_of_the_anchor():
    """§0.4: 69.2 % of 563,872.91 is the cached line; §1.1: the missed line is 30.77 %."""
    load = Throughput(input_tokens_per_second=T_MIXED, hit_ratio=Fraction("0.9"))
    earned = window_revenue(MONTH, load, prices=GLM)
    assert float(earned.uncached / earned.total) == pytest.approx(0.3077, abs=5e-5)


def test_a_point_of_hits_with_traffic_fixed():
    """§0.3: −13.0 万 per +0.1."""
    assert float(month("1") - month("0.9")) == pytest.approx(-130_000, abs=200)


def test_what_the_white_papers_throughput_would_be_cold():
    """§1.3: cold C 32,000 needs r 0.67; r 0.9 means C 9,592, 9.6 % of peak; 2.6 to 3.0 times the
    vendor's 8 · 4,000; 2.25 times what white paper 2's longest TTFT allows."""
    assert float(1 - 32_000 / T_64K) == pytest.approx(0.67, abs=5e-3)
    assert float(
        Compute(uncached_tokens_per_second=9_592, kappa=0).throughput(Fraction("0.9"))
    ) == (pytest.approx(95_920.5, rel=1e-4))
    linear = compute_share(
        tokens_per_second=T_64K,
        hit_ratio=Fraction("0.9"),
        active_parameters=40 * 10**9,
        peak_flops_per_second=8 * 10**15,
    )
    assert float(linear) == pytest.approx(0.096, abs=5e-4)
    assert [float(t / (8 * 4_000)) for t in (T_MIXED, T_64K)] == pytest.approx([2.6, 3.0], abs=0.02)
    longest = burst_tokens_per_second(
        requests=16, prompt_tokens=131_072, last_ttft_seconds=Fraction("14.1"), servers=4
    )
    assert float(T_MIXED / longest) == pytest.approx(2.25, abs=5e-3)


def test_money_beyond_64_bits_stays_exact():
    """§1.5: 1.15e12 tokens × 8e6 pCNY leaves int64; a month of all misses is 1.7e18 pCNY."""
    store = open_store(None)
    cursor = store.cursor()
    one = "SELECT charge(1150000000001, 8::DECIMAL(18, 9))"
    fleet = "SELECT sum(charge(216874195200, 8::DECIMAL(18, 9))) FROM range(1000)"
    found = [cursor.execute(query).fetchone()[0] for query in (one, fleet)]
    store.close()
    assert found == [Decimal("9200000.000008"), Decimal("1734993561.6")]
    assert pytest.approx(1.7e18, rel=0.03) == 216_874_195_200 * 8 * 10**6


def test_pi_2148():
    """§1.6.2: 20,212 in of which 16,298 cached, 931 out: $0.0056 right, $0.0137 wrong.

    0.50/0.05/3.00 per million are the round prices that give both published sums.
    """
    price = PriceKey(
        currency="USD",
        book="b",
        book_revision="1",
        entry="e",
        input_price=Decimal("0.50"),
        cached_price=Decimal("0.05"),
        output_price=Decimal("3.00"),
    )
    said = Counts(input_tokens=20_212, cached_tokens=16_298, output_tokens=931)
    billed = sum(amount for *_, amount in charges(split_tokens(said), price))
    assert round(billed, 4) == Decimal("0.0056")
    wrong = billed + 16_298 * Decimal("0.50") / 10**6  # cached tokens billed at both prices
    assert round(wrong, 4) == Decimal("0.0137")


@pytest.mark.parametrize(("tokens", "times"), [(1_190, 3_502), (3_390, 1_229)])
def test_agents_need_thousands_of_times_more_tokens(tokens, times):
    """§2c: 4,167,850 tokens per agentic task against 1,190 and 3,390."""
    assert 4_167_850 / tokens == pytest.approx(times, abs=0.6)


@pytest.mark.parametrize(
    ("pairs", "batch", "user", "gpus", "computed", "published"),
    [
        (4, 60, "120.23", 8, 812.98, 812.92),
        (4, 52, "125.26", 8, 749.05, 750.55),
        (4, 44, "128.44", 8, 649.91, 651.19),
        (12, 168, "122.69", 32, 592.6, 593.79),
    ],
)
def test_aiconfigurators_table(pairs, batch, user, gpus, computed, published):
    """§2j, Qwen3-32B on 32 H200, TTFT 276.76 ms; tokens/s/user from the README's table.

    12P3D holds 3 · 56 sequences on 24 of 32 GPUs, and the tool divides by all 32.
    """
    requests = pair_requests_per_second(
        prefill_workers=pairs,
        ttft_seconds=Fraction("0.27676"),
        decode_batch=batch,
        tokens_per_second_per_user=Fraction(user),
        output_tokens=500,
    )
    per_gpu = float(requests * 500 / gpus)
    assert per_gpu == pytest.approx(computed, abs=0.05)
    assert per_gpu == pytest.approx(published, rel=2.1e-3)


@pytest.mark.parametrize(
    ("load", "arrivals", "service", "factor"),
    [(0.9, 1, 0, 5.5), (0.5, 1, 0, 1.5), (0.5, 1, 1, 2.0), (0.9, 0.18, 0, 1.81)],
)
def test_ttft_queue_factor(load, arrivals, service, factor):
    """§2j: 1 + ρ(ca² + cs²)/(2(1 − ρ)) is one server's Allen–Cunneen over its service time."""
    wait = mean_wait_seconds(
        1,
        arrivals_per_second=load,
        service_seconds=1,
        arrival_variation=arrivals,
        service_variation=service,
    )
    assert 1 + wait == pytest.approx(factor, abs=5e-3)


def truncated(low, high, mu=9.90):
    """Probability and mean of a lognormal (σ = 1) within [low, high], of all within [128, 128K]."""
    unit = NormalDist()

    def mass(shift, start, end):
        return unit.cdf(log(end) - mu - shift) - unit.cdf(log(start) - mu - shift)

    share = mass(0, low, high)
    return share, mass(1, low, high) / share * exp(mu + 0.5)


@pytest.mark.parametrize("kilo", [1_000, 1_024])
def test_prfaas_workload(kilo):
    """§2b3: mean 27.3–27.5k, P(L > 19.4K) 0.486–0.495 (published 0.496), l_long 44.8–45.6k."""
    whole, mean = truncated(128, 128 * kilo)
    longer, long_mean = truncated(19.4 * kilo, 128 * kilo)
    assert 27_250 <= mean <= 27_550
    assert 0.4855 <= longer / whole <= 0.4955
    assert 44_750 <= long_mean <= 45_650


LENGTHS = (1, 8, 32, 128)  # Ki tokens of the published table
SECONDS, MEBIBYTES = (0.44, 0.72, 1.84, 7.40), (190.8, 308.9, 701.3, 2316.3)


@pytest.mark.parametrize(
    ("kilo", "linear", "quadratic", "egress"),
    [(1_000, 1.5885, 1.6549, 12.13), (1_024, 1.5605, 1.6282, 12.31)],
)
def test_prfaas_throughput_and_egress(kilo, linear, quadratic, egress):
    """§2b3: four prefill instances at l_long do 1.56–1.65 requests/s (published 1.61); at 1.61
    requests/s their KV is 12.1–12.3 Gbit/s (published about 13)."""
    length = truncated(19.4 * kilo, 128 * kilo)[1] / 1_024
    curved = np.polyval(np.polyfit(LENGTHS, SECONDS, 2), length)
    found = [4 / np.interp(length, LENGTHS, SECONDS), 4 / curved]
    assert found == pytest.approx([linear, quadratic], abs=5e-4)
    assert all(1.56 <= rate < 1.655 for rate in found)
    kv_bytes = float(np.interp(length, LENGTHS, MEBIBYTES)) * 2**20
    assert float(egress_gbps(Fraction(kv_bytes), Fraction(100, 161))) == (
        pytest.approx(egress, abs=5e-3)
    )


def test_prfaas_at_equal_cost():
    """§2b3: 54 % more from 32 H200 + 64 H20 than from 96 H20 is 15 % at equal cost: ratio 2.02."""
    ratio = (1.54 / 1.15 * 96 - 64) / 32
    assert ratio == pytest.approx(2.02, abs=5e-3)


@pytest.mark.parametrize(("name", "mean"), [("conversation", 0.40938), ("synthetic", 0.43152)])
def test_mean_of_requests_is_not_the_hit_ratio(shared, name, mean):
    """§2d2, §0.6: the mean of the requests' own ratios, against the token-weighted one."""
    columns = pq.read_table(shared / f"data/traces/mooncake_{name}.parquet").to_pydict()
    known: set[int] = set()
    ratios, hits = [], 0
    for ids, tokens in zip(columns["hash_ids"], columns["input_length"], strict=True):
        hit = min(tokens, 512 * sum(block in known for block in ids))
        known.update(ids)
        ratios.append(hit / tokens)
        hits += hit
    assert fmean(ratios) == pytest.approx(mean, abs=5e-6)
    curve = hit_curve(
        [
            RequestBlocks("", runs_of(ids), tokens)
            for ids, tokens in zip(columns["hash_ids"], columns["input_length"], strict=True)
        ],
        block_tokens=512,
    )
    assert curve.cumulative[-1] == hits


def test_quantised_timestamps_are_bursty(shared):
    """§2d2: the conversation trace's raw gaps have ca² 9.20: its clock ticks every 3 s."""
    path = shared / "data/traces/mooncake_conversation.parquet"
    times = pq.read_table(path, columns=["timestamp_ms"])["timestamp_ms"].to_pylist()
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert pvariance(gaps) / fmean(gaps) ** 2 == pytest.approx(9.20, abs=0.01)


def test_token_factory_rent_against_own():
    """§2i: $1.66 of own cost against $2.00 of rent: 17.0 % (published 16.8)."""
    assert float(gross_margin(2, Fraction("1.66"))) == pytest.approx(0.17, abs=5e-4)


def test_opencost_utilisation_is_usage_over_allocation():
    """§2l: $1 of usage in $4 of allocation: 25 %."""
    assert 1 - gross_margin(4, 1) == Fraction(1, 4)


@pytest.mark.parametrize(("prefill", "gross"), [(2, "548257.97"), (4, "1096515.93")])
def test_system_revenue(prefill, gross):
    """§4.2: in : out 50 : 1 at U 0.4 and p_o 28: gross revenue of 2P4D and of 4P2D."""
    tokens = prefill * T_MIXED * MONTH * Fraction("0.4")
    revenue = prefill * month("0.9") * Fraction("0.4") + tokens / 50 * 28 / 10**6
    assert float(revenue) == pytest.approx(float(gross), abs=0.01)


@pytest.mark.parametrize("gross", ["56387.29", "112774.58", "225549.16", "563872.91"])
def test_gross_revenue_by_utilisation(gross):
    """§4.2 table, column gross R: U 0.1, 0.2, 0.4, 1."""
    used = {"56387.29": "0.1", "112774.58": "0.2", "225549.16": "0.4", "563872.91": "1"}[gross]
    assert float(month("0.9") * Fraction(used)) == pytest.approx(float(gross), abs=0.005)


def test_index_cache_of_sparse_attention():
    """§5.4: at most 132 B × 78 layers = 10,296 B a token beside the KV."""
    assert latent_kv_bytes_per_token(132, 78) == 10_296


@pytest.mark.parametrize(
    ("miss", "hit", "kappa"),
    [("0.95", "0.16", 0.168), ("5", "0.5", 0.1), ("1", "0.02", 0.02), ("3", "0.025", 0.00833)],
)
def test_break_even_kappas_of_price_lists(miss, hit, kappa):
    """§7.1: Kimi K2.6, Anthropic's tenth, DeepSeek V4-flash and V4-pro in CNY."""
    prices = TokenPrices(input_price=Decimal(miss), cached_price=Decimal(hit))
    assert float(break_even_kappa(prices)) == pytest.approx(kappa, abs=5e-4)


def test_effective_price_is_by_the_customers_own_tokens():
    """§1.2: 30-day tokens at the anchor cost 563,872.91: 2.60 CNY a million."""
    assert cost_per_million_tokens(month("0.9"), T_MIXED * MONTH) == Fraction("2.6")
