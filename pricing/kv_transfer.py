"""Bytes of KV cache: per token, per request, over the links between prefill, pool and decode.

Sizes in bytes, rates in tokens/s, links in Gbit/s (10⁹ bits) or bytes/s; exact fractions
(docs/formulas.md §12.4).
"""

from collections.abc import Sequence
from fractions import Fraction

from pricing.formula import Exact

BITS_PER_BYTE = 8
BITS_PER_GBIT = 10**9


def latent_kv_bytes_per_token(bytes_per_layer: int, layers: int) -> int:
    """Bytes per token of latent attention (MLA): FlashMLA's FP8 layout has 656 per layer."""
    return bytes_per_layer * layers


def grouped_kv_bytes_per_token(
    layers: int, kv_heads: int, head_size: int, bytes_per_value: int
) -> int:
    """Bytes per token of grouped-query attention: keys and values of every KV head and layer."""
    return 2 * layers * kv_heads * head_size * bytes_per_value


def link_gbps(tokens_per_second: Exact, kv_bytes_per_token: Exact) -> Fraction:
    """Rate in Gbit/s that moving the KV of `tokens_per_second` takes."""
    bits = Fraction(tokens_per_second) * Fraction(kv_bytes_per_token) * BITS_PER_BYTE
    return bits / BITS_PER_GBIT


def egress_gbps(kv_bytes: Exact, prefill_seconds: Exact) -> Fraction:
    """Φ = S_kv / T_prefill in Gbit/s: the rate at which a busy prefill instance sends."""
    return Fraction(kv_bytes) * BITS_PER_BYTE / Fraction(prefill_seconds) / BITS_PER_GBIT


def transfer_seconds(tokens: Exact, kv_bytes_per_token: Exact, bytes_per_second: Exact) -> Fraction:
    """Seconds to move the KV of one request of `tokens` tokens."""
    return Fraction(tokens) * Fraction(kv_bytes_per_token) / Fraction(bytes_per_second)


def link_use(needed_gbps: Exact, ports_gbps: Sequence[Exact]) -> Fraction:
    """Share of a server's ports that `needed_gbps` takes; above 1 the links are the bottleneck."""
    available = sum((Fraction(port) for port in ports_gbps), Fraction(0))
    if not available:
        raise ValueError("a server without ports cannot transfer KV; list its ports in Gbit/s")
    return Fraction(needed_gbps) / available


def reload_bytes_per_second_floor(
    context_tokens: int, hidden_size: int, *, gqa_group: int, flops_per_second: Exact
) -> Fraction:
    """Bytes/s above which loading a cached prefix beats computing it again (Mooncake, Eq. 2).

    B > 2·d·s·G / (gqa·(a·p·d + b·d²)) with s = 2 bytes, a = 4, b = 22; flops_per_second: of the
    whole server; gqa_group: query heads per KV head.
    """
    moved = 2 * hidden_size * 2
    computed = gqa_group * (4 * context_tokens * hidden_size + 22 * hidden_size**2)
    return Fraction(moved) * Fraction(flops_per_second) / computed
