"""The built-in workload: shaped like white paper 1, by Zipf's law, from a seed alone."""

from collections import Counter
from itertools import islice

import pytest

from metering.errors import ConfigInvalid
from metering.replay.customers import Customers
from metering.replay.prefix_cache import PrefixCache
from metering.replay.request import TraceRequest
from metering.replay.workload import white_paper
from tests.metering.replay.parts import request


def workload(seed: int, requests: int = 2000, tenants: int = 8) -> list[TraceRequest]:
    return list(
        white_paper(
            Customers(tenants, seed), seed=seed, requests=requests, requests_per_second=0.45
        )
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nine_tokens_of_ten_are_hits(seed: int):
    """White paper 1: r = 0.9, weighted by tokens."""
    cache, requests = PrefixCache(), workload(seed)
    cached_tokens = sum(cache.admit(r) for r in requests)
    assert cached_tokens / sum(r.input_tokens for r in requests) == pytest.approx(0.9, abs=0.015)


def test_contexts_are_mixed_from_64k_to_400k():
    """White paper 1: mixed contexts of 64K to 400K tokens."""
    sizes = sorted(r.input_tokens for r in workload(1))
    assert 60_000 < sizes[0] < 70_000
    assert 380_000 < sizes[-1] < 410_000


def test_the_last_token_is_never_shared():
    """SGLang computes at least the last token; blocks of 64 end before it."""
    for asked in workload(1, 500):
        shared_tokens = sum(count for _, count in asked.block_runs) * asked.block_tokens
        assert asked.input_tokens - 64 <= shared_tokens < asked.input_tokens


def test_a_seed_is_a_workload():
    """The same seed repeats every field; another one does not; fewer requests are a beginning."""
    assert workload(5, 200) == workload(5, 200)
    assert workload(5, 100) == list(islice(workload(5, 200), 100))
    assert workload(5, 200) != workload(6, 200)


def test_few_tenants_are_large():
    """Zipf's law, exponent 1.1: of 8 tenants the first has 39 %, the last 4 %."""
    customers = Customers(8, 1)
    drawn = Counter(customers.draw().tenant_id for _ in range(20_000))
    assert drawn.most_common(1)[0][0] == "t-alder"
    assert drawn["t-alder"] / 20_000 == pytest.approx(0.39, abs=0.02)
    assert drawn["t-larch"] / 20_000 == pytest.approx(0.04, abs=0.01)


def test_a_key_belongs_to_one_project_whatever_the_seed():
    """So that a second run, with another seed, is the same customers."""
    assert Customers(30, 1).all == Customers(30, 2).all
    keys = [customer.api_key_id for customer in Customers(30, 1).all]
    assert len(set(keys)) == len(keys)


def test_a_session_keeps_its_customer():
    """Requests of one cache_scope belong together, in whatever order they come."""
    customers = Customers(8, 1)
    first = [customers.of(request(cache_scope=f"trace-{i}")) for i in range(50)]
    again = [customers.of(request(cache_scope=f"trace-{i}")) for i in reversed(range(50))]
    assert first == again[::-1]
    assert len(set(first)) > 5


@pytest.mark.parametrize("tenants", [0, 10_001])
def test_tenants_are_bounded(tenants: int):
    """The message names the option."""
    with pytest.raises(ConfigInvalid, match="--tenants"):
        Customers(tenants, 1)


def test_a_tenant_grows_from_nothing():
    """The third of eight: none of 4,000 draws at the start, 4 weights of its rank at the end.

    By hand: Zipf 1.1 weights 1, .467, .299 … sum 2.51; .299 × 4 of 2.51 + .299 × 3 is 35 %.
    """
    customers = Customers(8, seed=1, growing=True)
    shares = [
        sum(customers.draw(progress).tenant_id == "t-cedar" for _ in range(4000)) / 4000
        for progress in (0.0, 0.5, 1.0)
    ]
    assert shares[0] == 0
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] == pytest.approx(0.35, abs=0.02)
