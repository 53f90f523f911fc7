"""Cost per million input, cached and output tokens of prefill, decode and unified servers."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.server_economics import ServerWindow, together, worth

M = 10**6
counts = st.integers(0, 10**9)


def server(stage, cost, tokens):
    """A server with (input, cached, output) tokens; cost None: not stated."""
    entered, cached, output = tokens
    return ServerWindow(
        node_ids=("u01",),
        stage=stage,
        currency="USD",
        seconds=Fraction(3600),
        input_tokens=entered,
        cached_tokens=cached,
        output_tokens=output,
        cost=None if cost is None else {"rent": Decimal(cost)},
    )


def costs(stage, cost, tokens, **weights):
    """Cost per million input, uncached, cached and output tokens of one server."""
    return per_million(server(stage, cost, tokens), **weights)


def per_million(of, **weights):
    """The same of several servers as one."""
    found = worth(of, **weights)
    figures = found.figures
    return (
        figures.cost_per_million_input,
        found.cost_per_million_uncached,
        found.cost_per_million_cached,
        figures.cost_per_million_output,
    )


def test_opencost_example_on_a_unified_server():
    """§2l: $3.20, 12 M in of which 0.8 M cached, 3 M out, 600 s each: 0.142857 and 0.5333."""
    output_weight = Fraction(600, 3 * M) / Fraction(600, 11_200_000)
    found = costs("unified", "3.20", (12 * M, 800_000, 3 * M), kappa=0, output_weight=output_weight)
    assert float(found[1]) == pytest.approx(0.142857, abs=5e-7)
    assert float(found[3]) == pytest.approx(0.5333, abs=5e-5)
    assert (found[0], found[2]) == (Fraction("1.6") / 12, 0)


def test_a_unified_server_at_its_own_speeds():
    """By hand: C 32,000, decode 5,000 tok/s: ω 6.4; 6,400 uncached + 0.02·57,600 + 6.4·1,000.

    13,952 units carry 139.52: 0.01 each, so 10,000 a million uncached, 200 cached, 64,000 output.
    """
    found = costs(
        "unified",
        "139.52",
        (64_000, 57_600, 1_000),
        kappa=Fraction("0.02"),
        output_weight=Fraction("6.4"),
    )
    assert found[1:] == (10_000, 200, 64_000)
    assert found[0] == Fraction("75.52") * M / 64_000


def test_without_a_weight_a_unified_cost_has_no_split():
    """Seconds of requests that ran side by side count concurrency: nothing is guessed."""
    assert costs("unified", "1", (1, 0, 1)) == (None, None, None, None)
    assert costs(None, "1", (1, 0, 1)) == (None, None, None, None)


def test_prefill_and_decode_servers_need_no_weight():
    """All input's, or all output's, whatever weight is asked for unified ones."""
    prefill = costs("prefill", "2", (M, M // 2, 1_000), kappa=0, output_weight=9)
    assert prefill == (2, 4, 0, None)
    assert costs("prefill", "2", (M, M, 0), kappa=0) == (2, None, None, None)
    assert costs("decode", "2", (M, M, M), output_weight=9) == (None, None, None, 2)


def test_a_group_of_several_stages_adds_cost_by_kind():
    """By hand, κ 0.5, ω 3: 100 of prefill and 1/4 of 40 of unified are input's, 30 and 60 output's.

    110 for 9 M uncached and 2 M cached: 10 M units, so 11 and 5.5 a million; 11 M in all: 10 each.
    90 for 2 M of output: 45.
    """
    stages = [
        ("prefill", 100, (10 * M, 2 * M, 0)),
        ("decode", 60, (0, 0, M)),
        ("unified", 40, (M, 0, M)),
    ]
    group = together([server(*each) for each in stages])
    assert per_million(group, kappa=Fraction(1, 2), output_weight=3) == (
        10,
        11,
        Fraction("5.5"),
        45,
    )


def test_an_idle_server_of_a_group_costs_too():
    """A second prefill server of 10 that did nothing: 20 + 10 for 10 M in, 6 for 3 M out."""
    servers = [
        ("prefill", 20, (10 * M, 0, 0)),
        ("prefill", 10, (0, 0, 0)),
        ("decode", 6, (0, 0, 3 * M)),
    ]
    assert per_million(together([server(*each) for each in servers])) == (3, 3, 0, 2)


def test_a_group_with_an_unknown_part_has_no_split():
    """A unified server without ω; a server whose cost nobody stated; a stage nobody knows."""
    prefill = server("prefill", 20, (M, 0, 0))
    for other in (("unified", 1, (M, 0, M)), ("decode", None, (0, 0, M)), (None, 1, (M, 0, M))):
        assert per_million(together([prefill, server(*other)])) == (None, None, None, None)


@given(
    st.lists(st.tuples(st.sampled_from(("prefill", "decode", "unified")), counts, counts, counts)),
    st.fractions(Fraction(1, 100), 1),
)
def test_a_group_pays_the_cost_of_all_its_servers(members, kappa):
    """Property: Σ tokens × cost per token = Σ cost, where each stage has tokens to lie on."""
    servers = [server(stage, "7.31", (a + b + 1, b, c + 1)) for stage, a, b, c in members]
    found = per_million(together(servers), kappa=kappa, output_weight=2)
    enters = [each for each in servers if each.stage != "decode"]
    cached = sum(each.cached_tokens for each in enters)
    tokens = (
        sum(each.input_tokens for each in enters) - cached,
        cached,
        sum(each.output_tokens for each in servers if each.stage != "prefill"),
    )
    paid = sum(n * each for n, each in zip(tokens, found[1:], strict=True) if each is not None)
    assert paid == Fraction("7.31") * M * len(servers)


@given(counts, counts, counts, st.fractions(0, 1), st.fractions(0, 100))
def test_the_lines_pay_the_whole_cost(uncached, cached, output, kappa, weight):
    """Property: Σ tokens × cost per token = cost, exactly, where anything took time."""
    found = costs(
        "unified", "7.31", (uncached + cached, cached, output), kappa=kappa, output_weight=weight
    )
    paid = sum(
        (tokens * Fraction(each) for tokens, each in zip(
            (uncached, cached, output), found[1:], strict=True
        ) if each is not None),
        Fraction(0),
    )  # fmt: skip
    did = uncached + kappa * cached + weight * output
    assert paid == (Fraction("7.31") * M if did else 0)
