"""/metrics: what Grafana charts; no tenant in it."""

import json
import re
from datetime import timedelta
from math import isnan

import pyarrow as pa
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from metering.store.batches import LegBatch
from metering.wire import to_batch
from pricing.api.usage_metrics import UsageMetrics
from pricing.readiness import Gauges
from pricing.runs.settler import Settler
from tests.pricing.api.conftest import BOOK, leg


def samples(text):
    return {
        (each.name, *sorted(each.labels.items())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_usage_and_money_are_charted(furnished):
    """110 requests × 500,000 uncached tokens, 110 CNY, one finding; no tenant is named."""
    house = furnished
    house.services.registry.register(UsageMetrics(house.services.read_usage, house.clock))
    text = house.get("/metrics").text
    found = samples(text)
    named = (("disposition", "billed"), ("model", "m-river"))
    assert found["tokentill_requests", *named] == 110
    assert found["tokentill_tokens", named[0], ("line", "uncached"), named[1]] == 55_000_000
    assert found["tokentill_amount", ("currency", "CNY"), *named] == 110
    assert found["tokentill_findings", ("kind", "unattributed")] == 1
    assert found["tokentill_hit_ratio", ("model", "m-river")] == 0
    assert "t-alder" not in text


def test_lag_is_measured_from_the_marks(house):
    """A node said an hour ago that it had sent everything: 3,600 s; before any word: unknown."""
    registry = CollectorRegistry()
    settler = Settler(house.store, house.rules.at, house.clock)  # not started: its state alone
    Gauges(house.writer, settler, store=house.store, clock=house.clock).register(registry)
    assert isnan(registry.get_sample_value("tokentill_metered_lag_seconds"))
    said = house.clock() - timedelta(hours=1)
    empty = pa.Table.from_batches([to_batch([])])
    batch = LegBatch(table=empty, sender="k", node="u01", stage="unified", watermark_at=said)
    house.writer.submit(batch).result()
    assert registry.get_sample_value("tokentill_metered_lag_seconds") == 3600


def test_the_dashboard_charts_what_there_is(house, root):
    """Every metric that docs/api/grafana.json names is answered, and is in the guide."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(leg(1, None))
    registry = house.services.registry
    registry.register(UsageMetrics(house.services.read_usage, house.clock))
    settler = Settler(house.store, house.rules.at, house.clock)
    Gauges(house.writer, settler, store=house.store, clock=house.clock).register(registry)
    board = json.loads((root / "docs/api/grafana.json").read_text("utf-8"))
    asked = " ".join(target["expr"] for panel in board["panels"] for target in panel["targets"])
    charted = set(re.findall(r"tokentill_\w+", asked))
    answered = house.get("/metrics").text
    guide = (root / "docs/api/guide.md").read_text("utf-8")
    assert len(charted) >= 10
    assert not {name for name in charted if name not in answered}
    assert not {name for name in charted if name.removesuffix("_bucket") not in guide}
