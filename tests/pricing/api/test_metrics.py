"""/metrics: what Grafana charts; no tenant in it."""

from prometheus_client.parser import text_string_to_metric_families

from pricing.api.usage_metrics import UsageMetrics


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
    assert "t-alder" not in text
