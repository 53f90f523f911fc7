"""Every token-priced entry of LiteLLM's map: our book's amount is the amount of LiteLLM itself."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest

from pricing.books.imported import ImportOptions
from pricing.books.litellm import import_litellm
from pricing.money import exact_sum, token_charge
from pricing.price_book import Catalogue, PriceQuery

CALCULATOR = Path(__file__).with_name("litellm_amounts.py")
# input, of it cached, of it written, output: around the thresholds of the map
SIZES = ((1_000, 300, 100, 50), (200_000, 150_000, 0, 7), (200_001, 1, 0, 7), (300_000, 0, 0, 1))
NOON, PEAK = "2026-06-01T12:00:00+00:00", "2026-11-16T02:00:00+00:00"
FLOAT_NOISE = Decimal("1e-9")  # of the amount: LiteLLM adds doubles
# LiteLLM's code, not its map, sells a Fireworks hit without a price at half the input price
HALF_PRICE_HITS = "fireworks_ai"
# under the provider and this name the library finds another entry of its map
OTHER_ENTRY = {"deepseek-chat", "gemini-exp-1206", "perplexity/perplexity/sonar"}


def amount(catalogue: Catalogue, case: dict) -> str | None:
    """What the book makes of a case; None where a line has no price."""
    tokens, cached, written, output = case["counts"]
    query = PriceQuery(
        model_id=case["model"],
        at=datetime.fromisoformat(case["at"]),
        input_tokens=tokens,
        output_tokens=output,
        service_tier=case["tier"],
    )
    price = catalogue.quote(query).price
    lines = (
        (tokens - cached - written, price and price.input_price),
        (cached, price and price.cached_price),
        (written, price and price.cache_write_price),
        (output, price and price.output_price),
    )
    if any(count and unit is None for count, unit in lines):
        return None
    return str(exact_sum([token_charge(n, unit) for n, unit in lines if unit is not None]))


def cases(litellm_text: str, litellm_map: dict) -> Iterator[tuple[dict, str]]:
    """Requests to every imported entry whose prices were not rounded, and our amounts."""
    for provider in sorted({raw.get("litellm_provider", "one of") for raw in litellm_map.values()}):
        if provider.startswith("one of"):
            continue
        result = import_litellm(litellm_text, ImportOptions(provider=provider, currency="USD"))
        rounded = {item.model for item in result.unsaid if item.kind == "rounded"}
        catalogue = Catalogue([result.book], result.book.name)
        for model in {entry.model for entry in result.book.entries} - rounded - OTHER_ENTRY:
            raw = litellm_map[model]
            tiers = [t for t in ("priority", "flex") if any(key.endswith(t) for key in raw)]
            times = (NOON, PEAK) if "off_peak_pricing" in raw else (NOON,)
            for counts, at, tier in product(SIZES, times, (None, *tiers)):
                case = {"model": model, "provider": provider, "at": at}
                case |= {"tier": tier, "counts": counts}
                if (ours := amount(catalogue, case)) is not None:
                    yield case, ours


@pytest.fixture(scope="module")
def compared(litellm_text, litellm_map) -> list[tuple[dict, Decimal, Decimal]]:
    """(case, ours, theirs); the library runs in a process of its own."""
    asked = list(cases(litellm_text, litellm_map))
    text = json.dumps([case for case, _ in asked])
    command = [sys.executable, "-W", "ignore", str(CALCULATOR)]
    answer = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    theirs = json.loads(answer.stdout.splitlines()[-1])
    return [
        (case, Decimal(ours), Decimal(their))
        for (case, ours), their in zip(asked, theirs, strict=True)
        if their is not None
    ]


def test_amounts_of_3500_models_equal_the_librarys(compared):
    """Independent implementation: generic_cost_per_token of LiteLLM 1.110.2 and its own map."""
    plain = [each for each in compared if each[0]["provider"] != HALF_PRICE_HITS]
    for case, ours, theirs in plain:
        assert abs(ours - theirs) <= theirs * FLOAT_NOISE, case
    assert len({case["model"] for case, _, _ in plain}) > 3_500


def test_the_one_rule_that_the_map_does_not_hold_is_known(litellm_map, compared):
    """Fireworks: hits without a price of their own at half the input price, by LiteLLM's code."""
    for case, ours, theirs in compared:
        if case["provider"] == HALF_PRICE_HITS:
            raw = litellm_map[case["model"]]
            half = Decimal(str(raw.get("input_cost_per_token", 0))) / 2 * case["counts"][1]
            expected = ours if "cache_read_input_token_cost" in raw else ours - half
            assert abs(expected - theirs) <= ours * FLOAT_NOISE, case
