"""Random usage for random books: whatever a price may look at, and its exact price."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from hypothesis import strategies as st

from metering.windows import Window
from pricing.directory import Directory
from pricing.price_book import Catalogue, PriceQuery
from tests.pricing.settle.legs import leg, rules

# clocks change on this day in three of the zones of price_strategies.ZONES
DAY = datetime(2026, 10, 25, tzinfo=UTC)
SPAN = Window(DAY - timedelta(days=3), DAY + timedelta(days=9))
TENANTS = Directory(contract_tenants=frozenset({"t1"}))


@st.composite
def usage(draw, legs_max=5):
    """Unified legs around DAY, their counts around the bounds of the tiers."""
    made = []
    for index in range(draw(st.integers(1, legs_max))):
        start_at = DAY + timedelta(minutes=15 * draw(st.integers(-60, 150)))
        input_tokens = draw(st.integers(0, 14))
        output_tokens = draw(st.integers(0, 14))
        own = {
            "started_at": start_at,
            "finished_at": start_at + timedelta(seconds=2),
            "tenant_id": draw(st.sampled_from(["t1", "t2", None])),
            "model_id": draw(st.sampled_from(["m-river", "m-river", "m-sea"])),
            "service_tier": draw(st.sampled_from([None, "batch", "flex"])),
            "region": draw(st.sampled_from([None, "us", "moon"])),
            "input_tokens": input_tokens,
            "cached_input_tokens": draw(st.none() | st.integers(0, input_tokens)),
            "output_tokens": output_tokens,
            "reasoning_tokens": draw(st.none() | st.integers(0, output_tokens)),
        }
        made.append(leg(f"u{index}", **own))
    return made


def ruled(listed):
    """Rules of a book whose contract is t1's, and which says nothing about closed months."""
    return rules(Catalogue([listed], listed.name), TENANTS)


def exact_price(listed, row):
    """Money of a leg as a fraction, from the quote of the request itself; None: unpriced.

    Contract §3: an unknown cached part matters only where it costs something else than input.
    """
    price = Catalogue([listed], listed.name).quote(query(row)).price
    if price is None:
        return None
    cached, think = row["cached_input_tokens"], row["reasoning_tokens"] or 0
    if cached is None and row["input_tokens"] and price.input_price != price.cached_price:
        return None
    hits = cached or 0
    lines = (
        (row["input_tokens"] - hits, price.input_price),
        (hits, price.cached_price),
        (row["output_tokens"] - think, price.output_price),
        (think, price.reasoning_price),
    )
    if any(tokens and unit is None for tokens, unit in lines):
        return None
    return sum((tokens * Fraction(unit or 0) for tokens, unit in lines), Fraction(0)) / 10**6


def query(row):
    """What the price looks at."""
    return PriceQuery(
        model_id=row["model_id"],
        at=row["started_at"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        service_tier=row["service_tier"],
        region=row["region"],
        tenant_id=row["tenant_id"],
    )
