"""A plain vLLM with our plug-in. Collected by `make test-engines` only.

Right values: by hand from the cases (tests/engines/cases.py), the clients' usage blocks, and the
engine's own /metrics.
"""

from dataclasses import replace

import pytest

from tests.engines import cases, report
from tests.engines.alone import alone
from tests.engines.ask import Ask, chat, chat_tokens, complete
from tests.engines.cases import BY_USAGE, SYSTEM, Bill, Case
from tests.engines.engine import MODEL, vllm
from tests.engines.run import billed, explained, killed_in_a_stream, moved, right

NODE = "v01"
PROMPT = "def beam(x):"
WIDTH, STEPS = 3, 4


def beams():
    """Beam search: width × steps tokens are the answer, beams that share tokens the work."""
    asked = {"use_beam_search": True, "n": WIDTH}
    size = len(PROMPT)
    further = WIDTH * sum(size + step for step in range(1, STEPS))
    shared = 1 + WIDTH * (STEPS - 1) - WIDTH * STEPS
    return [
        Case(
            "beam search",
            [complete(PROMPT, STEPS, **asked)],
            [Bill(size, WIDTH * STEPS)],
            beam=(further, shared),
        ),
        Case(
            "beam search, ends early",
            [complete(PROMPT + " ", 24, **asked, ignore_eos=False)],
            [replace(BY_USAGE, cached_tokens=None)],
        ),
    ]


def own():
    """What only vLLM offers, or does in a way of its own."""
    named = {"X-Request-Id": "chosen-by-the-client"}
    twice = [replace(chat(f"{i}: same id", 4), headers=named) for i in (1, 2)]
    content = "q: hello"
    body = {"model": MODEL, "input": content, "max_output_tokens": 8, "temperature": 0}
    salted = chat("first question", 4, system=SYSTEM, cache_salt="other")
    return [
        Case("one id twice", twice, [Bill(chat_tokens("1: same id"), 4)] * 2),
        Case("other cache salt", [salted], [Bill(chat_tokens("first question", system=SYSTEM), 4)]),
        Case(
            "prompt log-probabilities",
            [complete(SYSTEM, 2, prompt_logprobs=0)],
            [Bill(len(SYSTEM), 2)],
        ),
        Case("responses", [Ask("/v1/responses", body)], [BY_USAGE]),
        Case("responses, streamed", [Ask("/v1/responses", body | {"stream": True})], [BY_USAGE]),
        *beams(),
    ]


CASES = [
    *cases.streams(),
    *cases.prefixes(),
    *cases.samples(),
    cases.cold_samples(),
    *cases.dialects(),
    *own(),
    *cases.failures(),
    cases.burst(),
]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All cases run, metered and settled."""
    folder = tmp_path_factory.mktemp("vllm")
    told = ("1-vllm", "vLLM 0.32.0, one server")
    with alone(lambda port: vllm(NODE, "unified", port, folder), folder, CASES, told=told) as found:
        yield found


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_each_case_is_billed_as_it_was(done, name):
    """Input, cached and output tokens of every request that was answered; nothing of the others."""
    ran, till, _, _ = done
    assert [got.status for got in ran[name].got] == [ran[name].case.status] * len(ran[name].got)
    assert billed(ran[name], till) == right(ran[name])


@pytest.mark.parametrize("kind", ["input", "output"])
def test_every_counted_token_has_a_cause(done, kind):
    """Counted by the engine = billed + prompts of samples + further beams + clients that left."""
    ran, _, rows, _ = done
    row = rows[NODE, f"{kind}_tokens"]
    place = 0 if kind == "input" else 2
    early = ran["beam search, ends early"]
    causes = {
        "billed": sum(tokens[place] for each in ran.values() for tokens in right(each)),
        "beam_search": sum(each.case.beam[kind == "output"] for each in ran.values())
        + moved([early], NODE, kind)
        - right(early)[0][place],
        "sample_prompt": sum(each.case.samples for each in ran.values()) if kind == "input" else 0,
        "unfinished_requests": moved(
            [each for each in ran.values() if not each.case.bills], NODE, kind
        ),
    }
    assert row["counted"] == moved(ran.values(), NODE, kind)
    assert row["causes"] == {cause: tokens for cause, tokens in causes.items() if tokens}
    assert sum(row["causes"].values()) == row["counted"]


@pytest.fixture(scope="module")
def killed(done):
    """SIGKILL in the middle of a stream, a new start, and one more chat."""
    _, till, _, engine = done
    lost, again = killed_in_a_stream(engine, till)
    rows = explained(till, lost)
    both = [(each, right(each), billed(each, till)) for each in (lost, again)]
    report.keep("2-vllm-killed", "vLLM killed with SIGKILL, and started again", both, rows)
    return lost, again, till, rows


def test_a_killed_engine_bills_what_it_answered(killed):
    """The stream that was cut: nothing; after the restart: 27 / 4 by hand."""
    lost, again, till, _ = killed
    assert (billed(lost, till), lost.got[0].usage) == ([], None)
    assert billed(again, till) == right(again) == [(27, 0, 4)]


def test_counters_that_began_again_are_explained(killed):
    """One restart; what is not billed is of the request that was cut, as far as it was sampled."""
    _, _, _, rows = killed
    for kind, billed_tokens in (("input", 27), ("output", 4)):
        row = rows[NODE, f"{kind}_tokens"]
        assert row["restarts"] == 1
        assert row["causes"].pop("billed") == billed_tokens
        assert set(row["causes"]) <= {"unfinished_requests"}
        assert row["counted"] == billed_tokens + sum(row["causes"].values())
