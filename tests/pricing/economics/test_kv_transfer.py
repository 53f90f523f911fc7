"""KV sizes and links: facts/economics.md §2b, §2d, §2e, §5.1, §5.4."""

import json
from fractions import Fraction

import pytest

from pricing.kv_transfer import (
    egress_gbps,
    grouped_kv_bytes_per_token,
    latent_kv_bytes_per_token,
    link_gbps,
    link_use,
    reload_bytes_per_second_floor,
    transfer_seconds,
)

MIB, GIB = 2**20, 2**30
GLM = latent_kv_bytes_per_token(656, 78)


def test_bytes_per_token_vectors(shared):
    """facts/vectors.json: kv_bytes."""
    row = json.loads((shared / "facts/vectors.json").read_text())["kv_bytes"]
    assert row["glm5_fp8_flashmla"] == GLM
    assert latent_kv_bytes_per_token(656, 61) == row["kimi_fp8_flashmla"]
    assert latent_kv_bytes_per_token(1152, 61) == row["dsv3_bf16"]
    assert grouped_kv_bytes_per_token(92, 8, 128, 2) == row["glm45_gqa_bf16"]


@pytest.mark.parametrize(
    ("size", "at_mixed", "at_64k", "gigabytes", "milliseconds"),
    [
        (GLM, 34.25, 39.26, 3.353, 83.8),
        (576 * 78, 30.07, 34.48, 2.944, 73.6),
        (1152 * 78, 60.15, 68.95, 5.889, 147.2),
        (656 * 61, 26.79, 30.71, 2.622, 65.6),
        (1152 * 61, 47.04, 53.92, 4.605, 115.1),
        (2 * 92 * 8 * 128, 126.1, 144.6, 12.35, 309),
        (2 * 92 * 8 * 128 * 2, 252.2, 289.2, 24.70, 617),
        (327_680, 219.3, 251.5, 21.47, 537),
    ],
)
def test_table_of_kv_sizes(size, at_mixed, at_64k, gigabytes, milliseconds):
    """§5.4: Gbit/s at 83,670.6 and 95,920.5 tok/s, one 64Ki request, ms at 40 GB/s."""
    assert float(link_gbps(Fraction("83670.6"), size)) == pytest.approx(at_mixed, rel=5e-4)
    assert float(link_gbps(Fraction("95920.5"), size)) == pytest.approx(at_64k, rel=5e-4)
    assert 65_536 * size / 1e9 == pytest.approx(gigabytes, rel=5e-4)
    seconds = transfer_seconds(65_536, size, 40 * 10**9)
    assert float(seconds) * 1000 == pytest.approx(milliseconds, rel=2e-3)


def test_llama_is_grouped_query_attention():
    """80 layers, 8 KV heads, 128, BF16: 327,680 bytes."""
    assert grouped_kv_bytes_per_token(80, 8, 128, 2) == 327_680


def test_session_of_128ki():
    """6.246 GiB for GLM-5, 4.885 GiB for Kimi."""
    kimi = latent_kv_bytes_per_token(656, 61)
    sizes = [131_072 * size / GIB for size in (GLM, kimi)]
    assert sizes == pytest.approx([6.246, 4.885], abs=5e-4)


def test_one_400g_port():
    """§5.4: an MLA prefill server uses 8–10 % of a port; were T cold (×10), 342 Gbit/s."""
    needed = link_gbps(Fraction("83670.6"), GLM)
    assert float(link_use(needed, [400])) == pytest.approx(0.0856, abs=5e-4)
    assert float(needed * 10) == pytest.approx(342, abs=0.6)
    with pytest.raises(ValueError, match="without ports"):
        link_use(1, [])


@pytest.mark.parametrize(
    ("mib", "seconds", "gbps"),
    [(190.8, 0.44, 3.638), (308.9, 0.72, 3.599), (701.3, 1.84, 3.197), (2316.3, 7.40, 2.626)],
)
def test_prfaas_egress(mib, seconds, gbps):
    """§2b: Φ = S_kv / T_prefill (published 3.61, 3.59, 3.19, 2.62)."""
    found = egress_gbps(Fraction(str(mib)) * MIB, Fraction(str(seconds)))
    assert float(found) == pytest.approx(gbps, abs=5e-4)


def test_prfaas_vectors(shared):
    """facts/vectors.json: prfaas.phi."""
    phi = json.loads((shared / "facts/vectors.json").read_text())["prfaas"]["phi"]
    sizes = ((190.8, 0.44), (308.9, 0.72), (701.3, 1.84), (2316.3, 7.40))
    found = [float(egress_gbps(Fraction(str(s)) * MIB, Fraction(str(t)))) for s, t in sizes]
    assert found == pytest.approx(phi, abs=5e-5)


@pytest.mark.parametrize(("tflops", "gigabytes"), [(312, 5.859), (989, 18.573)])
def test_mooncake_equation_2(tflops, gigabytes):
    """§2d: LLaMA3-70B, 8,192 tokens, 8 devices: 5.859 and 18.573 GB/s (paper: 6 and 19)."""
    floor = reload_bytes_per_second_floor(
        8_192, 8_192, gqa_group=8, flops_per_second=8 * tflops * 10**12
    )
    assert float(floor) / 1e9 == pytest.approx(gigabytes, abs=5e-4)


def test_distserve_units():
    """§2e: OPT-66B 2.359 MB/token, 512 tokens 1.125 GiB; at 10/s 96.6 Gbit/s (paper: 90)."""
    size = grouped_kv_bytes_per_token(64, 72, 128, 2)
    assert size == 2 * 64 * 9216 * 2
    assert 512 * size / GIB == 1.125
    assert float(link_gbps(10 * 512, size)) == pytest.approx(96.6, abs=0.05)


def test_kv_of_synth_cap():
    """§5.1: 524 Gbit/s in all, 65.5 per P of 8, 87.3 per D of 6; 52.4 if D holds the prefix."""
    whole = link_gbps(20 * 64_000, GLM)
    assert float(whole) == pytest.approx(524, abs=0.5)
    assert float(whole / 8) == pytest.approx(65.5, abs=0.05)
    assert float(whole / 6) == pytest.approx(87.3, abs=0.05)
    assert float(whole / 10) == pytest.approx(52.4, abs=0.05)
