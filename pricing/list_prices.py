"""What a line of a document costs at the list: the same rules without the contract's percent."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import product
from typing import Final

from pricing.invoices import InvoiceLine
from pricing.money import exact_arithmetic
from pricing.price_book import Book, PriceQuery, price_steps
from pricing.price_entry import Contract, Entry, Tier, resolved

PRICES_OF_LINE: Final[Mapping[str, tuple[str, ...]]] = {
    "input": ("input",),
    "cached_input": ("cached_input", "cached_input_explicit"),
    "cache_write": ("cache_write", "cache_write_1h"),
    "output": ("output",),
    "reasoning": ("reasoning",),
}
CONDITIONS: Final = ("context_tier", "band", "service_tier", "region")


def list_unit_price(book: Book, line: InvoiceLine) -> Decimal | None:
    """List price per million tokens of a line under a percent contract of `book`.

    None where `book` does not lead to the line's own price, or leads to it from two list prices
    (100 percent off): then it cannot be told.
    """
    contract = next((each for each in book.contracts if each.name == line.contract), None)
    entry = next((each for each in book.entries if each.name == line.entry), None)
    if contract is None or contract.percent_off is None or entry is None:
        return None
    with exact_arithmetic():
        found = set(_candidates(entry, contract, line))
    return found.pop() if len(found) == 1 else None


def _candidates(entry: Entry, contract: Contract, line: InvoiceLine) -> Iterator[Decimal]:
    """List prices that the contract turns into the line's price, under the line's conditions."""
    band = next((each for each in entry.bands if each.name == line.band), None)
    tiers = (Tier(prices={}), *entry.all_tiers())
    sizes = product({tier.input_from for tier in tiers}, {tier.output_from for tier in tiers})
    for input_tokens, output_tokens in sizes:  # between these bounds no price changes
        query = PriceQuery(
            model_id=entry.model,
            at=entry.effective_from,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            service_tier=line.service_tier,
            region=line.region,
        )
        steps = tuple(price_steps(entry, band, None, query))
        rules = {step.rule: step.name for step in steps}
        if any(rules.get(name) != getattr(line, name) for name in CONDITIONS):
            continue
        prices = resolved(steps[-1].prices)
        for name in PRICES_OF_LINE.get(line.line or "", ()):
            price = prices[name]
            if price is not None and price * contract.factor == line.unit_price:
                yield price
