"""How each numbered row of docs/formulas.md is computed again."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

from metering.windows import Window, day_window
from pricing import attribution as at
from pricing import cache_economics as ce
from pricing import capacity as ca
from pricing import capacity_game as game
from pricing import context_mix as mix
from pricing import cost_shares as cs
from pricing import economics as ec
from pricing import plausibility as pl
from pricing import price_scenario as ps
from pricing import queueing as qu
from pricing.calendar_time import ServicePeriod, seconds_in_service
from pricing.capital import (
    Asset,
    annuity,
    capital_recovery_factor,
    double_declining,
    straight_line,
    sum_of_years,
)
from pricing.energy import PowerDraw, Tariff, TariffBand, mean_price_per_kwh, nameplate_cost
from pricing.estimates.internal_rate import internal_rates
from pricing.formula import (
    Throughput,
    TokenPrices,
    blended_input_price,
    service_factor,
    window_revenue,
)
from pricing.hit_curve import RequestBlocks, hit_curve, runs_of
from pricing.kv_transfer import (
    egress_gbps,
    latent_kv_bytes_per_token,
    link_gbps,
    reload_bytes_per_second_floor,
)
from pricing.roi import cash_flows, flow_dates, outlook, steady_month
from pricing.server_economics import ServerWindow, together, worth
from pricing.slo import (
    Bucket,
    Weight,
    error_budget_minutes,
    token_attainment,
    window_mean_availability,
)
from pricing.variance import SegmentSales, WindowSales, variance_bridge

F = Fraction
DAY, MONTH = 86_400, 30 * 86_400
SHANGHAI = ZoneInfo("Asia/Shanghai")
GLM = TokenPrices(input_price=8, cached_price=2, output_price=28)
B = 10**9


INTERVALS = {
    Bucket(0.0, 0.01): Weight(0, 10),
    Bucket(0.01, 0.025): Weight(0, 5),
    Bucket(0.025, float("inf")): Weight(0, 1),
}


def earned(seconds=MONTH, rate="83670.6", ratio="0.9", out=0, used=1):
    """Revenue of a server with GLM's prices."""
    load = Throughput(
        input_tokens_per_second=F(rate), hit_ratio=F(ratio), output_tokens_per_second=out
    )
    return window_revenue(seconds, load, prices=GLM, utilization=F(used))


