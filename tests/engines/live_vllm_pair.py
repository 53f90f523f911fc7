"""vLLM split into prefill and decode over NIXL, behind vllm-router. By `make test-engines` only.

Input and cached tokens are those of the prefill server, output those of the decode server; each
half's own numbers, added up, would be wrong in every case (docs/pd-accounting.md).
"""

import signal
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.engines import cases, report
from tests.engines.ask import chat, chat_tokens, complete, send
from tests.engines.cases import Bill, Case, whole_blocks
from tests.engines.engine import free_ports, vllm_half, vllm_router
from tests.engines.run import Ran, begin, billed, explained, moved, right, run
from tests.engines.till import Till

PREFILL, DECODE = "p01", "d01"
LONG = "z" * 761  # with the template's 19 tokens: 780
AGAIN = whole_blocks(779)
BEAMS = complete("def beam(x):", 4, use_beam_search=True, n=3)
FAILED = [
    *cases.failures()[:3],
    Case("too much output", [chat("t: too much", 100_000)], status=400),
]
CASES = [
    Case("780 tokens", [chat(LONG, 8)], [Bill(780, 8, 0)]),
    Case("780 tokens again", [chat(LONG, 8)], [Bill(780, 8, AGAIN)]),
    *cases.streams(),
    *cases.prefixes(),
    *cases.samples(),
    cases.cold_samples(),
    Case("beam search", [BEAMS], [Bill(12, 12)], beam=(0, -2)),
    *FAILED,
    cases.burst(),
]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All cases run through the router, metered and settled."""
    folder = tmp_path_factory.mktemp("pair")
    ports = free_ports(7)
    prefill = vllm_half(PREFILL, "prefill", (ports[0], ports[1]), folder).start()
    decode = vllm_half(DECODE, "decode", (ports[2], ports[3]), folder).start()
    router = vllm_router((ports[4], ports[5]), prefill, decode, folder)
    till = Till(folder, ports[6])
    try:
        prefill.ready()
        decode.ready()
        router.start().ready()
        till.follow(prefill, decode, pool="pair")
        ran = run(CASES, router.url, [prefill, decode])
        till.settled()
        rows = explained(till, ran[0])
        both = [(each, right(each), billed(each, till)) for each in ran]
        title = "vLLM 0.32.0, prefill and decode over NIXL behind vllm-router 0.1.17"
        report.keep("4-vllm-pair", title, both, rows)
        yield {each.case.name: each for each in ran}, till, rows, (prefill, decode, router)
    finally:
        till.end()
        for engine in (router, decode, prefill):
            engine.end()


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_each_case_is_billed_once(done, name):
    """780 / 8 for 780 tokens in and 8 out, not 1,560 / 9; cached tokens are prefill's."""
    ran, till, _, _ = done
    assert [got.status for got in ran[name].got] == [ran[name].case.status] * len(ran[name].got)
    assert billed(ran[name], till) == right(ran[name])


def test_adding_up_the_servers_would_be_wrong(done):
    """The engines' own counters of the first case: 780 + 780 in, 1 + 8 out."""
    ran, _, _, _ = done
    one = ran["780 tokens"].moved
    assert [one[PREFILL]["input"], one[DECODE]["input"]] == [780, 780]
    assert [one[PREFILL]["output"], one[DECODE]["output"]] == [1, 8]


def test_every_counted_prompt_has_a_cause(done):
    """Prefill counted = billed + prompts of samples + prompts whose answer never came."""
    ran, _, rows, _ = done
    row = rows[PREFILL, "input_tokens"]
    failed = [ran[case.name] for case in FAILED]
    assert row["counted"] == moved(ran.values(), PREFILL, "input")
    assert row["causes"] == {
        "billed": sum(tokens[0] for each in ran.values() for tokens in right(each)),
        "sample_prompt": sum(each.case.samples for each in ran.values()),
        "not_yet_settled": moved(failed, PREFILL, "input"),
    }
    assert sum(row["causes"].values()) == row["counted"]


def test_every_counted_output_has_a_cause(done):
    """Decode counted = billed + further beams + what clients that left had got."""
    ran, _, rows, _ = done
    row = rows[DECODE, "output_tokens"]
    failed = [ran[case.name] for case in FAILED]
    assert row["counted"] == moved(ran.values(), DECODE, "output")
    assert row["causes"] == {
        "billed": sum(tokens[2] for each in ran.values() for tokens in right(each)),
        "beam_search": -2,
        "unfinished_requests": moved(failed, DECODE, "output"),
    }
    assert sum(row["causes"].values()) == row["counted"]


def test_a_killed_decode_server_bills_nothing(done):
    """Its stream was cut: the prompt was computed and stays a half that waits."""
    _, till, _, (prefill, decode, router) = done
    before, begun = prefill.quiet(), begin()
    cut = replace(chat("u: cut off", 30_000, stream=True), leave_after=20, give_up=30)
    got = send(router.url, cut, lambda: decode.end(signal.SIGKILL))
    moved_by = {kind: n - before[kind] for kind, n in prefill.quiet().items()}
    till.settled()
    lost = Ran(Case("decode killed", [cut]), [got], begun, datetime.now(UTC), {PREFILL: moved_by})
    rows = explained(till, lost)
    report.keep(
        "5-vllm-pair-killed", "Decode killed with SIGKILL", [(lost, [], billed(lost, till))], rows
    )
    assert (billed(lost, till), got.usage) == ([], None)
    assert rows[PREFILL, "input_tokens"]["causes"] == {"not_yet_settled": chat_tokens("u: cut off")}
