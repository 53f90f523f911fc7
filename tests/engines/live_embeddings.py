"""A vLLM that embeds, with our plug-in. Collected by `make test-engines` only."""

import pytest

from tests.engines.alone import alone
from tests.engines.ask import Ask
from tests.engines.cases import SYSTEM, Bill, Case
from tests.engines.engine import LENGTH, MODEL, vllm
from tests.engines.run import billed, moved, right

NODE = "e01"
TEXTS = ["one text", "another text"]
POOLING = ("--runner", "pooling", "--convert", "embed")


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
    told = ("3-embeddings", "vLLM 0.32.0, embeddings")
    with alone(
        lambda port: vllm(NODE, "unified", port, folder, *POOLING),
        folder,
        CASES,
        told=told,
        pool="embeddings",
    ) as found:
        yield found


@pytest.mark.parametrize("name", [case.name for case in CASES])
def test_each_text_is_billed(done, name):
    """A text is a request; its characters are its tokens, and it has no output."""
    ran, till, _, _ = done
    assert [got.status for got in ran[name].got] == [ran[name].case.status]
    assert billed(ran[name], till) == right(ran[name])


def test_every_counted_token_has_a_cause(done):
    """Everything that the engine counted was billed."""
    ran, _, rows, _ = done
    row = rows[NODE, "input_tokens"]
    assert row["counted"] == moved(ran.values(), NODE, "input")
    assert row["causes"] == {"billed": row["counted"]}
