"""What the OpenAPI file says beyond what FastAPI finds out by itself."""

from collections.abc import Mapping
from typing import Any, Final

from pricing.api import chosen
from pricing.api.problem import MEDIA_TYPE
from pricing.ledger.idempotency import KEPT

CREATED: Final = "201"
CREATES: Final = "x-creates"  # of a route that answers 200 with what it made; not in the file
NOT_MODIFIED: Final = {"description": "The ETag of If-None-Match is still right."}
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

LISTS: Final = ("Listing_", "Report_")
CHOSEN: Final = "ListingOfChosenFields"
CHOSEN_SCHEMA: Final = {
    "type": "object",
    "description": "A list of which `fields` shows some fields alone.",
    "required": ["items", "next_cursor"],
    "properties": {
        "items": {"type": "array", "items": {"type": "object"}},
        "next_cursor": {"type": ["string", "null"]},
    },
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
            if method == "get":
                _describe_list(document, operation)
            creates = CREATED in operation["responses"] or operation.pop(CREATES, False)
            if method == "post" and creates:
                parameters.append(IDEMPOTENCY_KEY)
            if method == "get" and path.startswith("/v1/"):
                operation["responses"]["304"] = NOT_MODIFIED
                parameters.append(IF_NONE_MATCH)
    return document


def _describe_list(document: dict[str, Any], operation: dict[str, Any]) -> None:
    """The parameters that every list takes, and what it answers when they are given."""
    schemas = document["components"]["schemas"]
    content = operation["responses"].get("200", {}).get("content", {})
    listing = content.get("application/json", {}).get("schema", {})
    name = str(listing.get("$ref", "")).rpartition("/")[2]
    if not name.startswith(LISTS):
        return
    row = schemas[name]["properties"]["items"]["items"]["$ref"].rpartition("/")[2]
    paged = any(each["name"] == "cursor" for each in operation["parameters"])
    operation["parameters"] += chosen.parameters(schemas[row], paged=paged)
    schemas[CHOSEN] = CHOSEN_SCHEMA
    either = [listing, {"$ref": f"#/components/schemas/{CHOSEN}"}]
    content["application/json"]["schema"] = {"anyOf": either}


def _is_problem(media: dict[str, Any]) -> bool:
    return str(media.get("schema", {}).get("$ref", "")).endswith("/Problem")
