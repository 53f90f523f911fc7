"""The settler's SQL equals the core's rules on random keys, orders and splits."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from metering.pairing import PairLeg, pair
from pricing.directory import Directory, KeyOwner
from pricing.policy import CHOICES, SCOPED, Policy, ScopedPolicy, deciding_policy
from pricing.price_book import PriceQuery
from pricing.rating import Counts, charges, split_tokens, verdict
from tests.pricing.settle.legs import Till, at, decode, leg, prefill, rules

COUNTS = st.sampled_from([None, 0, 100, 200])
STATUS = st.sampled_from(["ok", "ok", "ok", "aborted", "aborted", "error", "rejected", "warmup"])
OWNERS = st.sampled_from([("t-alder", None), ("t-birch", None), (None, "k-birch"), (None, None)])
DIRECTORY = Directory(keys=(KeyOwner("k-birch", "t-birch", None),))


def decisions(also=()):
    """One decision for each question; also: what else it may be."""
    return {key: st.sampled_from([*also, *CHOICES[key]]) for key in SCOPED["pool"]}


def some_policies():
    """Any decisions of the house, and what pool a, tenant t-birch and a model decide otherwise."""
    pool = st.builds(ScopedPolicy, name=st.just("a"), **decisions([None]))
    own = {key: value for key, value in decisions([None]).items() if key in SCOPED["tenant"]}
    tenant = st.builds(ScopedPolicy, name=st.just("t-birch"), **own)
    source = st.sampled_from([None, *CHOICES["billing_source"]])
    named = st.sampled_from(["m-river", "m-other"])
    model = st.builds(ScopedPolicy, name=named, billing_source=source)
    scoped = {"pool": st.tuples(pool), "tenant": st.tuples(tenant), "model": st.tuples(model)}
    return st.builds(Policy, **decisions(), **scoped)


@st.composite
def some_legs(draw):
    """Up to six legs of two keys, with every contradiction that a client could forge."""
    made = []
    for index in range(draw(st.integers(1, 6))):
        build = draw(st.sampled_from([prefill, decode, leg, gateway]))
        change = {
            "finished_at": at(draw(st.sampled_from([1, 2, 3, 8, 12]))),
            "input_tokens": draw(COUNTS),
            "cached_input_tokens": draw(COUNTS),
            "output_tokens": draw(st.sampled_from([None, 1, 50])),
            "status": draw(STATUS),
        }
        change["tenant_id"], change["api_key_id"] = draw(OWNERS)
        change["pool"] = draw(st.sampled_from(["a", "b"]))
        if build in (prefill, decode):
            change["join_key"] = draw(st.sampled_from(["k1", "k2"]))
        made.append(build(f"leg{index}", **change))
    return made


def gateway(name, **change):
    """A record of a gateway that names no engine's id."""
    return leg(name, stage="gateway", **change)


def as_pair_leg(row) -> PairLeg:
    """What pairing sees of a leg."""
    names = ("event_id", "stage", "status", "started_at", "finished_at")
    counts = {name: row[name] for name in ("input_tokens", "output_tokens")}
    return PairLeg(**{name: row[name] for name in names}, **counts)


def oracle(legs, policy) -> dict[str, tuple[str, str | None, Decimal, str | None]]:
    """Disposition, reason, amount and deciding policy of each request, by the core alone."""
    found = {}
    for members in _keys(legs).values():
        rows = {row["event_id"]: row for row in members}
        result = pair([as_pair_leg(row) for row in members], expired=True)
        for answer in result.answers:
            fed = rows[answer.input_leg.event_id] if answer.input_leg else None
            found |= answered(fed, rows[answer.output_legs[0].event_id], policy)
        for left in result.leftovers:
            found[left.leg.event_id] = ("cost", left.reason, Decimal(0), None)
        for waiting in result.waiting:
            half = alone(rows[waiting.leg.event_id], waiting.reason, policy)
            found[waiting.leg.event_id] = half
    return found


def answered(fed, made, policy):
    """What becomes of the legs of one answer (docs/pd-accounting.md)."""
    if made["status"] not in ("ok", "aborted"):
        costs = [row for row in (fed, made) if row is not None]
        return {row["event_id"]: ("cost", made["status"], Decimal(0), None) for row in costs}
    chosen, line = decision("aborted", policy, made, fed)
    if made["status"] == "ok":
        return {made["event_id"]: (*_billed(fed, made), None)}
    if chosen == "not_billed":
        return {made["event_id"]: ("cost", "aborted", Decimal(0), line)}
    return {made["event_id"]: (*_billed(fed, made), line)}


