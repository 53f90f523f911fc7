"""Lines, totals and credit notes against figures by hand and properties."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from pricing.invoices import (
    Digest,
    InvoiceLine,
    PricedSum,
    annex,
    credit_lines,
    dispute_line,
    set_off,
    sha256_of,
    totals,
    usage_lines,
)
from pricing.money import exact_sum
from pricing.price_key import PriceKey
from pricing.rating import Lines

JUNE, MAY = date(2026, 6, 1), date(2026, 5, 1)


def price(**change):
    """Case C19's prices: 1.50 input, 0.15 cached, 2.00 output, per million tokens in CNY."""
    base = {
        "currency": "CNY",
        "book": "list",
        "book_revision": "1",
        "entry": "m@2026-01-01",
        "input_price": Decimal("1.50"),
        "cached_price": Decimal("0.15"),
        "cached_explicit_price": Decimal("0.15"),
        "cache_write_price": Decimal("1.50"),
        "output_price": Decimal("2.00"),
        "reasoning_price": Decimal("2.00"),
    }
    return PriceKey(**base | change)


def summed(tokens, **change):
    """A sum of model m at C19's prices."""
    of = change.pop("price", price())
    return PricedSum(model_id="m", price=of, price_id=of.id, tokens=tokens, **change)


def amounts(*texts):
    """Lines that carry amounts alone."""
    return [
        InvoiceLine(
            kind="usage",
            service_month=JUNE,
            amount=Decimal(text),
            rounded_amount=Decimal(text).quantize(Decimal("0.01")),
        )
        for text in texts
    ]


def test_small_requests_are_rounded_once():
    """C19 a: 100,000 × (137, 91) tokens: 20.55 + 18.20 = 38.75."""
    lines = usage_lines([summed(Lines(uncached=13_700_000, output=9_100_000))], JUNE, "CNY")
    assert [line.rounded_amount for line in lines] == [Decimal("20.55"), Decimal("18.20")]
    assert totals(lines, "CNY", Decimal(0)).net == Decimal("38.75")


def test_a_total_is_the_sum_of_its_rounded_lines():
    """C19 b by our rule: 10.00 three times is 30.00, and 0.012 is the rounding difference."""
    found = totals(amounts("10.0049", "10.0030", "10.0041"), "CNY", Decimal(0))
    assert (found.net, found.exact) == (Decimal("30.00"), Decimal("30.0120"))
    assert found.rounding == Decimal("-0.0120")


def test_tax_is_rounded_once():
    """By hand: 38.75 × 0.06 = 2.325, half away from zero 2.33."""
    found = totals(amounts("38.75"), "CNY", Decimal("0.06"))
    assert (found.tax, found.gross) == (Decimal("2.33"), Decimal("41.08"))


def test_late_usage_is_a_line_of_its_own_month():
    """The same model and price, one line for June and one that corrects May."""
    sums = [summed(Lines(uncached=100)), summed(Lines(uncached=-40), corrects_month=MAY)]
    lines = usage_lines(sums, JUNE, "CNY")
    assert [(line.kind, line.service_month, line.tokens) for line in lines] == [
        ("usage", JUNE, 100),
        ("adjustment", MAY, -40),
    ]


def test_what_sums_to_nothing_makes_no_line():
    """A reversal and its repetition."""
    sums = [
        summed(Lines(output=7), corrects_month=MAY),
        summed(Lines(output=-7), corrects_month=MAY),
    ]
    assert usage_lines(sums, JUNE, "CNY") == []


def rerated(tokens, **change):
    """A sum of May that a re-rate took back (below 0) or charged."""
    return summed(tokens, corrects_month=MAY, is_rerate=True, **change)


def told(sums):
    """(line, tokens, unit price, tier) of each line."""
    lines = usage_lines(sums, JUNE, "CNY")
    return [(each.line, each.tokens, each.unit_price, each.context_tier) for each in lines]


def test_a_re_rate_shows_the_price_that_changed():
    """Input 1.50 → 1.20; output stays at 2.00 and is no line, though the entry has another name."""
    new = price(input_price=Decimal("1.20"), entry="m@2026-05-01")
    sums = [
        rerated(Lines(uncached=-5, output=-3)),
        rerated(Lines(uncached=5, output=3), price=new),
    ]
    assert told(sums) == [
        ("input", -5, Decimal("1.50"), None),
        ("input", 5, Decimal("1.20"), None),
    ]