def two_halves():
    """Revenue of half a day at 100,000 tokens/s and half at 20,000."""
    parts = (("100000", "0.9"), ("20000", "0.5"))
    return sum(earned(DAY // 2, rate, ratio).total for rate, ratio in parts)


SHANGHAI_AUGUST = Window(
    datetime(2026, 8, 1, tzinfo=SHANGHAI).astimezone(UTC),
    datetime(2026, 9, 1, tzinfo=SHANGHAI).astimezone(UTC),
)


def august_seconds():
    """Seconds from 20 August 09:30 to the month's end in Shanghai."""
    start = datetime(2026, 8, 20, 9, 30, tzinfo=SHANGHAI).astimezone(UTC)
    return seconds_in_service([ServicePeriod(start)], SHANGHAI_AUGUST)


REVENUE = {
    "1.1": lambda: service_factor(MONTH),
    "1.2": lambda: earned().total,
    "1.3": lambda: earned(used="0.4").total,
    "1.4": lambda: F("83670.6") * 60,
    "1.5": lambda: earned().cached,
    "1.6": lambda: earned(31 * DAY).total,
    "1.7": lambda: earned(rate="0", out=5_000).total,
    "1.8": lambda: earned(rate="20000", out=400).total,
    "1.9": two_halves,
    "1.10": lambda: earned(DAY, "60000", "0.7").total,
    "1.11": august_seconds,
    "1.12": lambda: earned(august_seconds()).total,
}
RATES, SHARES = (F("95920.5"), 80_000, 45_000), (F("0.5"), F("0.3"), F("0.2"))
LENGTHS, LENGTH_SHARES = (64_000, 128_000, 256_000, 400_000), [F(n, 10) for n in (4, 3, 2, 1)]
MIX = {
    "2.1": lambda: mix.equivalent_throughput(RATES, SHARES),
    "2.2": lambda: sum(t * w for t, w in zip(RATES, SHARES, strict=True)),
    "2.3": lambda: mix.linear_throughput(
        Decimal("8e-6"), Decimal("3.8e-11"), mix.mean_context(LENGTHS, LENGTH_SHARES)
    ),
    "2.4": lambda: mix.slower_class_throughput(F("83670.6"), F("95920.5"), F("0.5")),
    "12.5": lambda: mix.equivalence_ratio((54, 35, F("18.4")), (100, 70, 40), SHARES),
}


def an_hour(stage, cost, entered, cached, output):
    """A server in an hour: its cost, and tokens in, cached, out."""
    return ServerWindow(
        node_ids=("u01",),
        stage=stage,
        seconds=F(3_600),
        input_tokens=entered,
        cached_tokens=cached,
        output_tokens=output,
        cost={"rent": Decimal(cost)},
    )


OPENCOST = worth(
    an_hour("unified", "3.2", 12_000_000, 800_000, 3_000_000),
    output_weight=F(600, 3_000_000) / F(600, 11_200_000),
)
GROUP = worth(
    together(
        [
            an_hour("prefill", 100, 10**7, 2 * 10**6, 0),
            an_hour("decode", 60, 0, 0, 10**6),
            an_hour("unified", 40, 10**6, 0, 10**6),
        ]
    ),
    kappa=F(1, 2),
    output_weight=3,
)
PREFILL_HOURS, DECODE_HOURS = ec.node_hours(608 * B, 73_700), ec.node_hours(168 * B, 14_800)
DEEPSEEK = {
    "3.1": lambda: (342 * B * F("0.14") + 266 * B * F("0.55") + 168 * B * F("2.19")) / 10**6,
    "3.2": lambda: F("226.75") * 24 * 8 * 2,
    "3.3": lambda: 100 * ec.margin_on_cost(562_027, 87_072),
    "3.4": lambda: 100 * ec.gross_margin(562_027, 87_072),
    "3.5": lambda: PREFILL_HOURS / 24,
    "3.6": lambda: DECODE_HOURS / 24,
    "3.7": lambda: ec.split_by_node_hours(100, {"p": PREFILL_HOURS, "d": DECODE_HOURS})["p"],
    "3.8": lambda: ec.cost_per_million_tokens(16 * PREFILL_HOURS, 608 * B),
    "3.9": lambda: ec.cost_per_million_tokens(16 * PREFILL_HOURS, 266 * B),
    "3.10": lambda: ec.cost_per_million_tokens(16 * DECODE_HOURS, 168 * B),
    "3.11": lambda: ec.hourly_cost_per_million_tokens(16, 22_300),
    "3.13": lambda: OPENCOST.cost_per_million_uncached,
    "3.14": lambda: OPENCOST.figures.cost_per_million_output,
    "3.15": lambda: GROUP.cost_per_million_uncached,
    "3.16": lambda: GROUP.figures.cost_per_million_output,
    "3.12": lambda: ec.hourly_cost_per_million_tokens(F("2.8"), 1_000),
}
REQUEST = at.BilledLines(
    uncached=F("0.0512"), cached=F("0.1152"), output=F("0.028"), first_token=F("0.000028")
)


def pico(shares, party):
    """A party's settled share in 10⁻¹² CNY."""
    return at.settled(shares, quanta_per_unit=10**12)[party] * 10**12


BY_COST = at.by_cost(REQUEST, dict(zip(at.Earner, (8, 18, 2), strict=True)))
SHAPLEY = at.by_shapley(
    game.pair_worth(
        game.PairWork(
            prefill_seconds=F("0.286"),
            cold_prefill_seconds=F("2.05"),
            decode_seconds=F(5, 23),
            revenue=F("0.1944"),
            cold_revenue=F("0.54"),
        ),
        game.Alone(decode_slowdown=3, prefill_speedup=2),
    )
)
ATTRIBUTION = {
    "4.1": lambda: pico(at.by_price_line(REQUEST), at.Earner.PREFILL),
    "4.2": lambda: pico(at.by_price_line(REQUEST), at.Earner.DECODE),
    "4.3": lambda: pico(at.by_price_line(REQUEST, first_token_to_prefill=True), at.Earner.PREFILL),
    "4.4": lambda: pico(at.by_price_line(REQUEST, kv_share=F(1, 2)), at.Earner.KV_STORE),
    "4.5": lambda: pico(BY_COST, at.Earner.PREFILL),
    "4.6": lambda: pico(BY_COST, at.Earner.DECODE),
    "4.7": lambda: pico(BY_COST, at.Earner.KV_STORE),
    "4.8": lambda: SHAPLEY[at.Earner.PREFILL],
    "4.9": lambda: SHAPLEY[at.Earner.DECODE],
    "4.10": lambda: SHAPLEY[at.Earner.KV_STORE],
}
SYNTH = Asset(purchase=2_695_000, residual=125_000, life_months=60, wacc=F("0.1"))
FLAT = Tariff(price_per_kwh=F("0.65"), zone=SHANGHAI)
NIGHT = Tariff(price_per_kwh=1, zone=SHANGHAI, bands=(TariffBand(time(22), time(6), F("0.4")),))
SEPTEMBER = Window(
    datetime(2026, 8, 31, 16, tzinfo=UTC), datetime(2026, 9, 30, 16, tzinfo=UTC)
)  # 720 hours in Shanghai
DRAW = PowerDraw(rated_kw=8, load_factor=F("0.75"), pue=F("1.25"), tariff=FLAT)
C21 = (
    cs.ServerUse(cost=Decimal(100), capacity=24, used={"a": 9, "b": 3}),
    cs.ServerUse(cost=Decimal(60), capacity=24),
)


def share(policy, owner, kind=None):
    """Sum of the cost lines of an owner (or a kind) under an idle policy."""
    lines = cs.allocate(C21, idle=policy)
    return sum(x.amount for x in lines if x.owner == owner and (kind is None or x.kind is kind))


COSTS = {
    "5.1": lambda: straight_line(SYNTH),
    "5.2": lambda: annuity(SYNTH),
    "5.3": lambda: double_declining(SYNTH)[0],
    "5.4": lambda: double_declining(SYNTH)[4],
    "5.5": lambda: sum_of_years(SYNTH)[0],
    "5.6": lambda: 34_698 * capital_recovery_factor(Decimal("0.133"), 4),
    "5.7": lambda: nameplate_cost(DRAW, SEPTEMBER),
    "5.8": lambda: mean_price_per_kwh(NIGHT, day_window(date(2026, 9, 1), SHANGHAI)),
    "6.1": lambda: share(cs.BY_USE, "a"),
    "6.2": lambda: share(cs.BY_USE, "b"),
    "6.3": lambda: share(cs.BY_USE, None, cs.CostKind.UNALLOCATED),
    "6.4": lambda: cs.shares_of_server(C21[0])[-1].amount,
}


def sales(uncached, cached, cached_price=2):
    """A month's sales of one model."""
    segment = SegmentSales(
        uncached_tokens=uncached,
        cached_tokens=cached,
        uncached_amount=F(uncached * 8, 10**6),
        cached_amount=cached * F(cached_price) / 10**6,
    )
    return WindowSales(MONTH, {"glm": segment})


BASE = sales(10**9, 9 * 10**9)
VARIANCE = {
    "7.1": lambda: variance_bridge(BASE, sales(5 * 10**8, 95 * 10**8)).hit_ratio,
    "7.2": lambda: variance_bridge(BASE, sales(10**9, 9 * 10**9, "1.5")).price,
}
SERVER = ce.Compute(uncached_tokens_per_second=32_000, kappa=F("0.02"))
EVEN_SERVER = ce.Compute(uncached_tokens_per_second=32_000, kappa=F("0.25"))
SMALL_TRACE = hit_curve(
    [RequestBlocks("", runs_of(ids), len(ids)) for ids in ([1, 2, 3], [1, 2, 4], [3])],
    block_tokens=1,
)
CONVERSATION, SYNTHETIC = (144_793_823, 54_098_411, 4_122_048), (61_194_628, 39_852_661, 595_432)


def error_of_mean(counts, mean_of_requests):
    """Revenue error in percent when r is the mean of the requests' ratios."""
    tokens, hits, output = counts
    true, wrong = (
        tokens * blended_input_price(ratio, GLM) + output * 28
        for ratio in (F(hits, tokens), F(mean_of_requests))
    )
    return 100 * (wrong / true - 1)


GIB = ce.value_of_gib(
    10_000_000,
    TokenPrices(input_price=2, cached_price=F("0.2")),
    kappa=F("0.02"),
    hit_ratios=(F("0.5"), F("0.51")),
    gib=10,
    cost_per_million_uncached=3,
)
CACHE = {
    "9.10": lambda: F(CONVERSATION[1], CONVERSATION[0]),
    "9.11": lambda: error_of_mean(CONVERSATION, "0.409385"),
    "9.12": lambda: F(SYNTHETIC[1], SYNTHETIC[0]),
    "9.13": lambda: error_of_mean(SYNTHETIC, "0.431521"),
    "9.1": lambda: ce.slope_with_traffic_fixed(MONTH, F("83670.6"), GLM),
    "9.2": lambda: ce.slope_with_compute_fixed(MONTH, SERVER, hit_ratio=F("0.9"), prices=GLM),
    "9.3": lambda: ce.full_load_revenue(MONTH, SERVER, hit_ratio=F("0.9"), prices=GLM),
    "9.4": lambda: ce.full_load_revenue(MONTH, EVEN_SERVER, hit_ratio=F("0.7"), prices=GLM),
    "9.5": lambda: ce.break_even_kappa(GLM),
    "9.6": lambda: F(*reversed(ce.revenue_per_server_second(SERVER, GLM))),
    "9.7": lambda: ce.cost_at_which_hits_pay(GLM, F("0.02")),
    "9.14": lambda: GIB.traffic_fixed_per_gib,
    "9.15": lambda: GIB.compute_fixed_per_gib,
    "9.8": lambda: SMALL_TRACE.hit_tokens(2),
    "9.9": lambda: SMALL_TRACE.hit_tokens(4),
    "10.1": lambda: ps.best_blended_price(F("0.3"), F("1.5")),
    "10.2": lambda: ps.peak_multiplier(F(7, 24), 2),
    "10.3": lambda: 100 * ps.peak_shift(F("0.45"), 2, peak_hours=7, shifted_share=F("0.2"))[0],
    "11.1": lambda: 100 * window_mean_availability([(1, 1)] * 12 + [(0, 1)] * 8_628),
    "11.2": lambda: error_budget_minutes(F("0.999"), 30),
    "11.3": lambda: 100 * token_attainment(INTERVALS, 0.02).by_token.low,
    "11.4": lambda: 100 * token_attainment(INTERVALS, 0.02).by_token.high,
}
GLM_KV = latent_kv_bytes_per_token(656, 78)
CAPACITY = {
    "12.1": lambda: ca.prefill_seconds(
        uncached_tokens=6_400,
        cached_tokens=57_600,
        tokens_per_second=32_000,
        kappa=F("0.02"),
        fixed_seconds=F("0.05"),
    ),
    "12.2": lambda: ca.decode_seats(8 * 141 * B, 824 * B, 64_500, GLM_KV),
    "12.3": lambda: ca.decode_servers(
        20, output_tokens=1_000, tpot_seconds=F("0.02"), seats=92, headroom=F("0.8")
    )[1],
    "12.4": lambda: (
        F(500, 8)
        * ca.pair_requests_per_second(
            prefill_workers=4,
            ttft_seconds=F("0.27676"),
            decode_batch=60,
            tokens_per_second_per_user=F("120.23"),
            output_tokens=500,
        )
    ),
    "12.6": lambda: ca.replacement(4, 2, F("0.46")).fast_equivalents,
    "12.7": lambda: ca.replacement(4, 2, F("0.54")).fast_equivalents,
    "12.8": lambda: ca.replacement(4, 2, F("0.46")).slower_by,
    "12.9": lambda: qu.erlang_c(4, 3.2),
    "12.10": lambda: (
        0.286
        + qu.mean_wait_seconds(
            7, arrivals_per_second=20, service_seconds=0.286, service_variation=3.24
        )
    ),
    "12.11": lambda: GLM_KV,
    "12.12": lambda: link_gbps(F("83670.6"), GLM_KV),
    "12.13": lambda: egress_gbps(F("190.8") * 2**20, F("0.44")),
    "12.14": lambda: ca.split_site_requests_per_second(
        remote=F("1.61"), local_prefill=F("1.64"), local_decode=F("3.91"), remote_share=F("0.496")
    ),
    "12.15": lambda: (
        reload_bytes_per_second_floor(8_192, 8_192, gqa_group=8, flops_per_second=8 * 312 * 10**12)
        / B
    ),
    "13.1": lambda: 1 / F("0.011"),
    "13.2": lambda: 1 / F("0.020"),
    "13.3": lambda: (
        100
        * pl.compute_share(
            tokens_per_second=F("95920.5"),
            hit_ratio=0,
            active_parameters=40 * B,
            peak_flops_per_second=8 * 10**15,
        )
    ),
    "13.4": lambda: pl.burst_tokens_per_second(
        requests=16, prompt_tokens=131_072, last_ttft_seconds=F("14.1"), servers=4
    ),
}


def rates(case):
    """Internal rates of a case."""
    return internal_rates(cash_flows(case), flow_dates(case), rate_per_month=0.01)


def spreadsheet_xirr():
    """The usual XIRR example."""
    days = ((2008, 1, 1), (2008, 3, 1), (2008, 10, 30), (2009, 2, 15), (2009, 4, 1))
    flows = [-10_000, 2_750, 4_250, 3_250, 2_750]
    return internal_rates(flows, [date(*day) for day in days], rate_per_month=0.01).xirr


def investment(cases) -> dict[str, Callable[[], float]]:
    """Rows of section 8 from SYNTH-1's cases."""
    a, b = cases["A"], cases["B"]
    return {
        "8.1": lambda: outlook(a).npv,
        "8.2": lambda: outlook(b).npv,
        "8.3": lambda: outlook(cases["C"]).npv,
        "8.4": lambda: outlook(cases["D"]).npv,
        "8.5": lambda: outlook(a).payback_months,
        "8.6": lambda: outlook(b).discounted_payback_months,
        "8.7": lambda: rates(b).irr_month,
        "8.8": lambda: rates(b).xirr,
        "8.9": lambda: outlook(b).break_even_utilization,
        "8.10": lambda: steady_month(a).break_even_utilization,
        "8.11": spreadsheet_xirr,
    }


TABLES = (REVENUE, MIX, DEEPSEEK, ATTRIBUTION, COSTS, VARIANCE, CACHE, CAPACITY)
