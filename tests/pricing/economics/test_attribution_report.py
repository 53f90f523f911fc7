"""Σ servers = Σ tenants = billed under every rule, for whatever cells the ledger may hold."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pricing.attribution import settled
from pricing.capacity_game import Alone
from pricing.reports.attribution_rules import Rule, RuleName, split

QUANTA = st.integers(-(10**24), 10**24)
AMOUNTS = [f"{name}_amount" for name in ("uncached", "cached", "cold", "output", "first")]
SPEED = st.integers(0, 10**6)
TOKENS = st.integers(0, 10**12)
RATIO = st.decimals("0", "1", places=9)


@st.composite
def cells(draw):
    """One prefill server, decode server and tenant with any billed amounts, reversals too."""
    amounts = {name: Decimal(draw(QUANTA)).scaleb(-15) for name in AMOUNTS}
    tokens = {n: draw(TOKENS) for n in ("uncached_tokens", "cached_tokens", "output_tokens")}
    nodes = {"input_node_id": draw(st.sampled_from("pu")), "output_node_id": "u"}
    return amounts | tokens | nodes


@st.composite
def rules(draw):
    """Any rule with any options and costs."""
    return Rule(
        name=draw(st.sampled_from(RuleName)),
        kv_share=draw(RATIO),
        first_token_to_prefill=draw(st.booleans()),
        kappa=draw(RATIO),
        unit_costs={"p": draw(RATIO), "u": draw(RATIO)},
        kv_cost=draw(RATIO),
        rated={"p": draw(SPEED), "u": draw(SPEED)},
        alone=Alone(draw(st.integers(1, 9)), draw(st.integers(1, 9))),
    )


@given(cells(), rules())
def test_every_rule_splits_the_billed_amount_and_nothing_else(cell, rule):
    """I1: to the last of 15 digits, whatever the rule, its options and costs."""
    billed = cell["uncached_amount"] + cell["cached_amount"] + cell["output_amount"]
    assert sum(settled(split(cell, rule)).values()) == billed


@given(cells(), RATIO)
def test_price_line_gives_the_kv_store_its_share_of_hits_alone(cell, share):
    """A-kv: prefill loses what the store gains; decode keeps the output line."""
    plain, shared = split(cell, Rule()), split(cell, Rule(kv_share=share))
    assert shared["decode"] == plain["decode"]
    assert plain["prefill"] - shared["prefill"] == shared["kv_store"]
