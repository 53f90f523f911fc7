"""The link that survives the way through a provider: own pages and known names, nothing else."""

import ast
from pathlib import Path
from urllib.parse import quote

import pytest

from dashboard.landing import FIELDS_MAX, KNOWN, LENGTH_MAX, VALUE_MAX, link_of, read_link
from dashboard.views import ENTRIES

PATHS = {entry.path for entry in ENTRIES}
SOURCES = sorted((Path(__file__).resolve().parents[2] / "dashboard").rglob("*.py"))
NAMERS = {"Link", "choice_from_url", "choices_from_url"}
TOO_LONG = {"sheet"}  # a whole TOML file: its page opens with the example


def test_a_link_comes_back_as_it_was():
    """Letters of every language, and signs that mean something in an address."""
    params = {"tenant": "桦木 & Söhne; a=b", "window": "custom", "from": "2024-06-01"}
    assert read_link(link_of("roi", params), PATHS) == ("roi", params)


def test_names_that_no_page_knows_are_left_out():
    """Neither kept nor taken over."""
    assert link_of("jobs", {"next": "https://example.com", "lang": "zh"}) == "jobs?lang=zh"
    assert read_link("jobs?next=//example.com&lang=zh", PATHS) == ("jobs", {"lang": "zh"})


@pytest.mark.parametrize(
    "link",
    [
        "https://example.com", "//example.com", "\\\\example.com", "javascript:alert(1)",
        "/jobs", "jobs/../..", "jobs#x", "start?lang=en", "x" * (LENGTH_MAX + 1),
        "jobs?" + "&".join(f"lang={n}" for n in range(FIELDS_MAX + 1)),
    ],
)  # fmt: skip
def test_only_own_pages_are_led_to(link):
    """Another host, a scheme, a path that is none, a text beyond the bounds: no link at all."""
    assert read_link(link, PATHS) is None


def test_a_link_is_as_short_as_a_cookie():
    """What is too long is left out; the rest stays."""
    many = {f"case_{chr(97 + n)}": "名" * (VALUE_MAX // 2) for n in range(9)}
    long = {"tenant": "x" * (VALUE_MAX + 1)} | many | {"lang": "zh"}
    found = link_of("roi", long)
    assert len(quote(found, safe="")) <= LENGTH_MAX
    assert found.endswith("lang=zh")
    assert "tenant" not in found


def names_in_the_url(source):
    """Literal names of widgets that the URL keeps, and of rows that it names, in a source file."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            said = {each.arg: each.value for each in node.keywords}
            if "bind" in said and isinstance(said["key"], ast.Constant):
                yield said["key"].value
            if "bind" in said and isinstance(said["key"], ast.JoinedStr):
                yield said["key"].values[0].value + "x"
            if ast.unparse(node.func).rpartition(".")[2] in NAMERS:
                yield node.args[0].value


def test_every_name_in_the_url_is_known():
    """A choice that were not would be lost at sign-in."""
    found = {name for source in SOURCES for name in names_in_the_url(source)} - TOO_LONG
    assert len(found) > len("a dozen")
    assert [name for name in sorted(found) if not KNOWN.fullmatch(name)] == []
