"""Server economics: DeepSeek's published day, SGLang, InferenceX, SYNTH-1 (economics.md §2, §4)."""

import csv
import json
from decimal import Decimal
from fractions import Fraction

import pytest

from pricing.economics import (
    Measured,
    cost_per_million_tokens,
    economics,
    gross_margin,
    hourly_cost_per_million_tokens,
    input_line_costs,
    margin_on_cost,
    net_of_vat,
    node_hours,
    split_by_node_hours,
    utilization_ratio,
)
from pricing.formula import TokenPrices

B = 10**9
DAY = 86_400
INPUT, HIT, OUTPUT = 608 * B, 342 * B, 168 * B
R1 = TokenPrices(
    input_price=Decimal("0.55"), cached_price=Decimal("0.14"), output_price=Decimal("2.19")
)
COST = Decimal(87072)
PUBLISHED_REVENUE = 562_027


def deepseek_lines():
    """USD of cached, uncached and output lines, from the rounded token counts."""
    lines = ((HIT, R1.cached_price), (INPUT - HIT, R1.input_price), (OUTPUT, R1.output_price))
    return [tokens * Fraction(price) / 10**6 for tokens, price in lines]


def test_deepseek_revenue_of_a_day():
    """47,880 + 146,300 + 367,920 = 562,100; published 562,027, within 0.02 %."""
    assert deepseek_lines() == [47_880, 146_300, 367_920]
    assert sum(deepseek_lines()) == pytest.approx(PUBLISHED_REVENUE, rel=2e-4)


def test_deepseek_margins_have_two_definitions():
    """545.47 % on cost, 84.51 % of revenue, both from the published 562,027."""
    assert float(margin_on_cost(PUBLISHED_REVENUE, COST)) == pytest.approx(5.4547, abs=5e-5)
    assert float(gross_margin(PUBLISHED_REVENUE, COST)) == pytest.approx(0.8451, abs=5e-5)


def test_deepseek_nodes_by_role():
    """95.48 prefill + 131.38 decode nodes = 226.86, published average 226.75 (0.05 %)."""
    prefill, decode = node_hours(INPUT, 73_700) / 24, node_hours(OUTPUT, 14_800) / 24
    assert float(prefill) == pytest.approx(95.48218503442385, rel=1e-14)
    assert float(decode) == pytest.approx(131.38138138138137, rel=1e-14)
    assert float(prefill + decode) == pytest.approx(226.75, rel=5.1e-4)
    assert float(prefill / decode) == pytest.approx(0.727, abs=5e-4)


def test_deepseek_node_hours_split():
    """2,291.6 and 3,153.2 node-hours: 42.1 % to prefill, 57.9 % to decode."""
    hours = {"prefill": node_hours(INPUT, 73_700), "decode": node_hours(OUTPUT, 14_800)}
    assert [float(h) for h in hours.values()] == pytest.approx([2291.6, 3153.2], abs=0.05)
    split = split_by_node_hours(COST, hours)
    assert sum(split.values()) == COST
    assert float(split["prefill"] / Fraction(COST)) == pytest.approx(0.421, abs=5e-4)


def test_deepseek_cost_per_million_tokens():
    """$0.0603 per input MTok, $0.1378 per uncached, $0.3003 per output, at 16 $/node-hour."""
    prefill, decode = 16 * node_hours(INPUT, 73_700), 16 * node_hours(OUTPUT, 14_800)
    assert float(cost_per_million_tokens(prefill, INPUT)) == pytest.approx(0.0603, abs=5e-5)
    assert float(cost_per_million_tokens(prefill, INPUT - HIT)) == pytest.approx(0.1378, abs=5e-5)
    assert float(cost_per_million_tokens(decode, OUTPUT)) == pytest.approx(0.3003, abs=5e-5)


def test_deepseek_revenue_per_node():
    """Price-line: $2,033.7 per prefill node and day, $2,800.4 per decode node."""
    cached, uncached, output = deepseek_lines()
    prefill, decode = node_hours(INPUT, 73_700) / 24, node_hours(OUTPUT, 14_800) / 24
    assert float((cached + uncached) / prefill) == pytest.approx(2033.7, abs=0.05)
    assert float(output / decode) == pytest.approx(2800.4, abs=0.05)


def test_deepseek_hit_ratio_and_uncached_rate():
    """342/608 = 56.25 % (published 56.3); 73,700 · 0.4375 = 32,243.75 tok/s; load 81.6 %."""
    figures = economics(Measured(seconds=DAY, input_tokens=INPUT, cached_tokens=HIT))
    assert figures.hit_ratio == Fraction("0.5625")
    assert 73_700 * (1 - figures.hit_ratio) == Fraction("32243.75")
    assert float(Fraction("226.75") / 278) == pytest.approx(0.816, abs=5e-4)


