"""The SLO page: who met a limit, by request, or by token where requests are not known."""

import json
from types import SimpleNamespace

import pytest

from pricing.ledger.upgrade import upgrade_ledger
from pricing.runs.sample_hours import fold_samples
from tests.dashboard.conftest import NDJSON
from tests.pricing.api.conftest import NOW, open_house
from tests.pricing.api.served import served

DAY = {"window": "custom", "from": "2026-10-01", "to": "2026-10-01"}
SCRAPE = {"node_id": "u01", "source": "vllm_metrics", "stage": "unified", "model_id": "m-river"}
COUNTS = {"09:10": {"0.025": 0, "+Inf": 0}, "09:11": {"0.025": 90, "+Inf": 100}}


@pytest.fixture
def scraped(tmp_path):
    """A house in which an engine was scraped twice: 90 intervals up to 25 ms, 10 above."""
    upgrade_ledger(f"sqlite:///{tmp_path / 'template.sqlite'}")
    (tmp_path / "house").mkdir()
    with open_house(tmp_path / "template.sqlite", tmp_path / "house") as house:
        lines = [
            json.dumps(SCRAPE | {"sampled_at": f"2026-10-01T{at}:00Z", "itl_by_bucket": counts})
            for at, counts in COUNTS.items()
        ]
        house.send("POST", "/v1/usage/samples", content="\n".join(lines), headers=NDJSON)
        fold_samples(house.store.cursor(), now=NOW)
        with served(house.client.app) as url:
            yield SimpleNamespace(url=url, key=house.operator)


def test_requests_that_met_a_limit(show, house):
    """31 answers after 2 s: all within 6 s, none within 1 s."""
    (first,) = show(house, "slo", window="today").subheader
    assert first.value.startswith("Kept: at least 100.0\u00a0% of 31 requests")
    (first,) = show(house, "slo", window="today", limit_ttft="1.000").subheader
    assert first.value.startswith("Missed: only 0.0\u00a0% of 31 requests")


@pytest.mark.parametrize(
    ("limit", "answer"),
    [
        (0.025, "Kept: at least 90.0\u00a0% of 100 output tokens"),
        (0.02, "Cannot be told: at least 0.0\u00a0% of 100 output tokens"),
    ],
)
def test_tokens_that_met_a_limit(show, scraped, limit, answer):
    """25 ms is an edge of the engine's; 20 ms cuts its bucket. Of requests nothing is known."""
    test = show(scraped, "slo", **DAY)
    assert test.subheader[0].value == "Nothing was measured in this window."
    test.selectbox(key="measure").select("itl").run()
    test.number_input(key="target").set_value(90.0)
    test.number_input(key="limit_itl").set_value(limit).run()
    assert not test.exception
    assert test.subheader[0].value.startswith(answer)
    assert any("over all their requests together" in each.value for each in test.caption)
