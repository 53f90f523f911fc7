"""Public price lists, read by path from the shared folder."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def genai_text(shared: Path) -> str:
    """genai-prices 0.2.3 as JSON."""
    return gzip.decompress(
        (shared / "data/prices/genai_prices_0.2.3_dump.json.gz").read_bytes()
    ).decode()


@pytest.fixture(scope="session")
def litellm_text(shared: Path) -> str:
    """LiteLLM 1.110.2's price map as JSON."""
    return gzip.decompress(
        (shared / "data/prices/litellm_1.110.2_model_prices.json.gz").read_bytes()
    ).decode()


@pytest.fixture(scope="session")
def litellm_map(litellm_text: str) -> dict[str, dict[str, Any]]:
    """The same, parsed."""
    return json.loads(litellm_text)


@pytest.fixture(scope="session")
def genai_providers(genai_text: str) -> dict[str, dict[str, Any]]:
    """Provider id → provider of genai-prices."""
    return {provider["id"]: provider for provider in json.loads(genai_text)["providers"]}
