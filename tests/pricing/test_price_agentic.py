"""The agentic trace under the imported genai-prices book, against an independent total."""

import gzip
import re
from collections import Counter, defaultdict
from decimal import Decimal
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from pricing.books.genai_prices import import_genai_prices
from pricing.books.imported import ImportOptions
from pricing.price_book import Catalogue, PriceQuery
from tests.pricing.price_rows import utc

BLOCK_TOKENS = 64
LONG_CONTEXT = 200_000
DATED = re.compile(r"-\d{8}$")  # claude-opus-4-5-20251101
COLUMNS = ["trace_id", "model", "input_tokens", "output_tokens", "hash_run_start", "hash_run_len"]


def leading_hits(runs: list[range], seen: set[int]) -> int:
    """Leading blocks already seen within the trace, of one request's blocks in order."""
    hits = 0
    for run in runs:
        for block in run:
            if block not in seen:
                return hits
            hits += 1
    return hits


def tokens_by_price_side(path) -> dict[tuple[str, bool], Counter[str]]:
    """Uncached, cached and output tokens by model and whether the input exceeds 200,000."""
    seen: dict[str, set[int]] = defaultdict(set)
    sums: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for row in pq.read_table(path, columns=COLUMNS).to_pylist():
        starts, lengths = row["hash_run_start"], row["hash_run_len"]
        runs = [range(a, a + n) for a, n in zip(starts, lengths, strict=True)]
        known, total = seen[row["trace_id"]], row["input_tokens"]
        cached = min(leading_hits(runs, known) * BLOCK_TOKENS, total)
        known.update(*runs)
        side = sums[row["model"], total > LONG_CONTEXT]
        side += Counter(input=total - cached, cached_input=cached, output=row["output_tokens"])
        sums[row["model"], total > LONG_CONTEXT]["requests"] += 1
    return sums


@pytest.mark.slow
def test_agentic_trace_equals_the_independent_total(shared):
    """facts/prices.md §2.2: 49,334 requests, USD 4,381.754540, by model as listed there."""
    dump = (shared / "data/prices/genai_prices_0.2.3_dump.json.gz").read_bytes()
    options = ImportOptions(provider="anthropic", currency="USD")
    book = import_genai_prices(gzip.decompress(dump).decode(), options).book
    catalogue = Catalogue([book], book.name)
    amounts: dict[str, Fraction] = defaultdict(Fraction)
    sums = tokens_by_price_side(shared / "data/traces/kvct_agentic_requests.parquet")
    for (model, is_long), tokens in sums.items():
        size = LONG_CONTEXT + is_long
        query = PriceQuery(model_id=model, at=utc("2026-06-01T00:00Z"), input_tokens=size)
        price = catalogue.quote(query).price
        lines = {"input": price.input_price, "cached_input": price.cached_price,
                 "output": price.output_price}  # fmt: skip
        amounts[DATED.sub("", model)] += (
            sum(tokens[n] * Fraction(unit) for n, unit in lines.items()) / 10**6
        )
    assert sum(of["requests"] for of in sums.values()) == 49_334
    assert sum(amounts.values()) == Fraction("4381.754540")
    assert {name: Decimal(a.numerator) / a.denominator for name, a in sorted(amounts.items())} == {
        "claude-haiku-4-5": Decimal("9.6582882"),
        "claude-opus-4-1": Decimal("133.504599"),
        "claude-opus-4-5": Decimal("1711.764316"),
        "claude-opus-4-6": Decimal("580.126879"),
        "claude-sonnet-4": Decimal("322.6796172"),
        "claude-sonnet-4-5": Decimal("1624.0208406"),
    }
