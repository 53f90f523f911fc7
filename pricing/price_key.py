"""PriceKey: the line prices that one request pays, and everything that decided them."""

import hashlib
import json
from dataclasses import dataclass, fields
from decimal import Decimal

from pricing.money import PRICE_FRACTION_DIGITS, PRICE_MAX, fraction_digits, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceKey:
    """Resolved prices per million tokens in `currency`; None where the book has no such price.

    entry: model@effective_from of the book's entry. context_tier, band, service_tier, region and
    contract name the rules that applied, None where none did. The book's rules for missing prices
    are already applied (a missing cache_write_price is the input price, and so on).
    """

    currency: str
    book: str
    book_revision: str
    entry: str
    context_tier: str | None = None
    band: str | None = None
    service_tier: str | None = None
    region: str | None = None
    contract: str | None = None
    input_price: Decimal | None = None
    cached_price: Decimal | None = None
    cached_explicit_price: Decimal | None = None
    cache_write_price: Decimal | None = None
    cache_write_1h_price: Decimal | None = None
    output_price: Decimal | None = None
    reasoning_price: Decimal | None = None

    def __post_init__(self) -> None:
        for name in PRICE_FIELDS:
            price = getattr(self, name)
            if price is None:
                continue
            if fraction_digits(price) > PRICE_FRACTION_DIGITS or not 0 <= price < PRICE_MAX:
                raise ValueError(
                    f"{name} of {self.entry} must lie in 0..{PRICE_MAX} with at most "
                    f"{PRICE_FRACTION_DIGITS} fraction digits, got {price}"
                )

    @property
    def id(self) -> int:
        """Signed 64-bit number from SHA-256 of the content: the same content, the same number.

        The book's revision is left out: a revision that does not change what a request pays must
        not look like another price, or publishing it would reverse every open request.
        """
        content = [
            plain(value) if isinstance(value, Decimal) else value
            for value in (getattr(self, name) for name in _CONTENT_FIELDS)
        ]
        digest = hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)


PRICE_FIELDS = tuple(f.name for f in fields(PriceKey) if f.name.endswith("_price"))
_CONTENT_FIELDS = tuple(f.name for f in fields(PriceKey) if f.name != "book_revision")
