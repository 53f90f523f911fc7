"""A vLLM that embeds, with our plug-in. Collected by `make test-engines` only."""

import pytest

from tests.engines import report
from tests.engines.ask import Ask
from tests.engines.cases import SYSTEM, Bill, Case
from tests.engines.engine import LENGTH, MODEL, free_ports, vllm
from tests.engines.run import billed, explained, moved, right, run
from tests.engines.till import Till

NODE = "e01"
TEXTS = ["one text", "another text"]


def embed(text):
    """A request for the vectors of one text or several."""
    return Ask("/v1/embeddings", {"model": MODEL, "input": text})


CASES = [
    Case("one text", [embed(TEXTS[0])], [Bill(len(TEXTS[0]), 0)]),
    Case("two texts", [embed(TEXTS)], [Bill(len(text), 0) for text in TEXTS]),
    Case("a long text", [embed(SYSTEM)], [Bill(len(SYSTEM), 0)]),
    Case("too long", [embed("m" * (LENGTH + 1))], status=400),
]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All cases run, metered and settled."""
    folder = tmp_path_factory.mktemp("embeddings")
    own_port, till_port = free_ports(2)
    pooling = ("--runner", "pooling", "--convert", "embed")
    engine = vllm(NODE, "unified", own_port, folder, *pooling).start()
    till = Till(folder, till_port)
    try:
        engine.ready()
        till.follow(engine, pool="embeddings")
        ran = run(CASES, engine.url, [engine])
        till.settled()
        rows = explained(till, ran[0])
        both = [(each, right(each), billed(each, till)) for each in ran]
        report.keep("3-embeddings", "vLLM 0.32.0, embeddings", both, rows)
        yield {each.case.name: each for each in ran}, till, rows
    finally:
        till.end()
        engine.end()


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_each_text_is_billed(done, name):
    """A text is a request; its characters are its tokens, and it has no output."""
    ran, till, _ = done
    assert [got.status for got in ran[name].got] == [ran[name].case.status]
    assert billed(ran[name], till) == right(ran[name])


def test_every_counted_token_has_a_cause(done):
    """Everything that the engine counted was billed."""
    ran, _, rows = done
    row = rows[NODE, "input_tokens"]
    assert row["counted"] == moved(ran.values(), NODE, "input")
    assert row["causes"] == {"billed": row["counted"]}
