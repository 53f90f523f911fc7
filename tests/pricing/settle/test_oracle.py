"""The settler's SQL equals the core's rules on random keys, orders and splits (design V1–V3)."""

from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from metering.pairing import PairLeg, pair
from pricing.price_book import PriceQuery
from pricing.rating import Counts, charges, split_tokens, verdict
from tests.pricing.settle.legs import Till, at, decode, leg, prefill, rules

COUNTS = st.sampled_from([None, 0, 100, 200])
STATUS = st.sampled_from(["ok", "ok", "ok", "aborted", "error", "rejected", "warmup"])


@st.composite
def some_legs(draw):
    """Up to six legs of two keys, with every contradiction that a client could forge."""
    made = []
    for index in range(draw(st.integers(1, 6))):
        build = draw(st.sampled_from([prefill, decode, leg]))
        change = {
            "finished_at": at(draw(st.sampled_from([1, 2, 3, 8, 12]))),
            "input_tokens": draw(COUNTS),
            "cached_input_tokens": draw(COUNTS),
            "output_tokens": draw(st.sampled_from([None, 1, 50])),
            "status": draw(STATUS),
        }
        if build is not leg:
            change["join_key"] = draw(st.sampled_from(["k1", "k2"]))
        made.append(build(f"leg{index}", **change))
    return made


def as_pair_leg(row) -> PairLeg:
    """What pairing sees of a leg."""
    names = ("event_id", "stage", "status", "started_at", "finished_at")
    counts = {name: row[name] for name in ("input_tokens", "output_tokens")}
    return PairLeg(**{name: row[name] for name in names}, **counts)


def oracle(legs) -> dict[str, tuple[str, str | None, Decimal]]:
    """Disposition, reason and amount of each request, by the core alone."""
    rows = {row["event_id"]: row for row in legs}
    price = rules().prices.catalogue.quote(_query()).price
    found: dict[str, tuple[str, str | None, Decimal]] = {}
    for members in _keys(legs).values():
        result = pair([as_pair_leg(row) for row in members], expired=True)
        for answer in result.answers:
            fed = rows[answer.input_leg.event_id] if answer.input_leg else None
            made = rows[answer.output_legs[0].event_id]
            if made["status"] not in ("ok", "aborted"):
                found[made["event_id"]] = ("cost", made["status"], Decimal(0))
                if fed is not None:
                    found[fed["event_id"]] = ("cost", made["status"], Decimal(0))
            else:
                found[made["event_id"]] = _billed(fed, made, price)
        for left in result.leftovers:
            found[left.leg.event_id] = ("cost", left.reason, Decimal(0))
        for waiting in result.waiting:
            kind = "undelivered" if waiting.leg.stage == "prefill" else "held"
            found[waiting.leg.event_id] = (kind, waiting.reason, Decimal(0))
    return found


def _billed(fed, made, price):
    counts = Counts(
        input_tokens=fed["input_tokens"],
        cached_tokens=fed["cached_input_tokens"],
        output_tokens=made["output_tokens"],
    )
    why = verdict(counts, price)
    if why:
        return ("unpriced", why, Decimal(0))
    total = sum((amount for *_, amount in charges(split_tokens(counts), price)), Decimal(0))
    return ("billed", None, total)


def _query():
    return PriceQuery(model_id="m-river", at=at(0))


def _keys(legs):
    keys: dict[str, list] = {}
    for row in legs:
        keys.setdefault(row.get("join_key") or row["event_id"], []).append(row)
    return keys


def unified_as_answer(legs, found):
    """A unified leg is its own answer or its own cost."""
    price = rules().prices.catalogue.quote(_query()).price
    for row in legs:
        if row["stage"] == "unified":
            ok = row["status"] in ("ok", "aborted")
            billed = _billed(row, row, price) if ok else ("cost", row["status"], Decimal(0))
            found[row["event_id"]] = billed
    return found


@settings(max_examples=60)
@given(legs=some_legs(), data=st.data())
def test_sql_equals_the_oracle_in_any_order_and_split(legs, data):
    """Any order, any split into batches, any resend: the same requests, reasons and amounts."""
    order = data.draw(st.permutations(range(len(legs))))
    cut = data.draw(st.integers(0, len(legs)))
    till = Till()
    till.feed(*[legs[i] for i in order[:cut]])
    till.feed(*[legs[i] for i in order])
    till.give_up()
    expected = unified_as_answer(legs, oracle([x for x in legs if x["stage"] != "unified"]))
    seen = {
        key: (kind, reason, (amount if kind == "billed" else Decimal(0)).normalize())
        for key, (kind, reason, amount, _) in till.requests().items()
    }
    assert seen == {k: (a, b, c.normalize()) for k, (a, b, c) in expected.items()}
    assert till.amount() == till.amount("node_money") == till.amount("request_money")
