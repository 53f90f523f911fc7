"""What the OpenAPI file says beyond what FastAPI finds out by itself."""

from collections.abc import Mapping
from typing import Any, Final

from pricing.api.problem import MEDIA_TYPE
from pricing.ledger.idempotency import KEPT

CREATED: Final = "201"
IDEMPOTENCY_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": f"Any text of your choice, such as a UUID. A repeat within {KEPT.days} days "
    "creates nothing and gets the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
}
IF_NONE_MATCH: Final = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "ETag of an earlier answer; 304 if it is still right.",
    "schema": {"type": "string"},
}


def completed(
    document: dict[str, Any], permissions: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    """The file with what each route needs, the media type of errors, and common headers."""
    shared = document["components"].setdefault("responses", {})
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if needed := permissions.get((path, method)):
                operation["x-permission"] = needed
            for status, response in operation["responses"].items():
                content = response.get("content", {})
                if _is_problem(content.get("application/json", {})):
                    content[MEDIA_TYPE] = content.pop("application/json")
                    name = f"Problem{status}"
                    if shared.setdefault(name, response) == response:
                        operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
            parameters = operation.setdefault("parameters", [])
            if method == "post" and CREATED in operation["responses"]:
                parameters.append(IDEMPOTENCY_KEY)
            if method == "get" and "304" in operation["responses"]:
                parameters.append(IF_NONE_MATCH)
    return document


def _is_problem(media: dict[str, Any]) -> bool:
    return str(media.get("schema", {}).get("$ref", "")).endswith("/Problem")