def alone(row, reason, policy):
    """What becomes of a half whose other side never came (the last two rows)."""
    if row["stage"] == "prefill":
        chosen, line = decision("undelivered", policy, row)
        if chosen == "not_billed":
            return ("undelivered", "undelivered", Decimal(0), line)
        return (*_billed(row, row | {"output_tokens": 0, "status": "ok"}), line)
    if reason != "decode_only":
        return ("held", reason, Decimal(0), None)
    chosen, line = decision("decode_only", policy, row)
    if chosen == "hold":
        return ("held", reason, Decimal(0), line)
    cached = 0 if chosen == "bill_uncached" else row["cached_input_tokens"]
    return (*_billed(row | {"cached_input_tokens": cached}, row), line)


def by_source(legs, found, policy):
    """The gateway's record is the bill, or the engine's is; the other one is set aside."""
    chosen = {}
    for row in legs:
        source, line = source_of(row, policy)
        kind, why, amount, decided = found.get(row["event_id"], ("", None, Decimal(0), None))
        if row["stage"] == "gateway":
            if source == "gateway" and kind:
                plain = kind in ("billed", "unpriced") and decided is None
                chosen[row["event_id"]] = (kind, why, amount, line if plain else decided)
        elif source == "gateway" and kind not in ("", "cost"):
            chosen[row["event_id"]] = ("cost", "gateway_bills", Decimal(0), line)
        elif kind:
            chosen[row["event_id"]] = (kind, why, amount, decided)
    return chosen


def source_of(row, policy):
    """A model's billing source goes before its pool's; and how the file says it."""
    scoped = [("", policy)]
    if row["pool"] == "a":
        scoped.insert(0, ("pool.", policy.pool[0]))
    if policy.model[0].name == row["model_id"]:
        scoped.insert(0, ("model.", policy.model[0]))
    prefix, value = next((p, v) for p, o in scoped if (v := o.billing_source) is not None)
    return value, f'{prefix}billing_source = "{value}"'


def decision(question, policy, *sides):
    """What the tenant decides, else the pool, else the house; and how the file says it."""
    tenants = [side["tenant_id"] for side in sides if side and side["tenant_id"]]
    keyed = ["t-birch" for side in sides if side and side["api_key_id"]]
    owner = [*tenants, *keyed, None][0]
    scoped = [("", policy)]
    if sides[0]["pool"] == "a":
        scoped.insert(0, ("pool.", policy.pool[0]))
    if owner == "t-birch":
        scoped.insert(0, ("tenant.", policy.tenant[0]))
    prefix, value = next((p, v) for p, o in scoped if (v := getattr(o, question)) is not None)
    return value, f'{prefix}{question} = "{value}"'


def _billed(fed, made):
    price = rules().prices.catalogue.quote(_query()).price
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
    keys: dict[tuple[str, str], list] = {}
    for row in legs:
        keys.setdefault((row["pool"], row.get("join_key") or row["event_id"]), []).append(row)
    return keys


def whole_as_answer(legs, policy):
    """A unified leg or a gateway's record is its own answer or its own cost."""
    found = {}
    for row in legs:
        found |= answered(row, row, policy)
    return found


@settings(max_examples=80)
@given(legs=some_legs(), policy=some_policies(), data=st.data())
def test_sql_equals_the_oracle_in_any_order_and_split(legs, policy, data):
    """Any order, split, resend and policy: the same requests, reasons, amounts and deciders."""
    order = data.draw(st.permutations(range(len(legs))))
    cut = data.draw(st.integers(0, len(legs)))
    till = Till(replace(rules(directory=DIRECTORY), policy=policy))
    till.feed(*[legs[i] for i in order[:cut]])
    till.feed(*[legs[i] for i in order])
    till.give_up()
    halves = [x for x in legs if x["stage"] in ("prefill", "decode")]
    expected = oracle(halves, policy)
    expected |= whole_as_answer([x for x in legs if x not in halves], policy)
    expected = by_source(legs, expected, policy)
    seen = {
        key: (kind, why, amount if kind == "billed" else 0, deciding_policy(kind, why, flags))
        for key, (kind, why, amount, flags) in till.requests().items()
    }
    assert seen == expected
    assert till.amount() == till.amount("node_money") == till.amount("request_money")
