"""LiteLLM's price fields, taken apart: key of a book, context threshold, service tier.

A field is <price>[_above_<ttl>hr][_above_<n>k_tokens][_<service tier>], in USD per token.
"""

import re
from dataclasses import dataclass
from typing import Final

TOKENS_PER_K: Final = 1000
# LiteLLM bills these from the threshold on, all others strictly above it.
INCLUSIVE_PROVIDERS: Final = frozenset({"xai"})
BATCH: Final = "batch"
SERVICE_TIERS: Final = {
    "batches": BATCH,
    "priority": "priority",
    "flex": "flex",
    "balanced": "balanced",
    "ultrafast": "ultrafast",
    "decisions": "decisions",
}
PRICES: Final = {
    "input_cost_per_token": "input",
    "cache_read_input_token_cost": "cached_input",
    "input_cost_per_token_cache_hit": "cached_input",
    "explicit_cache_read_input_token_cost": "cached_input_explicit",
    "cache_creation_input_token_cost": "cache_write",
    "cache_creation_input_token_cost_above_1hr": "cache_write_1h",
    "output_cost_per_token": "output",
    "output_cost_per_reasoning_token": "reasoning",
}
OLD_HIT_NAME: Final = "input_cost_per_token_cache_hit"
_FIELD: Final = re.compile(
    r"(?P<price>.+?)(?:_above_(?P<k>\d+)k_tokens)?(?:_(?P<tier>" + "|".join(SERVICE_TIERS) + "))?"
)
# Fields that say something about money, or about what must be paid for, but are no token price.
_MONEY: Final = re.compile(r"cost|uplift|pricing|provider_specific_entry|free_requests")
_NO_MONEY: Final = frozenset({"token_count_model", "search_free_requests"})


@dataclass(frozen=True, slots=True)
class PriceField:
    """One token price of the file. threshold_tokens: of the total input; None: none.

    service_tier: the book's name of it, None: standard.
    """

    name: str
    threshold_tokens: int | None
    service_tier: str | None


def price_field(field: str) -> PriceField | None:
    """What a field of LiteLLM's map prices; None if it is no token price that a book has."""
    parts = _FIELD.fullmatch(field)
    if parts is None or parts["price"] not in PRICES:
        return None
    return PriceField(
        name=PRICES[parts["price"]],
        threshold_tokens=int(parts["k"]) * TOKENS_PER_K if parts["k"] else None,
        service_tier=SERVICE_TIERS.get(parts["tier"]) if parts["tier"] else None,
    )


def is_about_money(field: str) -> bool:
    """Whether leaving the field out could change what a request costs."""
    return field not in _NO_MONEY and _MONEY.search(field) is not None
