"""What a cache hit is worth, with traffic fixed and with compute fixed (docs/formulas.md §9).

C: uncached input tokens/s a server can compute. κ: server time of a cached token ÷ that of an
uncached one. r: token-weighted hit ratio. Server time per billed token is (1 − r + κ·r) / C. The
two questions have different answers: with traffic fixed a hit lowers revenue, with compute fixed it
raises it exactly if p_h / p_m > κ. Exact fractions of what was put in.
"""

from dataclasses import dataclass
from fractions import Fraction

from pricing.formula import (
    TOKENS_PER_PRICE_UNIT,
    Exact,
    TokenPrices,
    blended_input_price,
    service_factor,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """What a server can do: uncached tokens/s, and κ (0: a hit costs no server time)."""

    uncached_tokens_per_second: Exact
    kappa: Exact

    def __post_init__(self) -> None:
        if self.uncached_tokens_per_second <= 0:
            raise ValueError(
                f"uncached_tokens_per_second must be above 0, got {self.uncached_tokens_per_second}"
            )
        if self.kappa < 0:
            raise ValueError(f"kappa must not be negative, got {self.kappa}")

    def time_factor(self, hit_ratio: Exact) -> Fraction:
        """1 − r + κ·r: server time of a billed token, an uncached one counting 1; a ratio."""
        ratio = Fraction(hit_ratio)
        if not 0 <= ratio <= 1:
            raise ValueError(f"hit_ratio must lie in 0..1, got {hit_ratio}")
        return 1 - ratio + Fraction(self.kappa) * ratio

    def throughput(self, hit_ratio: Exact) -> Fraction | None:
        """Billed tokens/s at full load, C / (1 − r + κ·r); None: unbounded (all hits, κ = 0)."""
        factor = self.time_factor(hit_ratio)
        return Fraction(self.uncached_tokens_per_second) / factor if factor else None


def full_load_revenue(
    seconds: Exact, compute: Compute, *, hit_ratio: Exact, prices: TokenPrices
) -> Fraction | None:
    """R(r) = K·C·b(r) / (1 − r + κ·r) over `seconds`, compute fixed, in the prices' currency."""
    throughput = compute.throughput(hit_ratio)
    if throughput is None:
        return None
    return service_factor(seconds) * throughput * blended_input_price(hit_ratio, prices)


def slope_with_compute_fixed(
    seconds: Exact, compute: Compute, *, hit_ratio: Exact, prices: TokenPrices
) -> Fraction:
    """dR/dr = K·C·(p_h − κ·p_m) / (1 − r + κ·r)²: revenue per unit of r (1 = all tokens)."""
    lever = Fraction(prices.cached_price) - Fraction(compute.kappa) * Fraction(prices.input_price)
    full = service_factor(seconds) * Fraction(compute.uncached_tokens_per_second)
    return full * lever / compute.time_factor(hit_ratio) ** 2


def slope_with_traffic_fixed(
    seconds: Exact, input_tokens_per_second: Exact, prices: TokenPrices
) -> Fraction:
    """dR/dr = −K·T·(p_m − p_h): revenue per unit of r while customers send what they send."""
    discount = Fraction(prices.input_price) - Fraction(prices.cached_price)
    return -service_factor(seconds) * Fraction(input_tokens_per_second) * discount


def break_even_kappa(prices: TokenPrices) -> Fraction | None:
    """κ* = p_h / p_m: below it a hit earns more per server-second than a miss; None if p_m = 0."""
    if not prices.input_price:
        return None
    return Fraction(prices.cached_price) / Fraction(prices.input_price)


def break_even_cached_price(price_input: Exact, kappa: Exact) -> Fraction:
    """p_h = κ·p_m, per million tokens: the cached price at which hits and misses earn the same."""
    return Fraction(price_input) * Fraction(kappa)


def revenue_per_server_second(
    compute: Compute, prices: TokenPrices
) -> tuple[Fraction, Fraction | None]:
    """Revenue of a server-second spent on misses and on hits; None: hits take no server time."""
    miss = (
        Fraction(prices.input_price)
        * Fraction(compute.uncached_tokens_per_second)
        / TOKENS_PER_PRICE_UNIT
    )
    if not compute.kappa:
        return miss, None
    price_ratio = Fraction(prices.cached_price) / Fraction(compute.kappa)
    hit = price_ratio * Fraction(compute.uncached_tokens_per_second) / TOKENS_PER_PRICE_UNIT
    return miss, hit


def servers_for_traffic(
    input_tokens_per_second: Exact, compute: Compute, *, hit_ratio: Exact, utilization: Exact
) -> Fraction:
    """Servers that a fixed traffic keeps busy at `utilization` (0–1): T·(1 − r + κ·r) / (C·U)."""
    busy = Fraction(input_tokens_per_second) * compute.time_factor(hit_ratio)
    return busy / (Fraction(compute.uncached_tokens_per_second) * Fraction(utilization))


def cost_per_million_uncached(
    cost: Exact, seconds: Exact, compute: Compute, *, utilization: Exact
) -> Fraction:
    """A server's cost per million uncached tokens that it could compute, in the cost's currency."""
    computed = service_factor(seconds) * Fraction(compute.uncached_tokens_per_second)
    return Fraction(cost) / (computed * Fraction(utilization))


def cost_at_which_hits_pay(prices: TokenPrices, kappa: Exact) -> Fraction | None:
    """(p_m − p_h) / (1 − κ), cost per million uncached tokens; None for κ = 1.

    With traffic fixed, hits raise profit if uncached tokens cost more than this and the servers
    that they free are sold or switched off.
    """
    if kappa == 1:
        return None
    return (Fraction(prices.input_price) - Fraction(prices.cached_price)) / (1 - Fraction(kappa))


def throughput_by_kv_bandwidth(
    bytes_per_second: Exact, kv_bytes_per_token: Exact, hit_ratio: Exact
) -> Fraction | None:
    """Billed tokens/s that reading hits allows, BW / (r·B_kv); None: no hits to read."""
    if not hit_ratio:
        return None
    return Fraction(bytes_per_second) / (Fraction(hit_ratio) * Fraction(kv_bytes_per_token))


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStep:
    """A larger cache: more GiB, a higher hit ratio, and what that is worth over the window.

    Per GiB and window, in the prices' currency. compute_fixed: revenue gained where demand fills
    the freed servers. traffic_fixed: cost of the freed servers − revenue lost to the discount.
    """

    gib: Fraction
    hit_ratio_gain: Fraction
    compute_fixed_per_gib: Fraction | None
    traffic_fixed_per_gib: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A prefill pool: seconds of the window, its servers' compute and cost, its traffic."""

    seconds: Exact
    compute: Compute
    servers: Exact
    cost_per_server: Exact
    input_tokens_per_second: Exact


def value_of_cache_step(
    pool: Pool, prices: TokenPrices, *, gib: Exact, hit_ratios: tuple[Exact, Exact]
) -> CacheStep:
    """What `gib` more KV cache is worth that moves the hit ratio from the first to the second.

    Money of the window, in the prices' currency; the pool's cost is for the same window.
    """
    before, after = hit_ratios
    earned = [
        full_load_revenue(pool.seconds, pool.compute, hit_ratio=ratio, prices=prices)
        for ratio in hit_ratios
    ]
    gained = (
        None
        if earned[0] is None or earned[1] is None
        else (earned[1] - earned[0]) * Fraction(pool.servers) / Fraction(gib)
    )
    freed = (
        Fraction(pool.input_tokens_per_second)
        * (pool.compute.time_factor(before) - pool.compute.time_factor(after))
        / Fraction(pool.compute.uncached_tokens_per_second)
    )
    slope = slope_with_traffic_fixed(pool.seconds, pool.input_tokens_per_second, prices)
    gain = Fraction(after) - Fraction(before)
    saved = freed * Fraction(pool.cost_per_server) + slope * gain
    return CacheStep(
        gib=Fraction(gib),
        hit_ratio_gain=gain,
        compute_fixed_per_gib=gained,
        traffic_fixed_per_gib=saved / Fraction(gib),
    )


def value_of_gib(
    input_tokens: Exact,
    prices: TokenPrices,
    *,
    kappa: Exact,
    hit_ratios: tuple[Exact, Exact],
    gib: Exact = 1,
    cost_per_million_uncached: Exact = 0,
) -> CacheStep | None:
    """What one of `gib` more GiB of KV cache is worth to traffic of `input_tokens` tokens.

    hit_ratios: before and after, from the curve. The compute that the traffic uses is taken from
    itself, so neither servers nor a rating are needed. Money per GiB, in the prices' currency;
    None: nothing is computed (all hits, κ = 0).
    """
    used = Fraction(input_tokens) * (
        1 - Fraction(hit_ratios[0]) + Fraction(kappa) * Fraction(hit_ratios[0])
    )
    if not used:
        return None
    pool = Pool(  # the whole traffic in one second of one server: only products count
        seconds=1,
        compute=Compute(uncached_tokens_per_second=used, kappa=kappa),
        servers=1,
        cost_per_server=Fraction(cost_per_million_uncached) * used / TOKENS_PER_PRICE_UNIT,
        input_tokens_per_second=input_tokens,
    )
    return value_of_cache_step(pool, prices, gib=gib, hit_ratios=hit_ratios)
