"""Prints the OpenAPI file that docs/api/openapi.json keeps: python -m pricing.api.openapi_file."""

import json
import sys
from typing import cast

from metering.collector.writer import IngestWriter
from pricing.api.app import bare_app


def openapi_text() -> str:
    """The file, with its keys in order, so that a change of the API is a change of few lines."""
    nobody = cast("IngestWriter", None)  # the routes are described, not called
    document = bare_app(nobody).openapi()
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(openapi_text())
