"""A change of the API that breaks clients is seen, and has its line in CHANGELOG.md."""

import copy
import json
import subprocess

import pytest

from pricing.api.openapi_changes import breaking_changes
from pricing.api.openapi_file import openapi_text

FILE = "docs/api/openapi.json"
NOW = json.loads(openapi_text())
USAGE = ("paths", "/v1/usage", "get")
TENANT = ("components", "schemas", "NewTenant")
ROW = ("components", "schemas", "UsageRow")


def git(root, *words):
    """What git prints; nothing where it fails."""
    run = subprocess.run(["git", "-C", root, *words], capture_output=True, check=False, text=True)
    return run.stdout if run.returncode == 0 else ""


def baseline(root):
    """The file of the last release; before the first one, of the commit before this one."""
    tag = git(root, "describe", "--tags", "--abbrev=0", "--match", "v*").strip()
    for revision in (tag, "HEAD^", "HEAD"):
        if revision and (text := git(root, "show", f"{revision}:{FILE}")):
            return json.loads(text)
    return NOW


def test_what_breaks_is_labelled(root):
    """A line of Unreleased begins with **Breaking:** and names the route."""
    changes = (root / "CHANGELOG.md").read_text("utf-8").partition("## Unreleased")[2]
    lines = changes.partition("\n## ")[0].splitlines()
    labels = [line for line in lines if line.startswith("- **Breaking:**")]
    silent = [
        str(each)
        for each in breaking_changes(baseline(root), NOW)
        if not any(f"`{each.operation}`" in line for line in labels)
    ]
    assert not silent, 'CHANGELOG.md: add "- **Breaking:** `METHOD /path` …" for each'


def changed(*path, **change):
    """The file with the keys of one object changed; None takes a key away."""
    made = copy.deepcopy(NOW)
    at = made
    for part in path:
        at = at[part]
    for key, value in change.items():
        if value is None:
            del at[key]
        else:
            at[key] = value
    return made


def with_parameter(name, **change):
    """The file with one parameter of /v1/usage changed."""
    parameters = copy.deepcopy(NOW["paths"]["/v1/usage"]["get"]["parameters"])
    kept = [
        each | (change if each["name"] == name else {})
        for each in parameters
        if each["name"] != name or change
    ]
    return changed(*USAGE, parameters=kept)


@pytest.mark.parametrize(
    ("file", "label"),
    [
        (changed("paths", **{"/v1/usage": None}), "route removed"),
        (with_parameter("zone"), "parameter removed"),
        (with_parameter("zone", required=True), "parameter required"),
        (
            with_parameter("interval", schema={"type": "string", "enum": ["none"]}),
            "value no longer",
        ),
        (with_parameter("start_at", schema={"type": "integer"}), "type changed"),
        (with_parameter("tenant_id", schema={"type": "string", "maxLength": 9}), "limit tightened"),
        (changed(*USAGE, **{"x-permission": "usage:all"}), "permission changed"),
        (changed(*ROW, properties={}), "field removed"),
        (changed(*ROW, required=[]), "field no longer always there"),
        (changed(*ROW, "properties", requests={"type": "string"}), "type changed"),
        (changed(*TENANT, required=["tenant_id", "name", "email"]), "field required"),
        (changed(*USAGE, "responses", "200", "content", **{"text/csv": None}), "media type"),
    ],
)
def test_each_kind_is_seen(file, label):
    """The label begins with what is named, and the route is the one that was changed."""
    found = breaking_changes(NOW, file)
    assert any(each.label.startswith(label) for each in found), [str(each) for each in found]


def test_additions_break_nothing():
    """A route, an optional parameter, a field of an answer; and nothing at all."""
    operation = copy.deepcopy(NOW["paths"]["/v1/usage"]["get"])
    operation["parameters"].append({"name": "new", "in": "query", "schema": {"type": "string"}})
    more = changed("paths", **{"/v1/usage": {"get": operation}, "/v1/new": {"get": operation}})
    more["components"]["schemas"]["UsageRow"]["properties"]["new"] = {"type": "string"}
    assert breaking_changes(NOW, more) == []
    assert breaking_changes(NOW, NOW) == []
