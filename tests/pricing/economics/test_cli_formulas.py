"""Every economics figure says its unit and its formula: commands and the OpenAPI file."""

import json
import re

import pytest
from typer.testing import CliRunner

import tokentill
from pricing.api.openapi_file import openapi_text

ANCHOR = re.compile(r"docs/formulas\.md#([^;\s\"]+)")
FORMULA = ("revenue", "formula", "--throughput", "83670.6", "--hit-ratio", "0.9")
PRICES = ("--price-input", "8", "--price-cached", "2")
NOT_FIGURES = {"requests", "legs", "case_id"}  # plain counts of rows and ids


@pytest.fixture(scope="module")
def headings(root):
    """Anchors of docs/formulas.md."""
    lines = (root / "docs/formulas.md").read_text(encoding="utf-8").splitlines()
    titles = (line.lstrip("# ").lower() for line in lines if line.startswith("#"))
    return {
        "".join(c for c in title if c.isalnum() or c in " -").replace(" ", "-") for title in titles
    }


@pytest.mark.parametrize(
    "command",
    [
        (*FORMULA, *PRICES),
        ("roi", "docs/examples/roi_case.toml"),
        ("capacity", "docs/examples/capacity_sheet.toml"),
        ("costs",),
        ("revenue", "servers", "2026-10"),
        ("revenue", "attribution", "2026-10"),
    ],
)
def test_a_command_says_unit_and_formula(root, monkeypatch, tmp_path, headings, command):
    """On stderr, under the figures, with an anchor that is there."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("TOKENTILL_HOME", str(tmp_path))
    monkeypatch.delenv("TOKENTILL_API_URL", raising=False)
    result = CliRunner().invoke(tokentill.command_line(), list(command))
    assert result.exit_code == 0, result.output
    found = ANCHOR.findall(result.stderr)
    assert found
    assert set(found) <= headings


def test_a_command_about_a_window_says_which(tmp_path, monkeypatch):
    """October in Shanghai starts at 16:00 UTC the day before."""
    monkeypatch.setenv("TOKENTILL_HOME", str(tmp_path))
    monkeypatch.delenv("TOKENTILL_API_URL", raising=False)
    words = ["revenue", "servers", "2026-10", "--zone", "Asia/Shanghai"]
    result = CliRunner().invoke(tokentill.command_line(), words)
    assert "2026-09-30T16:00Z to 2026-10-31T16:00Z" in result.stderr


def rows_of(schemas, answer):
    """The schema of a report's rows; None for another answer."""
    names = (each.get("$ref", "").rpartition("/")[2] for each in answer.get("anyOf", []))
    name = next((name for name in names if name.startswith("Report_")), None)
    if name is None:
        return None
    return schemas[schemas[name]["properties"]["items"]["items"]["$ref"].rpartition("/")[2]]


def test_every_number_of_an_economics_route_has_unit_and_formula(headings):
    """x-unit and x-formula beside each number; money is decimal text with a pattern."""
    found, bare, counted = json.loads(openapi_text()), [], 0
    schemas = found["components"]["schemas"]
    for path, methods in found["paths"].items():
        content = methods.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        rows = rows_of(schemas, content.get("application/json", {}).get("schema", {}))
        for name, field in (rows or {}).get("properties", {}).items():
            kinds = [field, *field.get("anyOf", [])]
            number = any(kind.get("type") in ("number", "integer") for kind in kinds)
            money = any("[0-9]+(" in kind.get("pattern", "") for kind in kinds)
            if (number or money) and name not in NOT_FIGURES and "x-unit" not in field:
                bare.append(f"{path} {name}")
            if "x-formula" in field:
                assert field["x-formula"].partition("#")[2] in headings
                counted += 1
    assert not bare
    assert counted > 150
