"""Gateway records name the owner and never bill (docs/engines/gateways.md)."""

from tests.pricing.settle.legs import at, decode, fed, leg, prefill


def gateway(name, tenant_id="t-gateway", **change):
    """What the gateway saw of the request whose engine id is rid-1."""
    own = {"stage": "gateway", "engine_request_id": "rid-1", "tenant_id": tenant_id}
    return leg(name, **(own | {"finished_at": at(10)} | change))


def owners(till):
    """Billed requests by tenant."""
    query = (
        "SELECT tenant_id, sum(requests)::BIGINT FROM usage_hourly WHERE disposition = 'billed' "
        "GROUP BY tenant_id HAVING sum(requests) <> 0"
    )
    rows = till.cursor.execute(query).fetchall()
    return dict(rows)


ENGINE = {"engine_request_id": "rid-1"}


def test_the_gateway_goes_before_the_legs_in_any_order():
    """Owner: gateway record, else decode leg, else prefill leg; one request, flagged."""
    legs = [prefill("p"), decode("d", **ENGINE), gateway("g")]
    for order in (legs, legs[::-1], [legs[1], legs[2], legs[0]]):
        till = fed(*order)
        assert owners(till) == {"t-gateway": 1}
        assert "owner_mismatch" in till.requests()[decode("d")["event_id"]][3]


def test_a_unified_request_moves_to_its_gateway_owner_when_the_record_comes_late():
    """Reversal and a new row; the amount stays, the owner changes."""
    till = fed(leg("u", **ENGINE))
    before = till.amount()
    till.feed(gateway("g"))
    assert owners(till) == {"t-gateway": 1}
    assert till.amount() == till.amount("request_money") == before


def test_two_gateway_records_of_one_id_name_nobody():
    """If several match, none does."""
    till = fed(leg("u", **ENGINE), gateway("g1"), gateway("g2", tenant_id="t-other"))
    assert owners(till) == {"t-alder": 1}


def test_a_gateway_record_of_another_pool_or_hour_names_nobody():
    """Within the pool and one hour."""
    for change in ({"pool": "elsewhere"}, {"finished_at": at(9 + 3601)}):
        till = fed(leg("u", pool="here", **ENGINE), gateway("g", **change))
        assert owners(till) == {"t-alder": 1}


def test_gateway_records_alone_bill_nothing():
    """They are no engine's work."""
    assert fed(gateway("g")).rows("1", "request") == []


def test_an_answer_has_one_latency():
    """The engine's 2 s; the gateway's 3 s of the same answer are not a second one."""
    legs = [leg("u", **ENGINE, e2e_seconds=2.0), gateway("g", node_id="gw1", e2e_seconds=3.0)]
    counted = fed(*legs).rows("node_id, requests", "latency_hourly", where="measure = 'e2e'")
    assert counted == [("u1", 1)]