def test_deepseek_hours_read_off_the_figure(shared):
    """24 hourly bars sum to the day within 0.21 %; the night margin is below the day's."""
    path = shared / "data/economics/deepseek_2025-02-27_hourly_from_figure.csv"
    rows = list(csv.reader(path.read_text().splitlines()))[1:]
    cost, income = (sum(int(row[i]) for row in rows) for i in (1, 2))
    assert cost == pytest.approx(87_072, rel=2.1e-3)
    assert income == pytest.approx(PUBLISHED_REVENUE, rel=2e-3)
    margins = {row[0]: gross_margin(int(row[2]), int(row[1])) for row in rows}
    assert margins["04:00"] < gross_margin(income, cost) < margins["22:00"]


def test_sglang_cost_of_output_omits_prefill():
    """8 · $2 / 22,300 tok/s = $0.1993 (published 0.20): decode nodes only; all 12: 0.2657."""
    decode = hourly_cost_per_million_tokens(16, 22_300)
    assert float(decode) == pytest.approx(0.1993, abs=5e-5)
    assert float(decode * 12 / 9) == pytest.approx(0.2657, abs=5e-5)
    assert float(hourly_cost_per_million_tokens(16, 52_300)) == pytest.approx(0.0850, abs=5e-5)


@pytest.mark.parametrize(
    ("per_hour", "rate", "cost"),
    [
        ("2.8", 1000, 0.77778),
        ("2.8", 500, 1.5556),
        ("2.8", 200, 3.8889),
        ("10", 1000, 2.7778),
    ],
)
def test_dollars_per_hour_over_tokens_per_hour(per_hour, rate, cost):
    """InferenceX (economics.md §2h) and inference-perf #139 (§2n)."""
    found = hourly_cost_per_million_tokens(Decimal(per_hour), rate)
    assert float(found) == pytest.approx(cost, abs=5e-5)


def test_token_factory_stack():
    """§2i: $2.00/h at 442 tok/s · 75 % = 1,193,400 tok/h → $1.67588/MTok, 16.2 % at $2."""
    rate = 442 * Fraction(3, 4)
    assert rate * 3600 == 1_193_400
    cost = hourly_cost_per_million_tokens(2, rate)
    assert float(cost) == pytest.approx(1.67588, abs=5e-6)
    assert float(gross_margin(2, cost)) == pytest.approx(0.162, abs=5e-4)
    assert float(gross_margin(2, Decimal("1.66"))) == pytest.approx(0.17, abs=5e-4)


def test_opencost_inference_example():
    """§2l: $3.20/h, 12 M in (0.8 M cached), 3 M out, half the time each."""
    halves = split_by_node_hours(Decimal("3.2"), {"in": 600, "out": 600})
    blended = cost_per_million_tokens(Decimal("3.2"), 15 * 10**6)
    assert float(blended) == pytest.approx(0.2133, abs=5e-5)
    effective = cost_per_million_tokens(halves["in"], 12 * 10**6 - 800_000)
    assert float(effective) == pytest.approx(0.142857, abs=5e-7)
    assert float(cost_per_million_tokens(halves["out"], 3 * 10**6)) == pytest.approx(
        0.5333, abs=5e-5
    )


@pytest.mark.parametrize(
    ("tokens", "dollars", "blended"),
    [(4_167_850, "1.857", 0.4456), (1_190, "0.016", 13.445), (3_390, "0.023", 6.785)],
)
def test_agents_spend(tokens, dollars, blended):
    """§2c, arXiv 2604.22750: blended $/MTok per task."""
    assert float(cost_per_million_tokens(Decimal(dollars), tokens)) == pytest.approx(
        blended, abs=5e-4
    )


def test_splitwise_cost_ratio():
    """§2f: DGX H100 $38/h against A100 $17.6/h: 2.159 (published 2.16)."""
    ratio = hourly_cost_per_million_tokens(38, 1000) / hourly_cost_per_million_tokens(
        Decimal("17.6"), 1000
    )
    assert float(ratio) == pytest.approx(2.159, abs=5e-4)


@pytest.mark.parametrize(
    ("utilization", "uncached", "cached"),
    [("0.4", 6.845790, 0.136916), ("1", 2.738316, 0.054766)],
)
def test_synth_1_cost_per_line(utilization, uncached, cached):
    """§4.2: cost per miss and per hit MTok at κ = 0.02; their ratio is κ."""
    cost = Fraction(70_076) + Fraction(2, 3)  # 42,833.33 + 27,243.33
    tokens = Fraction("216874195200") * Fraction(utilization)
    lines = input_line_costs(
        cost, input_tokens=tokens, hit_ratio=Decimal("0.9"), kappa=Decimal("0.02")
    )
    assert [float(line) for line in lines] == pytest.approx([uncached, cached], abs=5e-7)
    paid = tokens / 10**6 * (Fraction("0.1") * lines[0] + Fraction("0.9") * lines[1])
    assert paid == cost


