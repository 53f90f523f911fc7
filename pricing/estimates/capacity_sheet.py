"""A capacity sheet (TOML): demand and measured throughputs in, servers and findings out.

docs/roi.md lists every key. Numbers are read as decimals, so shares that sum to 1 on paper do so
here; the answer is a screen in whole instances, not a simulation.
"""

import tomllib
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pricing.capacity import PoolPlan, Sizing, replacement, size_pool
from pricing.context_mix import equivalence_ratio, equivalent_throughput
from pricing.errors import ConfigInvalid
from pricing.estimates.case_file import CASE_LENGTH_MAX, REMEDY, reasons
from pricing.kv_transfer import link_gbps, link_use
from pricing.plausibility import compute_share, memory_finding, speed_finding, throughput_finding

# bounds of what a person can mean; beyond them a float could not show the answer
LARGEST = {"le": Decimal("1e24"), "max_digits": 60, "allow_inf_nan": False}
Positive = Annotated[Decimal, Field(gt=0, ge=Decimal("1e-12"), **LARGEST)]
Amount = Annotated[Decimal, Field(ge=0, **LARGEST)]
Ratio = Annotated[Decimal, Field(ge=0, le=1, max_digits=60)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Class(_Table):
    tokens_per_second: Positive
    token_share: Ratio


class _Replaced(_Table):
    servers: Annotated[int, Field(ge=1, le=1_000_000)]
    tokens_per_second: list[Positive]


class _Pool(_Table):
    demand_tokens_per_second: Amount
    classes: Annotated[list[_Class], Field(min_length=1, max_length=64)]
    target_utilization: Annotated[Decimal, Field(gt=0, ge=Decimal("1e-6"), le=1)]
    servers_per_instance: Annotated[int, Field(ge=1, le=1_000)] = 1
    spare_instances: Count = 0
    cost_per_server_month: Amount | None = None
    replaces: _Replaced | None = None


class _Kv(_Table):
    bytes_per_token: Positive
    prefill_ports_gbps: list[Positive]
    decode_ports_gbps: list[Positive]
    prefix_on_decode_ratio: Ratio = Decimal(0)


class _Benchmark(_Table):
    tokens_per_second: Positive
    hit_ratio: Ratio | None = None
    active_parameters: Positive
    peak_flops_per_second: Positive
    weight_bytes: Positive | None = None
    memory_bytes: Positive | None = None
    tpot_seconds: Positive | None = None
    tokens_per_second_per_user: Positive | None = None


class Sheet(_Table):
    """A capacity sheet: docs/roi.md lists every key."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    prefill: _Pool
    decode: _Pool
    kv: _Kv | None = None
    benchmark: _Benchmark | None = None


def capacity_report(text: str, *, name_of_file: str) -> dict[str, Any]:
    """Servers per pool, link use and findings of the sheet in `text`; ratios and rates as numbers.

    Raises ConfigInvalid with every wrong key, its place and the remedy.
    """
    if len(text) > CASE_LENGTH_MAX:
        raise ConfigInvalid(f"{name_of_file} is longer than {CASE_LENGTH_MAX} characters.")
    try:
        return sheet_report(Sheet.model_validate(tomllib.loads(text, parse_float=Decimal)))
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(f"{name_of_file} is no TOML: {error}.", remedy=REMEDY) from error
    except ValidationError as error:
        raise ConfigInvalid(f"{name_of_file}: {reasons(error)}.", remedy=REMEDY) from error
    except ValueError as error:
        raise ConfigInvalid(f"{name_of_file}: {error}.", remedy=REMEDY) from error


def sheet_report(sheet: Sheet) -> dict[str, Any]:
    """The same of a sheet that was read. Raises ValueError for shares that are not a whole."""
    pools = {"prefill": _pool(sheet.prefill), "decode": _pool(sheet.decode)}
    links = None if sheet.kv is None else _links(sheet, sheet.kv, pools)
    return {
        "name": sheet.name,
        "pools": pools,
        "kv_links": links,
        "findings": [*_pool_findings(pools), *_link_findings(links), *_benchmark(sheet.benchmark)],
    }


def _pool(pool: _Pool) -> dict[str, Any]:
    rates = [part.tokens_per_second for part in pool.classes]
    shares = [part.token_share for part in pool.classes]
    equivalent = equivalent_throughput(rates, shares)
    sizing = size_pool(
        PoolPlan(
            tokens_per_second=pool.demand_tokens_per_second,
            per_server=equivalent,
            target_utilization=pool.target_utilization,
            servers_per_instance=pool.servers_per_instance,
            spare_instances=pool.spare_instances,
        )
    )
    cost = pool.cost_per_server_month
    return {
        "equivalent_tokens_per_second": float(equivalent),
        "servers_exact": float(sizing.servers_exact),
        "instances": sizing.instances,
        "servers": sizing.servers,
        "utilization": float(sizing.utilization),
        "utilization_after_loss": _after_loss(sizing),
        "cost_per_month": None if cost is None else float(cost * sizing.servers),
        "replaces": pool.replaces and _replaces(pool.replaces, sizing, rates, shares),
    }


def _replaces(
    fast: _Replaced, sizing: Sizing, rates: list[Decimal], shares: list[Decimal]
) -> dict[str, Any]:
    """What the pool's servers amount to in units of the faster ones they stand for."""
    if len(fast.tokens_per_second) != len(rates):
        raise ValueError(
            f"replaces.tokens_per_second needs one rate per class: expected {len(rates)}, got "
            f"{len(fast.tokens_per_second)}"
        )
    ratio = equivalence_ratio(rates, fast.tokens_per_second, shares)
    found = replacement(sizing.servers, fast.servers, ratio)
    return {
        "equivalence": float(ratio),
        "fast_equivalents": float(found.fast_equivalents),
        "covered": found.covered,
        "shortfall": float(found.shortfall),
        "slower_by": float(found.slower_by),
    }


def _links(sheet: Sheet, kv: _Kv, pools: dict[str, Any]) -> dict[str, Any]:
    """Gbit/s that a server of each pool moves, and the share of its ports."""
    moved = Fraction(sheet.prefill.demand_tokens_per_second) * (
        1 - Fraction(kv.prefix_on_decode_ratio)
    )
    whole = link_gbps(moved, kv.bytes_per_token)
    links = {}
    for name, ports in (("prefill", kv.prefill_ports_gbps), ("decode", kv.decode_ports_gbps)):
        servers = pools[name]["servers"]
        each = whole / servers if servers else Fraction(0)
        links[name] = {"gbps_per_server": float(each), "port_use": float(link_use(each, ports))}
    return {"gbps": float(whole), **links}


def _pool_findings(pools: dict[str, Any]) -> list[str]:
    found = []
    for name, pool in pools.items():
        after = pool["utilization_after_loss"]
        if after is None or after > 1:
            found.append(f"{name}: with one instance lost the demand is not met")
        replaces = pool["replaces"]
        if replaces and not replaces["covered"]:
            found.append(f"{name}: replaces too little, {replaces['shortfall']:.1%} are missing")
        if replaces and replaces["slower_by"] > 1:
            found.append(
                f"{name}: equal throughput is not equal latency, one prompt takes "
                f"{replaces['slower_by']:.2f} times as long"
            )
    return found


def _link_findings(links: dict[str, Any] | None) -> list[str]:
    if links is None:
        return []
    return [
        f"{name}: KV transfer needs {links[name]['port_use']:.0%} of the ports"
        for name in ("prefill", "decode")
        if links[name]["port_use"] > 1
    ]


def _benchmark(claim: _Benchmark | None) -> list[str]:
    """What cannot be about the benchmark that the throughputs come from."""
    if claim is None:
        return []
    share = compute_share(
        tokens_per_second=claim.tokens_per_second,
        hit_ratio=claim.hit_ratio or 0,
        active_parameters=claim.active_parameters,
        peak_flops_per_second=claim.peak_flops_per_second,
    )
    found = [throughput_finding(share)]
    if claim.weight_bytes is not None and claim.memory_bytes is not None:
        found.append(memory_finding(claim.weight_bytes, claim.memory_bytes))
    if claim.tpot_seconds is not None and claim.tokens_per_second_per_user is not None:
        found.append(speed_finding(claim.tpot_seconds, claim.tokens_per_second_per_user))
    return [f"benchmark: {finding}" for finding in found if finding]


def _after_loss(sizing: Sizing) -> float | None:
    after = sizing.utilization_after_loss
    return None if after is None else float(after)