def test_of_a_re_rate_at_one_price_the_rest_stays():
    """3 back at 2.00, 4 anew: 1 more. A tier that moved to 2.00 meets what its price gave back."""
    tier = price(context_tier=">10")
    sums = [
        rerated(Lines(output=-3)),
        rerated(Lines(output=-2), price=tier),
        rerated(Lines(output=4), price=price(entry="m@2026-05-01")),
        rerated(Lines(output=2), price=price(context_tier=">10", entry="m@2026-05-01")),
    ]
    assert told(sums) == [("output", 1, Decimal("2.00"), None)]
    assert told(sums[:3]) == [("output", -1, Decimal("2.00"), ">10")]


def test_two_cached_prices_are_two_lines():
    """Explicit hits at another price must not hide in the implicit ones' line."""
    own = price(cached_explicit_price=Decimal("0.10"))
    lines = usage_lines([summed(Lines(cached=10, cached_explicit=20), price=own)], JUNE, "CNY")
    assert [(line.line, line.tokens) for line in lines] == [
        ("cached_input", 20),
        ("cached_input", 10),
    ]


def test_the_annex_sums_to_the_exact_total():
    """Projects share lines; their exact amounts add up."""
    sums = [
        summed(Lines(uncached=1), project_id="a"),
        summed(Lines(uncached=2), project_id="b"),
        summed(Lines(output=3)),
    ]
    lines = usage_lines(sums, JUNE, "CNY")
    assert exact_sum(row.amount for row in annex(sums)) == totals(lines, "CNY", Decimal(0)).exact


def test_a_dispute_gives_back_on_the_line_it_names():
    """3.20 given back on line 2 of I-1."""
    lines = usage_lines([summed(Lines(uncached=13_700_000, output=9_100_000))], JUNE, "CNY")
    made = dispute_line(Decimal("3.20"), lines[1], number="I-1", position=2, reason="outage")
    assert (made.amount, made.corrects_number, made.corrects_position) == (
        Decimal("-3.20"),
        "I-1",
        2,
    )


counts = st.integers(-(10**12), 10**12)
price_texts = st.decimals(0, 999, places=9)
sums_of_a_month = st.lists(
    st.builds(
        lambda tokens, unit, late, is_rerate: summed(
            Lines(uncached=tokens[0], cached=tokens[1], output=tokens[2]),
            price=price(input_price=unit),
            corrects_month=MAY if late else None,
            is_rerate=late and is_rerate,
        ),
        st.tuples(counts, counts, counts),
        price_texts,
        st.booleans(),
        st.booleans(),
    ),
    max_size=8,
)


@given(sums_of_a_month, st.sampled_from(["0", "0.06", "0.13", "0.19"]))
def test_an_invoice_and_its_credit_note_are_nothing(sums, rate):
    """Every figure of the two together is exactly 0."""
    lines = usage_lines(sums, JUNE, "CNY")
    credited = credit_lines(lines, number="I-1", reason="cancelled")
    one, other = (totals(each, "CNY", Decimal(rate)) for each in (lines, credited))
    for name in ("exact", "net", "rounding", "tax", "gross"):
        assert getattr(one, name) + getattr(other, name) == 0, name


@given(sums_of_a_month)
def test_lines_sum_to_their_tokens_and_no_re_rate_goes_both_ways(sums):
    """Whatever cancels: Σ lines = Σ tokens × price / 10^6, with one sign at each unit price."""
    lines = usage_lines(sums, JUNE, "CNY")
    assert totals(lines, "CNY", Decimal(0)).exact == exact_sum(row.amount for row in annex(sums))
    again = [(x.line, x.unit_price, x.tokens > 0) for x in lines if x.kind == "rerate"]
    ways = {}
    for line, unit_price, is_charged in again:
        assert ways.setdefault((line, unit_price), is_charged) == is_charged
    assert set_off(lines, "CNY") == lines


@given(sums_of_a_month, st.randoms())
def test_lines_do_not_depend_on_the_order_of_sums(sums, chance):
    """The hash of the document is the same however the store lists its rows."""
    shuffled = list(sums)
    chance.shuffle(shuffled)
    hashes = {sha256_of([str(x) for x in usage_lines(s, JUNE, "CNY")]) for s in (sums, shuffled)}
    assert len(hashes) == 1


def test_digests_add():
    """Count and words, one by one."""
    one = Digest(requests=1, words=(1, 2, 3, 4))
    assert one.plus(one) == Digest(requests=2, words=(2, 4, 6, 8))
