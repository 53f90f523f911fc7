"""What LiteLLM's own calculator makes of a list of requests; a process of its own, run by path.

stdin: JSON, a list of {model, provider, at, tier, counts: [input, cached, written, output]}.
stdout: JSON, as many amounts in USD as decimal text; null where the library has no answer.
"""

import json
import os
import sys
from datetime import datetime

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the map in the package; nothing is fetched

from litellm.litellm_core_utils.llm_cost_calc.utils import generic_cost_per_token
from litellm.types.utils import PromptTokensDetailsWrapper, Usage


def amount(model, provider, at, tier, counts):
    """Input and output cost together."""
    tokens, cached, written, output = counts
    usage = Usage(
        prompt_tokens=tokens,
        completion_tokens=output,
        total_tokens=tokens + output,
        prompt_tokens_details=PromptTokensDetailsWrapper(
            cached_tokens=cached, cache_creation_tokens=written
        ),
    )
    name = model.removeprefix(f"{provider}/")
    try:
        cost = generic_cost_per_token(
            name, usage, provider, service_tier=tier, current_time=datetime.fromisoformat(at)
        )
    except Exception:  # noqa: BLE001 - whatever it fails with, it has no answer
        return None
    return repr(sum(cost))


if __name__ == "__main__":
    sys.stdout.write(json.dumps([amount(**case) for case in json.load(sys.stdin)]))
