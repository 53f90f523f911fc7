"""The simulated cluster: times by hand, routing, faults, repeatability."""

import pytest

from metering.errors import ConfigInvalid
from metering.replay.cluster import Faults
from metering.replay.hardware import PROFILES
from metering.replay.legs import Ending, Leg, Outcome
from metering.replay.prefix_cache import PrefixCache
from metering.replay.router import DecodeNode, PrefillNode, choose_decode, choose_prefill
from tests.metering.replay.parts import request, shape, simulate, steady

MANY = [request(float(i), [(i * 10, 10)]) for i in range(400)]


def of_rid(legs: list[Leg]) -> dict[int, list[Leg]]:
    """Legs by bootstrap room."""
    rooms: dict[int, list[Leg]] = {}
    for leg in legs:
        rooms.setdefault(leg.call.room, []).append(leg)
    return rooms


def test_times_of_one_request():
    """By hand: 3 ms to the scheduler, 1,000 tokens at 1,000/s, moved at 10,000/s, 1 ms to be
    admitted, 10 more tokens at 0.01 s: prefill ends at 1.103, decode at 1.204."""
    prefill, decode = simulate([request(blocks=[(0, 10)])], shape())
    assert (prefill.started_at, prefill.computed_at) == (0.003, pytest.approx(1.003))
    assert prefill.finished_at == pytest.approx(1.103)
    assert (decode.computed_at, decode.finished_at) == (pytest.approx(1.104), pytest.approx(1.204))


def test_a_hit_is_loaded_not_computed():
    """By hand: 900 known tokens at 10,000/s and 100 new ones at 1,000/s take 0.19 s."""
    legs = simulate([request(blocks=[(0, 9)]), request(50.0, blocks=[(0, 9), (77, 1)])], shape())
    second = [leg for leg in legs if leg.is_prefill][1]
    assert second.cached_tokens == 900
    assert second.computed_at - second.started_at == pytest.approx(0.19)


def test_prompts_queue_on_a_prefill_node():
    """By hand: three prompts of 1 s at once end at 1.003, 2.003 and 3.003 on one node."""
    legs = simulate([request(blocks=[(i * 10, 10)]) for i in range(3)], shape())
    ends = [leg.computed_at for leg in legs if leg.is_prefill]
    assert ends == pytest.approx([1.003, 2.003, 3.003])


def test_legs_come_in_the_order_of_their_end():
    """As a file would grow; faults and retries included."""
    legs = simulate(MANY, shape(2, 3), retry_share=0.2, abort_share=0.1, kv_failure_share=0.1)
    ends = [leg.finished_at for leg in legs]
    assert ends == sorted(ends)


def test_a_pair_shares_the_room_and_seldom_the_rid():
    """SGLang: each side makes its own rid unless the client chose one; rooms are 63 bits."""
    pairs = list(of_rid(simulate(MANY, shape(2, 3))).values())
    assert len(pairs) == 400
    assert all(len(pair) == 2 for pair in pairs)
    shared = [pair for pair in pairs if pair[0].rid == pair[1].rid]
    assert 50 < len(shared) < 150
    assert max(pair[0].call.room for pair in pairs) > 2**62


def test_a_decode_leg_copies_the_prefill_leg():
    """SGLang from 0.5.13 on: the count travels with the KV cache; the prefill leg has 1 token."""
    for first, second in of_rid(simulate(MANY, shape(2, 3))).values():
        prefill, decode = sorted((first, second), key=lambda leg: not leg.is_prefill)
        assert decode.cached_tokens == prefill.cached_tokens
        assert (prefill.output_tokens, decode.output_tokens) == (1, 11)


def test_a_retry_has_the_same_rid_and_a_new_room():
    """Facts: the router repeats the pair under a new room; the first prefill line stays."""
    legs = simulate([request()], shape(), retry_share=1.0)
    first, *_, last = legs
    assert first.call.outcome is Outcome.RETRIED
    assert last.call.outcome is Outcome.DELIVERED
    assert first.call.room != last.call.room
    assert first.call.client_rid == last.call.client_rid


