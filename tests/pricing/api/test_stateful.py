"""Sequences of calls in which each takes what earlier ones made: no 5xx, nothing undocumented.

schemathesis finds out from the OpenAPI file which answer holds what another route asks for: an
id that a POST made is read, changed, listed and deleted.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, seed, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from tests.pricing.api.conftest import furnish, open_house

# keys have tests of their own; there are rules that a schema cannot say (start before end)
UNCHECKED = [ignored_auth, positive_data_acceptance]


@pytest.fixture(scope="module")
def machine(ledger_template, tmp_path_factory):
    """A state machine over a house of its own, into which it writes."""
    with open_house(ledger_template, tmp_path_factory.mktemp("stateful")) as house:
        furnish(house)
        schema = schemathesis.openapi.from_asgi("/openapi.json", house.client.app)
        schema.config.generation.update(modes=[GenerationMode.POSITIVE])

        class Machine(schema.as_state_machine()):
            """Calls with the operator's key."""

            def before_call(self, case):
                case.headers["Authorization"] = f"Bearer {house.operator}"

            def validate_response(self, response, case, **_):
                case.validate_response(response, excluded_checks=UNCHECKED)

        yield Machine


@pytest.mark.parametrize("number", range(20))
def test_sequences_of_calls_break_nothing(machine, number):
    """20 sequences of up to 12 calls.

    Each is a run of its own: the house remembers what a sequence did, so none can be replayed.
    """
    seed(number)(machine).run(
        settings=settings(
            max_examples=1,
            stateful_step_count=12,
            phases=[Phase.explicit, Phase.generate],
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
    )
