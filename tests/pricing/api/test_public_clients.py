"""The doors for other projects' tools, entered by those projects' own clients over HTTP.

OpenMeter: its Python client and the CloudEvents SDK. OpenAI: its Python package, whose answers are
checked against its own types. LiteLLM: its generic logger.
"""

import asyncio
import json
from datetime import UTC, datetime

import pytest
from cloudevents.conversion import to_dict
from cloudevents.http import CloudEvent
from corehttp.exceptions import ClientAuthenticationError, HttpResponseError
from litellm.integrations.generic_api.generic_api_callback import GenericAPILogger
from openai import OpenAI
from openmeter import Client as OpenMeter
from openmeter.models import Event

from pricing.scope import Role
from tests.pricing.api.conftest import NOW, leg
from tests.pricing.api.served import served

START, DAY = 1790812800, 86_400  # 2026-10-01T00:00:00Z
NOT_IN_DATA = ("event_id", "tenant_id")  # a CloudEvent's id and subject say them


@pytest.fixture(scope="module")
def usage_tool(furnished):
    """OpenAI's client, pointed at us with a key of ours; answers that do not fit are errors."""
    with served(furnished.client.app) as url:
        yield OpenAI(
            base_url=f"{url}/v1",
            api_key="unused",
            admin_api_key=furnished.viewer,
            max_retries=0,
            _strict_response_validation=True,
        ).admin.organization.usage


def test_openais_client_reads_usage(usage_tool):
    """110 requests × 500,000 tokens on the first day, in OpenAI's own type."""
    page = usage_tool.completions(start_time=START, end_time=START + DAY, group_by=["model"])
    (bucket,) = page.data
    (result,) = bucket.results
    assert (result.model, result.input_tokens) == ("m-river", 55_000_000)
    assert (result.num_model_requests, result.input_uncached_tokens) == (110, 55_000_000)


def test_openais_client_reads_costs(usage_tool):
    """110 CNY by line; every bucket of three days, by the client's own pages."""
    asked = {"start_time": START - DAY, "end_time": START + 2 * DAY, "limit": 1}
    found, page = [], usage_tool.costs(**asked, group_by=["line_item"])
    while True:
        found += [(each.start_time, each.results) for each in page.data]
        if not page.has_more:
            break
        page = usage_tool.costs(**asked, group_by=["line_item"], page=page.next_page)
    assert [start for start, _ in found] == [START - DAY, START, START + DAY]
    (result,) = found[1][1]
    assert (result.amount.value, result.amount.currency) == (110, "cny")
    assert (result.line_item, result.quantity) == ("m-river, input", None)


@pytest.fixture
def gateway(house):
    """A house with the clock of its legs, its address, and a key that writes usage."""
    house.clock.now = NOW
    house.gateway = house.key(Role.GATEWAY)
    with served(house.client.app) as house.url:
        yield house


def event(number, **change):
    """A CloudEvent 1.0 made by the CloudEvents SDK."""
    made = leg(number, "t-alder")
    times = {name: value.isoformat() for name, value in made.items() if name.endswith("_at")}
    data = {name: value for name, value in made.items() if name not in NOT_IN_DATA} | times
    named = {"id": f"evt-{number}", "source": "/gateway/eu-1", "subject": "t-alder"}
    attributes = named | {"type": "tokentill.usage.leg", "time": times["finished_at"]}
    return to_dict(CloudEvent(attributes | change, data))


def stored(house):
    """How many legs there are, and whose."""
    cursor = house.store.cursor()
    return cursor.execute("SELECT count(*), min(tenant_id), max(tenant_id) FROM leg").fetchone()


def test_openmeters_client_sends_events(gateway):
    """One event in its own type, then a batch in which it comes again: three legs, no repeat."""
    attributes = event(1)
    own = Event(**attributes | {"time": datetime.fromisoformat(attributes["time"])})
    with OpenMeter(endpoint=gateway.url, token=gateway.gateway) as meter:
        meter.events.ingest_event(own)
        meter.events.ingest_events([event(1), event(2), event(3)])
    assert stored(gateway) == (3, "t-alder", "t-alder")


def test_openmeters_client_hears_of_what_was_set_aside(gateway):
    """It takes 204 alone for success: an event of an unknown type raises, with the reason."""
    with OpenMeter(endpoint=gateway.url, token=gateway.gateway) as meter:
        with pytest.raises(HttpResponseError) as caught:
            meter.events.ingest_events([event(1), event(2, type="prompt")])
        answer = json.loads(caught.value.response.text())
    assert (answer["accepted"], answer["rejected"]) == (1, 1)
    assert answer["records"][0]["field"] == "type"


def test_openmeters_client_needs_a_key_of_ours(gateway):
    """401, as its own error for that."""
    unknown = gateway.gateway[::-1]
    meter = OpenMeter(endpoint=gateway.url, token=unknown)
    with meter, pytest.raises(ClientAuthenticationError):
        meter.events.ingest_event(event(1))


def test_litellms_logger_sends_what_it_counted(gateway):
    """Its own callback, its own payload: one leg of the gateway with 20 and 7 tokens."""
    headers = {"Authorization": f"Bearer {gateway.gateway}"}

    async def log():
        logger = GenericAPILogger(endpoint=f"{gateway.url}/v1/usage/litellm", headers=headers)
        payload = {
            "id": "chatcmpl-9",
            "status": "success",
            "call_type": "acompletion",
            "model": "m-river",
            "startTime": datetime(2026, 10, 1, 10, tzinfo=UTC).timestamp(),
            "endTime": datetime(2026, 10, 1, 10, 0, 1, tzinfo=UTC).timestamp(),
            "prompt_tokens": 20,
            "completion_tokens": 7,
            "metadata": {"user_api_key_team_id": "t-alder"},
        }
        await logger.async_log_success_event({"standard_logging_object": payload}, None, None, None)
        await logger.async_send_batch()

    asyncio.run(log())
    cursor = gateway.store.cursor()
    rows = cursor.execute("SELECT stage, tenant_id, input_tokens, output_tokens FROM leg")
    assert rows.fetchall() == [("gateway", "t-alder", 20, 7)]
