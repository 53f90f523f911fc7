"""The OpenAPI file: committed, current, and true of what the application answers."""

import json

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from pricing.api.openapi_file import openapi_text
from tests.pricing.api.conftest import furnish, open_house

DOCUMENT = json.loads(openapi_text())
OPERATIONS = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]
PATHS_OF_THE_CONTRACT = {  # docs/api/routes.md
    "/v1/usage/legs",
    "/v1/usage",
    "/v1/requests/{request_id}",
    "/v1/revenue/servers",
    "/v1/chargeback",
    "/v1/prices",
    "/v1/findings",
    "/health/live",
    "/health/ready",
    "/metrics",
}


def test_the_committed_file_is_current(root):
    """A change of the API shows as a change of docs/api/openapi.json."""
    kept = (root / "docs/api/openapi.json").read_text(encoding="utf-8")
    assert kept == openapi_text(), (
        "Run: .venv/bin/python -m pricing.api.openapi_file > docs/api/openapi.json"
    )


def test_the_routes_of_the_contract_are_there():
    """docs/api/routes.md lists them."""
    assert set(DOCUMENT["paths"]) >= PATHS_OF_THE_CONTRACT


def test_every_route_is_in_the_guide(root):
    """docs/api/routes.md has a line for each, with what its key needs."""
    guide = (root / "docs/api/routes.md").read_text(encoding="utf-8")
    missing = [
        f"`{method.upper()} {path}`"
        for path, methods in DOCUMENT["paths"].items()
        for method in methods
        if f"`{method.upper()} {path}`" not in guide
    ]
    assert not missing


def test_every_operation_explains_itself():
    """A summary, a description, and an example or a default for what it takes."""
    bare = [
        f"{method} {path}"
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if not operation.get("summary") or not operation.get("description")
    ]
    assert not bare


@schemathesis.serializer("application/x-ndjson", "application/vnd.apache.arrow.stream")
def _as_bytes(_, value):
    """Bodies that are no JSON: whatever was generated, as text."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def fuzzed(ledger_template, tmp_path_factory):
    """A house of its own, into which the examples write; and the file as it serves it."""
    with open_house(ledger_template, tmp_path_factory.mktemp("fuzzed")) as made:
        furnish(made)
        made.schema = schemathesis.openapi.from_asgi("/openapi.json", made.client.app)
        yield made


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_request_breaks_the_server(fuzzed, method, path):
    """Whatever the file allows: no 5xx, no status, header or body that it does not describe."""
    # keys have tests of their own; there are rules that a schema cannot say (start before end)
    unchecked = [ignored_auth, positive_data_acceptance]

    @given(case=fuzzed.schema[path][method].as_strategy())
    @settings(
        max_examples=15,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def check(case):
        case.headers["Authorization"] = f"Bearer {fuzzed.operator}"
        case.call_and_validate(excluded_checks=unchecked)

    check()