def test_synth_1_cost_and_energy_per_million_tokens():
    """§4.2 at U = 0.4: 0.807803 CNY; energy 0.0405 CNY and 0.0622 kWh per MTok."""
    tokens = Fraction("216874195200") * Fraction("0.4")
    cost = cost_per_million_tokens(Fraction(70_076) + Fraction(2, 3), tokens)
    assert float(cost) == pytest.approx(0.807803, abs=5e-7)
    assert float(cost_per_million_tokens(3510, tokens)) == pytest.approx(0.0405, abs=5e-5)
    assert float(cost_per_million_tokens(5400, tokens)) == pytest.approx(0.0622, abs=5e-5)


@pytest.mark.parametrize(
    ("utilization", "net", "margin", "profit"),
    [
        ("0.1", 53_195.56, -0.3173, -16_881.11),
        ("0.2", 106_391.11, 0.3413, 36_314.45),
        ("0.4", 212_782.23, 0.6707, 142_705.56),
        ("1", 531_955.57, 0.8683, 461_878.91),
    ],
)
def test_synth_1_margins_by_utilisation(utilization, net, margin, profit):
    """§4.2 table: 6 % VAT inside the price, accounting cost 70,076.67 a month."""
    gross = Fraction("563872.90752") * Fraction(utilization)
    revenue = net_of_vat(gross, Decimal("0.06"))
    figures = economics(
        Measured(seconds=30 * DAY, revenue=revenue, cost=Fraction(70_076) + Fraction(2, 3))
    )
    assert float(revenue) == pytest.approx(net, abs=0.005)
    assert float(figures.gross_margin) == pytest.approx(margin, abs=5e-5)
    assert float(figures.profit) == pytest.approx(profit, abs=0.006)


@pytest.mark.parametrize(
    ("prefill", "decode", "net", "cost", "margin"),
    [(2, 4, 517_224.50, 980_153.34, -0.895), (4, 2, 1_034_448.99, 700_306.68, 0.323)],
)
def test_a_prefill_only_case_is_not_transferable(prefill, decode, net, cost, margin):
    """§4.2: in:out 50:1, p_o 28; 2P4D loses 89.5 %, 4P2D earns 32.3 %."""
    input_revenue = prefill * Fraction("225549.163008")
    output_tokens = prefill * Fraction("216874195200") * Fraction("0.4") / 50
    revenue = net_of_vat(input_revenue + output_tokens * 28 / 10**6, Decimal("0.06"))
    spent = prefill * Fraction("70076.67") + decode * 210_000
    assert float(revenue) == pytest.approx(net, abs=0.01)
    assert float(spent) == pytest.approx(cost, abs=0.005)
    assert float(gross_margin(revenue, spent)) == pytest.approx(margin, abs=5e-4)


def test_utilisation_counts_tokens():
    """A decode server is rated by output: 2,000 of 5,000 tok/s is 40 %; unrated is unknown."""
    decode = Measured(
        seconds=DAY, output_tokens=2_000 * DAY, rated_tokens_per_second=5_000, output_is_work=True
    )
    assert economics(decode).utilization_ratio == Fraction("0.4")
    assert economics(Measured(seconds=DAY, input_tokens=5)).utilization_ratio is None


def test_unknown_is_none():
    """No traffic and no cost: ratios and costs are unknown, not 0."""
    figures = economics(Measured(seconds=0))
    assert figures.hit_ratio is None
    assert figures.input_tokens_per_second is None
    assert figures.gross_margin is None
    assert figures.cost_per_million_input is None
    assert margin_on_cost(1, 0) is None


def test_utilisation_as_a_product():
    """0.99 · 0.9 · 0.5 · 0.98 = 0.43659."""
    whole = utilization_ratio(
        availability=Decimal("0.99"),
        in_service=Decimal("0.9"),
        load=Decimal("0.5"),
        billed_to_processed=Decimal("0.98"),
    )
    assert whole == Fraction("0.43659")
    with pytest.raises(ValueError, match=r"0\.\.1"):
        utilization_ratio(availability=2, in_service=1, load=1, billed_to_processed=1)


def test_no_input_has_no_line_cost():
    """A cost without input tokens cannot be charged to them."""
    with pytest.raises(ValueError, match="nothing to charge"):
        input_line_costs(1, input_tokens=0, hit_ratio=0, kappa=0)


def test_deepseek_vector(shared):
    """facts/vectors.json: deepseek."""
    row = json.loads((shared / "facts/vectors.json").read_text())["deepseek"]
    assert deepseek_lines() == row["lines"]
    assert sum(deepseek_lines()) == row["rev"]
    assert float(node_hours(INPUT, 73_700) / 24) == pytest.approx(row["P_nodes"], rel=1e-14)
    assert float(node_hours(OUTPUT, 14_800) / 24) == pytest.approx(row["D_nodes"], rel=1e-14)
    assert float(node_hours(INPUT, 73_700)) + float(node_hours(OUTPUT, 14_800)) == pytest.approx(
        24 * row["avg_nodes_published"], rel=5.1e-4
    )
    assert row["cost"] == 226.75 * 8 * 24 * 2