def test_half_of_the_failed_decode_sides_write_a_line():
    """The others died with the request, so a prefill line stays alone."""
    legs = simulate(MANY, shape(2, 3), retry_share=1.0)
    failed = [leg for leg in legs if leg.ending is Ending.TRANSFER_FAILED]
    assert 150 < len(failed) < 250
    assert all(leg.output_tokens == 0 and not leg.is_prefill for leg in failed)
    assert sum(leg.call.outcome is Outcome.DELIVERED for leg in legs) == 800


def test_a_client_that_leaves_has_part_of_the_answer():
    """1 to 11 of 11 tokens are made, nothing is written for them."""
    decodes = [leg for leg in simulate(MANY, shape(), abort_share=1.0) if not leg.is_prefill]
    assert {leg.output_tokens for leg in decodes} == set(range(1, 12))
    assert not any(leg.is_written for leg in decodes)


def test_shares_of_faults_are_kept():
    """By hand: 400 requests, a quarter each."""
    legs = simulate(MANY, shape(4, 4), retry_share=0.25, abort_share=0.25, kv_failure_share=0.25)
    for outcome in (Outcome.RETRIED, Outcome.ABORTED, Outcome.FAILED):
        calls = sum(leg.is_prefill and leg.call.outcome is outcome for leg in legs)
        assert calls == pytest.approx(100, abs=30)


def test_faults_do_not_shift_the_other_ids():
    """The same seed gives the same rooms with and without faults."""
    calm = {leg.call.room for leg in simulate(MANY, shape())}
    rough = {leg.call.room for leg in simulate(MANY, shape(), abort_share=0.5)}
    assert calm == rough


def test_the_same_seed_gives_the_same_legs():
    """Every id, owner, route and time."""
    faults = {"retry_share": 0.1, "abort_share": 0.1}
    assert simulate(MANY, shape(2, 2), **faults) == simulate(MANY, shape(2, 2), **faults)


def test_all_nodes_work():
    """1 s of prefill a second: four prefill and three decode nodes share it."""
    legs = simulate(list(steady(400, 0.3)()), shape(4, 3))
    by_node = [sum(leg.node == node for leg in legs) for node in range(7)]
    assert min(by_node[:4]) > 90
    assert min(by_node[4:]) > 120


def test_the_better_cache_wins_unless_it_keeps_waiting():
    """By hand: node 0 knows 900 of 1,000 tokens; with 10 s more to wait it still serves, with 11 s
    node 1 does."""
    nodes = [PrefillNode(PrefixCache()), PrefillNode(PrefixCache())]
    asked = request(blocks=[(0, 9), (50, 1)])
    nodes[0].cache.admit(request(blocks=[(0, 9)]))
    assert choose_prefill(nodes, asked, 0.0) == 0
    nodes[0].free_at = 10.0
    assert choose_prefill(nodes, asked, 0.0) == 0
    nodes[0].free_at = 11.0
    assert choose_prefill(nodes, asked, 0.0) == 1


def test_the_decode_node_with_fewest_requests_serves():
    """By hand: one runs until 5; at 4 the other is free, at 6 both are and it has served more."""
    nodes = [DecodeNode(), DecodeNode()]
    nodes[0].occupy(until=5.0)
    assert choose_decode(nodes, 4.0) == 1
    nodes[1].occupy(until=4.5)
    nodes[1].occupy(until=4.6)
    assert choose_decode(nodes, 6.0) == 0


def test_the_profile_of_white_paper_1_earns_its_throughput():
    """White paper 1: 83,670.6 billed tokens/s at r = 0.9."""
    seconds = PROFILES["s5000-glm-5.2"].prefill_seconds(100_000, 900_000)
    assert 1_000_000 / seconds == pytest.approx(83_670.6, abs=0.1)


@pytest.mark.parametrize("change", [{"prefill": 0}, {"decode": 257}, {"cache_tokens": 0}])
def test_shapes_are_bounded(change: dict[str, int]):
    """A cluster has at least one server of each stage, and a cache at least one token."""
    with pytest.raises(ConfigInvalid, match="expected"):
        shape(**change)


@pytest.mark.parametrize("shares", [{"retry_share": 1.1}, {"abort_share": -0.1}])
def test_shares_are_shares(shares: dict[str, float]):
    """0 to 1 each, and in sum."""
    with pytest.raises(ConfigInvalid, match=r"expected 0\.\.1"):
        Faults(**shares)
