"""Docs: every setting, policy, finding and route stands in its table."""

from dataclasses import fields

from fastapi.routing import APIRoute

from pricing.api.app import ROUTERS
from pricing.flags import FLAGS
from pricing.policy import CHOICES, Policy
from pricing.settings import keys
from tests.house.tree import ROOT, require_none


def page(name: str) -> str:
    """Text of docs/`name`."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_every_setting_is_in_the_docs() -> None:
    """docs/configuration.md shows key, variable, default and meaning as the program has them."""
    text = page("configuration.md")
    offences = [key.row() for key in keys() if key.row() not in text]
    require_none(offences, "Put these rows into docs/configuration.md:")


def test_every_policy_is_in_the_docs() -> None:
    """docs/policies.md shows each key with its values and its default."""
    rows = [line for line in page("policies.md").splitlines() if line.startswith("| `")]
    offences = [
        f"{field.name} = {field.default!r}"
        for field in fields(Policy)
        if not any(
            line.startswith(f"| `{field.name}` |")
            and f"| `{field.default}` |" in line
            and all(f"`{choice}`" in line for choice in CHOICES.get(field.name, ()))
            for line in rows
        )
    ]
    require_none(offences, "Add or correct the row of docs/policies.md (values and default):")


def test_every_finding_is_in_the_docs() -> None:
    """A person who sees a flag on a row can look it up."""
    text = page("policies.md")
    offences = [name for name in FLAGS if f"| `{name}` |" not in text]
    require_none(offences, "Explain it in the table of docs/policies.md:")


def test_every_route_is_in_the_docs() -> None:
    """A route that the pages do not name is found by nobody."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    paths = {route.path for r in ROUTERS for route in r.routes if isinstance(route, APIRoute)}
    require_none(
        [path for path in paths if path not in text], "Add the route to a page of docs/api/:"
    )
