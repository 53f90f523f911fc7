"""A plain SGLang with its export file. Collected by `make test-engines` only.

Right values: by hand from the cases (tests/engines/cases.py), the clients' usage blocks, and the
engine's own /metrics. SGLang caches single tokens; it forgets before each case that is to be cold.
"""

from dataclasses import replace

import httpx
import pytest

from tests.engines import cases, report
from tests.engines.alone import alone
from tests.engines.ask import Ask
from tests.engines.cases import Bill, Case
from tests.engines.engine import sglang
from tests.engines.run import billed, explained, killed_in_a_stream, moved, right

NODE = "s01"
PROMPT = "def beam(x):"
WARM_UP = "The capital city of France is"  # SGLang's own request at its start, 8 tokens out
WORK_OF_SAMPLES = 2  # n = 2 computes the prompt three times: once before the samples
NO_ECHO = "echo of 0 tokens"  # refused, other than by vLLM


def found(prompt_tokens):
    """What a sample finds: the prompt but its last token, as the usage block says."""
    return prompt_tokens - 1


def generate(name, bills, **sampling):
    """A request on SGLang's own route."""
    asked = {"max_new_tokens": 4, "temperature": 0, "ignore_eos": True} | sampling
    return Case(name, [Ask("/generate", {"text": PROMPT, "sampling_params": asked})], bills)


SIZE = len(PROMPT)
OWN = [
    generate("generate", [Bill(SIZE, 4)]),
    generate("generate, n = 2", [Bill(SIZE, 4, SIZE - 1)] * 2, n=2),
    generate("generate, three beams", [Bill(SIZE, 12)], n=3, beam_width=3),
    generate("generate, two of three beams", [Bill(SIZE, 8)], n=2, beam_width=3),
]
CASES = [
    *OWN,
    *(
        case if case.name != NO_ECHO else replace(case, bills=[], status=400)
        for case in cases.streams()
    ),
    *cases.prefixes(block=1),
    *cases.samples(found),
    *cases.dialects(),
    *cases.failures(),
    cases.burst(),
]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All cases run, metered and settled."""
    folder = tmp_path_factory.mktemp("sglang")
    told = ("6-sglang", "SGLang 0.5.23, one server")
    with alone(
        lambda port: sglang(NODE, port, folder), folder, CASES, told=told, forget=forget_prefixes
    ) as found:
        yield found


def forget_prefixes(engine):
    """Empty the engine's cache."""
    httpx.post(f"{engine.url}/flush_cache", timeout=30).raise_for_status()


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_each_case_is_billed_as_it_was(done, name):
    """Input, cached and output tokens of every request that was answered; nothing of the others."""
    ran, till, _, _ = done
    assert [got.status for got in ran[name].got] == [ran[name].case.status] * len(ran[name].got)
    assert billed(ran[name], till) == right(ran[name])


@pytest.mark.parametrize("name", ["n = 2", "n = 2, streamed", "two prompts, n = 2"])
def test_samples_are_cached_as_the_client_is_told(done, name):
    """Each prompt's cached tokens once, as the usage block adds them up."""
    ran, till, _, _ = done
    told = ran[name].got[0].usage["prompt_tokens_details"]["cached_tokens"]
    assert sum(cached for _, cached, _ in billed(ran[name], till)) == told


@pytest.mark.parametrize("kind", ["input", "output"])
def test_every_counted_token_has_a_cause(done, kind):
    """Counted by the engine = billed + prompts of samples + its own + clients that left."""
    ran, _, rows, _ = done
    row = rows[NODE, f"{kind}_tokens"]
    place = 0 if kind == "input" else 2
    samples = WORK_OF_SAMPLES * sum(each.case.samples for each in ran.values())
    left = [each for each in ran.values() if not each.case.bills]
    causes = {
        "billed": sum(tokens[place] for each in ran.values() for tokens in right(each)),
        "sample_prompt": samples if kind == "input" else 0,
        "warmup": SIZE if kind == "input" else 0,  # before the two samples of /generate
        "client_disconnects": moved(left, NODE, kind),
    }
    assert row["counted"] == moved(ran.values(), NODE, kind)
    assert row["causes"] == {cause: tokens for cause, tokens in causes.items() if tokens}
    assert sum(row["causes"].values()) == row["counted"]


def test_a_killed_engine_bills_what_it_answered(done):
    """Nothing of the stream that was cut, 27 / 4 after it; the new start's own request is warm-up.

    It writes on into the same hourly file; SGLang's counters tell a restart by a decrease alone.
    """
    _, till, _, engine = done
    cut, again = killed_in_a_stream(engine, till)
    rows = explained(till, cut)
    both = [(each, right(each), billed(each, till)) for each in (cut, again)]
    report.keep("7-sglang-killed", "SGLang killed with SIGKILL, and started again", both, rows)
    assert [billed(each, till) for each in (cut, again)] == [[], [(27, 0, 4)]]
    assert rows[NODE, "input_tokens"]["causes"] == {"billed": 27, "warmup": len(WARM_UP)}
    assert rows[NODE, "output_tokens"]["causes"] == {"billed": 4, "warmup": 8}
